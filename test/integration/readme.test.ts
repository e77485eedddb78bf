// The README's pictures of commands are what the commands print.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { runTopology } from '../fixtures/topology-command.ts';

const root = resolve(import.meta.dirname, '../..');

/** Commands of kubectl-topology in the README, each with the text that stands below it. */
const pictures = (): { args: string[]; shown: string }[] => {
  const text = readFileSync(resolve(root, 'README.md'), 'utf8');
  const pattern = /```sh\nhack\/node cmd\/kubectl-topology\/main\.ts (.+)\n```\n\n```text\n([\s\S]*?)\n```/g;
  return [...text.matchAll(pattern)].map(([, line = '', shown = '']) => ({ args: line.split(' '), shown }));
};

describe('the README', () => {
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
