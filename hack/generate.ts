// `make generate`: writes the generated files and sections anew; with --check only says which are out of date.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { architectureFigure } from './generate/architecture-figure.ts';
import { architecture } from './generate/architecture.ts';
import { benchmarks } from './generate/benchmarks.ts';
import { chartRegistration, chartValues } from './generate/chart.ts';
import { closedLoopPage, closedLoopSummary, closedLoopSvg } from './generate/closed-loop.ts';
import { commands } from './generate/commands.ts';
import { dashboard } from './generate/dashboard.ts';
import { declarations } from './generate/declarations.ts';
import { definitions } from './generate/definitions.ts';
import { krew } from './generate/krew.ts';
import { pages } from './generate/pages.ts';
import { reasonsReference } from './generate/reasons.ts';
import { references } from './generate/references.ts';
import { results } from './generate/results.ts';
import { supportMatrix } from './generate/support-matrix.ts';
import type { Generator } from './generate/types.ts';

const GENERATORS: readonly Generator[] = [
  architecture,
  architectureFigure,
  benchmarks,
  chartRegistration,
  chartValues,
  closedLoopPage,
  closedLoopSummary,
  closedLoopSvg,
  commands,
  dashboard,
  ...declarations,
  ...definitions,
  krew,
  ...pages,
  reasonsReference,
  ...references,
  ...results,
  supportMatrix,
];

const root = resolve(import.meta.dirname, '..');
const NOTE = 'Written by `make generate`; do not edit.';
/** JSON knows no comments. */
const noteFor = (path: string): string => {
  if (path.endsWith('.json')) return '';
  if (path.endsWith('.ts')) return `// ${NOTE}\n\n`;
  return path.endsWith('.yaml') ? `# ${NOTE}\n\n` : `<!-- ${NOTE} -->\n\n`;
};

const marks = (section: string) => ({ from: `<!-- generated: ${section} -->`, to: `<!-- /generated: ${section} -->` });

/** The whole file's text with the generator's part replaced. */
const merge = async (generator: Generator, before: string): Promise<string> => {
  const rendered = await generator.render(before);
  if (generator.rewrites === true) return rendered;
  if (generator.section === undefined) return `${noteFor(generator.path)}${rendered.trim()}\n`;
  const { from, to } = marks(generator.section);
  const start = before.indexOf(from);
  const end = before.indexOf(to);
  if (start < 0 || end < start) throw new Error(`${generator.path}: the marks "${from}" and "${to}" are missing`);
  return `${before.slice(0, start + from.length)}\n\n${rendered.trim()}\n\n${before.slice(end)}`;
};

const check = process.argv.includes('--check');
let stale = 0;
for (const generator of GENERATORS) {
  const path = resolve(root, generator.path);
  const before = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const after = await merge(generator, before);
  if (after === before) continue;
  if (!check) {
    writeFileSync(path, after);
    console.log(`wrote ${generator.path}`);
    continue;
  }
  stale += 1;
  const section = generator.section === undefined ? '' : ` (${generator.section})`;
  console.log(`${generator.path}${section} is out of date: run make generate`);
}
process.exitCode = stale === 0 ? 0 : 1;
