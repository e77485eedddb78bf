// docs/usage/diagnose.md is run from its first command to its last, on the sandbox. UPDATE_DOCS=1 writes its outputs anew.
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import type { Explanation } from '../../pkg/diagnosis/explain/types.ts';
import { describeDocument } from '../fixtures/document.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import type { TemporaryFolder } from '../fixtures/temporary-folder.ts';
import { CLUSTERS, clusterFile, clusterFlags, topologyJson } from '../fixtures/topology-command.ts';

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
