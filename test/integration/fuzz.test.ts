// The short form of `npm run fuzz`: a fixed seed through every target.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { SHARES } from '../fuzz/targets/index.ts';

const root = resolve(import.meta.dirname, '../..');

describe('fuzz', function timed() {
  this.timeout(300_000);

  it('finds nothing in any target with the seed of the tests', async () => {
    const child = spawn(process.execPath, ['test/fuzz/main.ts', '--inputs', '2000', '--seed', '1'], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
    const fed = [...output.matchAll(/^ok {3}(\w+): (\d+) inputs$/gm)];
    expect([output.match(/^FAIL.*$/gm), code]).to.deep.equal([null, 0]);
    expect(fed.map(([, target]) => target)).to.have.members(Object.keys(SHARES));
    expect(fed.reduce((sum, [, , inputs]) => sum + Number(inputs), 0)).to.be.at.least(2_000);
  });
});
