// Keeps what a suite measured as JSON, for the generated parts of the documentation.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeResults } from '../support/results.ts';

/** Whether suites take their long forms, as `make soak` has them. */
export const isLongForm = process.env['E2E_SOAK'] === '1';

/** Environment variable with the folder that results are written to; without it they are only printed. */
const resultsVariable = 'E2E_RESULTS';

/** Writes `<name>.json` where a folder for results is set. */
export const keepResults = (name: string, results: unknown): void => {
  const folder = process.env[resultsVariable];
  if (folder !== undefined) writeResults(join(folder, `${name}.json`), results);
};

/** What `<name>.json` holds so far, for results that come in several runs. */
export const keptResults = (name: string): unknown => {
  const file = join(process.env[resultsVariable] ?? '', `${name}.json`);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
};
