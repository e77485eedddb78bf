// The short form of `npm run fuzz`: a fixed seed through every target; and the fuzzer itself finds what is wrong, and says how.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Summary } from '../fuzz/summary.ts';
import { SHARES } from '../fuzz/targets/index.ts';

const root = resolve(import.meta.dirname, '../..');

/** As a process of its own: its coverage would be in the way of that of the tests. */
const fuzz = async (...flags: string[]): Promise<{ code: number; summary: Summary }> => {
  const child = spawn(process.execPath, ['test/fuzz/main.ts', '--json', ...flags], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  return { code: code as number, summary: JSON.parse(output) as Summary };
};

describe('fuzz', function timed() {
  this.timeout(300_000);

  it('finds nothing in any target with the seed of the tests', async () => {
    const { code, summary } = await fuzz('--inputs', '2000', '--seed', '1', '--no-coverage');
    expect(
      summary.targets.flatMap(({ target, failures }) => failures.map((one) => `${target}: ${one.error}`)),
    ).to.deep.equal([]);
    expect(summary.targets.map(({ target }) => target)).to.have.members(Object.keys(SHARES));
    expect(summary.inputs).to.be.at.least(2_000);
    expect(summary.fieldsChanged / summary.inputs, 'share of valid documents with a few fields changed').to.be.above(
      0.5,
    );
    expect([code, summary.ok]).to.deep.equal([0, true]);
  });

  it('plays one input again, and measures the branches that it takes', async () => {
    const { summary } = await fuzz('--only', '5', '--seed', '1', '--target', 'configuration');
    expect(summary.inputs).to.equal(1);
    expect(summary.branches.taken).to.be.above(50).and.below(summary.branches.all);
  });
});
