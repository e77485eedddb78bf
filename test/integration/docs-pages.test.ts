// Pages that show what `explain` finds, and the README's screens: it finds and prints the same.
import { join, resolve } from 'node:path';
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { describe, it, after, before } from 'mocha';
import { runTopology, CLUSTERS, clusterFile, clusterFlags, topologyJson } from '../fixtures/topology-command.ts';
import { commandsOf, readText, root, shellBlocks } from '../support/docs/markdown.ts';
import type { Explanation } from '../../pkg/diagnosis/explain/explain.ts';
import { describeDocument } from '../fixtures/document.ts';
import { type TemporaryFolder, temporaryFolder } from '../fixtures/temporary-folder.ts';

const PAGE = 'docs/faq.md';
const EXPLAIN = 'hack/node cmd/kubectl-topology/main.ts explain ';

interface Answer {
  readonly question: string;
  /** Reasons that the answer names. */
  readonly reasons: readonly string[];
  /** Arguments of each `explain`. */
  readonly explained: readonly (readonly string[])[];
}

const known = new Set(
  [...readText('docs/reference/reasons.md').matchAll(/^\| `(\w+)`/gm)].map(([, reason = '']) => reason),
);

const answers = (): Answer[] =>
  readText(PAGE)
    .split(/^### /m)
    .slice(1)
    .map((text) => ({
      question: text.split('\n')[0] ?? '',
      reasons: [...text.matchAll(/`(\w+)`/g)].flatMap(([, word = '']) => (known.has(word) ? [word] : [])),
      explained: shellBlocks(PAGE, text)
        .flatMap((block) => commandsOf(block.text))
        .filter((command) => command.startsWith(EXPLAIN))
        .map((command) => ['explain', ...command.slice(EXPLAIN.length).split(' ')]),
    }));

describe(PAGE, () => {
  it('answers questions', () => {
    expect(answers().filter(({ explained }) => explained.length > 0)).to.have.lengthOf.above(12);
  });

  for (const { question, reasons, explained } of answers()) {
    if (explained.length === 0) continue;
    it(`${question} (${explained.length})`, async () => {
      const printed = await Promise.all(
        explained.map(async (args) => {
          const { out, err } = await runTopology(
            args.map((arg) => (arg.includes('/clusters/') ? join(root, arg) : arg)),
          );
          return `${out}${err}`;
        }),
      );
      for (const [index, text] of printed.entries()) {
        const found = reasons.filter((reason) => new RegExp(String.raw`\b${reason}\b`).test(text));
        expect(found, `${explained[index]?.join(' ')}\n${text}`).not.to.be.empty;
      }
    });
  }
});

const PATH = 'docs/usage/diagnose.md';
const file = resolve(import.meta.dirname, '../..', PATH);
const STAGES = ['wanted', 'given', 'used', 'effective', 'prerequisite', ''];

/** The first comment of a file, which says what happened there. */
const storyOf = (name: string): string =>
  /^# (.+)$/m.exec(readFileSync(clusterFile(name), 'utf8'))?.[1] ?? 'a file begins with a comment';

/** A row a file: which cause is named, of which stage. */
const causesTable = async (): Promise<string> => {
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
};

describe(`${PATH}: causes`, function causes() {
  this.timeout(180_000);
  const pattern = /<!-- causes -->\n\n([\s\S]*?)\n*<!-- \/causes -->/;

  it('has a row for every cluster, with what explain says', async () => {
    const table = await causesTable();
    const text = readFileSync(file, 'utf8');
    if (process.env['UPDATE_DOCS'] === '1') {
      writeFileSync(
        file,
        text.replace(pattern, () => `<!-- causes -->\n\n${table}\n\n<!-- /causes -->`),
      );
    } else expect(pattern.exec(text)?.[1]).to.equal(table);
  });
});

describe('kubectl', () => {
  let folder: TemporaryFolder;
  before(() => {
    folder = temporaryFolder();
    const main = resolve(import.meta.dirname, '../fixtures/kubectl.ts');
    chmodSync(folder.write('kubectl', `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`), 0o755);
  });
  after(() => folder.remove());

  describeDocument({ path: PATH, kubectl: () => folder.at('.') });
});

describe('the README', () => {
  /** Commands of kubectl-topology in the README, each with the text that stands below it. */
  const pictures = (): { args: string[]; shown: string }[] => {
    const text = readFileSync(resolve(root, 'README.md'), 'utf8');
    const pattern = /```sh\nhack\/node cmd\/kubectl-topology\/main\.ts (.+)\n```\n\n```text\n([\s\S]*?)\n```/g;
    return [...text.matchAll(pattern)].map(([, line = '', shown = '']) => ({ args: line.split(' '), shown }));
  };

  it('shows commands of kubectl-topology', () => {
    expect(pictures()).to.have.lengthOf.at.least(2);
  });

  for (const { args, shown } of pictures()) {
    it(`shows the beginning of what \`${args.join(' ')}\` prints`, async () => {
      const absolute = args.map((arg) => (/^(?:test|example)\//.test(arg) ? resolve(root, arg) : arg));
      const { out } = await runTopology(absolute);
      expect(out.slice(0, shown.length)).to.equal(shown);
    });
  }
});
