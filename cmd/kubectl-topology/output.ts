// Prints a report in the format that was asked for.
// The output formats of commands that report findings: those of all commands, and SARIF for code scanning.
import { type Command, Option } from 'commander';
import type { Finding } from '../../pkg/diagnosis/check/check.ts';
import { renderJson } from '../../pkg/report/text.ts';
import { type Io, UsageError } from './io.ts';
import { OUTPUT_FORMATS, type OutputFormat } from './flags.ts';

/** `table` renders for people; the reports themselves are what JSON and YAML show. */
export const print = async (
  io: Io,
  format: OutputFormat,
  report: unknown,
  table: (wide: boolean) => string,
): Promise<void> => {
  if (format === 'json') io.out.write(renderJson(report));
  else if (format === 'yaml') {
    const { renderYaml } = await import('../../pkg/report/yaml.ts');
    io.out.write(renderYaml(report));
  } else io.out.write(table(format === 'wide'));
};

/** @throws UsageError where the file cannot be written. */
export const writePage = async (page: string, file: string, io: Io): Promise<void> => {
  const [{ writeFile }, { fileErrorText }] = await Promise.all([
    import('node:fs/promises'),
    import('./input/files.ts'),
  ]);
  await writeFile(file, page).catch((error: unknown) => {
    throw new UsageError(`--html ${file}: ${fileErrorText(error)}`);
  });
  io.err.write(`wrote ${file}\n`);
};

const FINDINGS_FORMATS = [...OUTPUT_FORMATS, 'sarif'] as const;
export type FindingsFormat = (typeof FINDINGS_FORMATS)[number];

export const addFindingsOutput = (command: Command): Command =>
  command.addOption(
    new Option('-o, --output <format>', 'output format; sarif for code scanning')
      .choices(FINDINGS_FORMATS)
      .default('table'),
  );

interface Reported {
  readonly report: unknown;
  readonly findings: readonly Finding[];
}

export const printFindings = async (
  io: Io,
  format: FindingsFormat,
  { report, findings }: Reported,
  table: (wide: boolean) => string,
): Promise<void> => {
  if (format !== 'sarif') return print(io, format, report, table);
  const { renderSarif } = await import('../../pkg/report/check.ts');
  io.out.write(renderSarif(findings));
};
