// Pages whose commands are run: the questions of the FAQ find what they name, and what was shown at a cluster is what is printed.
// With UPDATE_DOCS=1, which `make generate` sets, the pages are written anew.
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { describeDocument } from '../fixtures/document.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { runTopology } from '../fixtures/topology-command.ts';
import { commandsOf, readText, root, shellBlocks } from '../support/docs/markdown.ts';
import { useStatusWorld } from './topology-status-support.ts';

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

describe('kubectl', () => {
  const folder = temporaryFolder();
  before(() => {
    const main = resolve(import.meta.dirname, '../fixtures/kubectl.ts');
    chmodSync(folder.write('kubectl', `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`), 0o755);
  });

  describeDocument({ path: 'docs/usage/diagnose.md', kubectl: () => folder.at('.') });
});

describe('docs/usage/status.md', function statusPage() {
  this.timeout(180_000);
  const world = useStatusWorld();
  const page = resolve(root, 'docs/usage/status.md');
  const SCREEN = /<!-- status -->\n\n```text\n([\s\S]*?)```\n\n<!-- \/status -->/;
  /** Days and times differ from run to run. */
  const timeless = (text: string): string =>
    text.replaceAll(/\d{4}-\d\d-\d\d/g, 'DATE').replaceAll(/\b\d+ ms\b/g, 'N ms');

  it('shows what its commands print', async () => {
    world.install();
    await world.openShop();
    const text = readFileSync(page, 'utf8');
    const lines = shellBlocks('docs/usage/status.md').flatMap((block) => block.text.trim().split('\n'));
    expect(lines).to.have.lengthOf.above(2);
    const printed: string[] = [];
    let time = world.now;
    const tick = (): number => (time += 6);
    for (const line of lines) {
      const [words = [], file] = line
        .split(' > ')
        .map((part) => part.replace('cluster.json', world.folder.at('cluster.json')).split(' '));
      expect(words.slice(0, 2)).to.deep.equal(['kubectl', 'topology']);
      const args = words.slice(2);
      const { out, err, code } = await runTopology([...args, ...(args.includes('-f') ? [] : world.access)], {
        now: tick,
      });
      expect(code, `${line}: ${out}${err}`).to.equal(0);
      printed.push(out);
      if (file !== undefined) writeFileSync(file.join(' '), out);
    }
    const [screen = ''] = printed;
    if (timeless(screen) === timeless(SCREEN.exec(text)?.[1] ?? '')) return;
    expect(process.env['UPDATE_DOCS'], `${screen}\nIf that is meant: make generate`).to.equal('1');
    writeFileSync(
      page,
      text.replace(SCREEN, () => `<!-- status -->\n\n\`\`\`text\n${screen}\`\`\`\n\n<!-- /status -->`),
    );
  });
});
