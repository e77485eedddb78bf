// What pages show of the code: what `kubectl topology` prints about files, the causes that it names, and the list of released metrics.
import { readFileSync, readdirSync } from 'node:fs';
import type { Explanation } from '../../pkg/diagnosis/explain/explain.ts';
import {
  CLUSTERS,
  clusterFile,
  clusterFlags,
  runTopology,
  topologyJson,
} from '../../test/fixtures/topology-command.ts';
import { type ShellBlock, commandsOf, markdownPages, shellBlocks } from '../../test/support/docs/markdown.ts';
import { metricsCatalogue } from '../lib/metrics-catalogue.ts';
import type { Generator } from './types.ts';

/** Arguments of the one command of a block that reads files alone, and so prints the same everywhere. */
const argumentsOf = ({ text, shown }: ShellBlock): string[] | undefined => {
  const [command = '', more] = commandsOf(text);
  const [, line] =
    /^(?:kubectl topology|hack\/node cmd\/kubectl-topology\/main\.ts) ([^|&;<>$'"*\\]+)$/.exec(command) ?? [];
  const words = line?.split(' ');
  const onFiles = words?.some((word) => word === '-f' || word.startsWith('--filename=')) === true;
  return shown !== undefined && more === undefined && onFiles ? words : undefined;
};

/** Stands below what is shown where the command prints more. */
const MORE = '…\n';

const shownOf = (block: ShellBlock, printed: string): string => {
  const before = block.shown ?? '';
  if (!before.endsWith(MORE)) return printed;
  const lines = before.split('\n').length - MORE.split('\n').length;
  return `${printed.split('\n').slice(0, lines).join('\n')}\n${MORE}`;
};

/** @throws Error where a command that a page shows prints nothing, or fails for another reason than what it finds. */
const withOutputs = async (path: string, text: string): Promise<string> => {
  let next = text;
  for (const block of shellBlocks(path, text)) {
    const words = argumentsOf(block);
    if (words === undefined) continue;
    const { code, out, err } = await runTopology(words);
    if (code > 1 || out === '') throw new Error(`${path}:${block.line}: exit code ${code}: ${err}`);
    const above = `${block.text}\`\`\`\n\n\`\`\`text\n`;
    next = next.replace(`${above}${block.shown}\`\`\``, () => `${above}${shownOf(block, out)}\`\`\``);
  }
  return next;
};

const outputs: readonly Generator[] = markdownPages()
  .filter((path) => shellBlocks(path).some((block) => argumentsOf(block) !== undefined))
  .map((path) => ({ path, rewrites: true, render: (before = '') => withOutputs(path, before) }));

const STAGES = ['wanted', 'given', 'used', 'effective', 'prerequisite', ''];

/** The first comment of a file, which says what happened there. */
const storyOf = (name: string): string => {
  const [, story] = /^# (.+)$/m.exec(readFileSync(clusterFile(name), 'utf8')) ?? [];
  if (story === undefined)
    throw new Error(`${clusterFile(name)}: begin it with a comment that says what happened there`);
  return story;
};

/** A row for each cluster of the fixtures: which cause is named first, and of which stage. */
const causes: Generator = {
  path: 'docs/usage/diagnose.md',
  section: 'causes',
  async render() {
    const names = readdirSync(CLUSTERS).map((name) => name.replace(/\.yaml$/, ''));
    const rows: { stage: string; text: string }[] = [];
    for (const name of names.sort()) {
      const args = ['explain', 'shop/web', '-f', clusterFile(name), ...clusterFlags(name)];
      const [first] = (await topologyJson<Explanation>(args)).causes;
      const { stage = '', reason = '' } = first ?? {};
      const cause = reason === '' ? 'none' : `\`${reason}\``;
      rows.push({ stage, text: `| ${stage === '' ? '-' : stage} | ${cause} | ${storyOf(name)} | \`${name}\` |` });
    }
    const sorted = STAGES.flatMap((stage) => rows.filter((row) => row.stage === stage));
    return ['| stage | cause | what happened | cluster |', '|---|---|---|---|', ...sorted.map(({ text }) => text)].join(
      '\n',
    );
  },
};

export const RELEASED_METRICS = 'test/fixtures/stable-metrics.txt';

/** As the list has them. */
export const registeredMetrics = (): string[] =>
  metricsCatalogue().flatMap(({ command, metrics }) =>
    metrics.map(({ name, type, labels, since }) => [command, name, type, labels.join(',') || '-', since].join(' ')),
  );

/** Only adds: dashboards and alert rules of others hang on what was released, so that a test refuses what is gone. */
const releasedMetrics: Generator = {
  path: RELEASED_METRICS,
  rewrites: true,
  render(before = '') {
    const lines = before.trimEnd().split('\n');
    for (const line of registeredMetrics()) {
      if (lines.includes(line)) continue;
      const [command = ''] = line.split(' ');
      const last = lines.findLastIndex((other) => other.startsWith(`${command} `));
      lines.splice(last < 0 ? lines.length : last + 1, 0, line);
    }
    return `${lines.join('\n')}\n`;
  },
};

export const pages: readonly Generator[] = [...outputs, causes, releasedMetrics];
