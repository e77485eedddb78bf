// docs/faq.md: what an answer says `explain` finds, it finds.
import { join } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { runTopology } from '../fixtures/topology-command.ts';
import { commandsOf, readText, root, shellBlocks } from '../support/docs/markdown.ts';

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
