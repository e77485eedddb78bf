// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'mocha';
import { freePort, parseCpuSeconds, parseMemory, startChild } from '../../bench/processes.ts';
import { eventually } from '../../fixtures/eventually.ts';

describe('bench/processes', () => {
  it('reads memory from the text of /proc/<pid>/status', () => {
    const status = 'Name:\tnode\nVmPeak:\t 1064212 kB\nVmHWM:\t  122880 kB\nVmRSS:\t  102400 kB\n';
    expect(parseMemory(status)).to.deep.equal({ resident: 102_400 * 1024, peak: 122_880 * 1024 });
  });

  it('says which line is missing, as it is for a zombie', () => {
    expect(() => parseMemory('Name:\tnode\nState:\tZ (zombie)\n')).to.throw('/proc/<pid>/status has no VmRSS');
  });

  it('reads CPU time from the text of /proc/<pid>/stat, whatever the command is called', () => {
    const stat = '4242 (a) b (c)) S 1 4242 4242 0 -1 4194560 100 0 0 0 150 50 7 7 20 0 11 0 100 1 1';
    expect(parseCpuSeconds(stat)).to.equal(2);
    expect(() => parseCpuSeconds('4242 (node) S 1')).to.throw('utime and stime');
  });

  describe('a child', () => {
    let directory = '';
    before(() => {
      directory = mkdtempSync(join(tmpdir(), 'processes-'));
    });
    after(() => rmSync(directory, { recursive: true, force: true }));

    it('writes to its log, and is gone after stop', async () => {
      const logFile = join(directory, 'alive.log');
      const script = 'console.log("up"); setInterval(() => {}, 1000)';
      const child = startChild({ command: process.execPath, args: ['-e', script], logFile });
      try {
        const log = () => readFileSync(logFile, 'utf8');
        await eventually(() => log() === 'up\n', log);
        expect(child.failure()).to.equal(undefined);
      } finally {
        await child.stop();
      }
      expect(child.failure()).to.match(/ended with SIGTERM/);
      await child.stop();
    });

    it('that ends by itself reports how, with the end of its log', async () => {
      const logFile = join(directory, 'dead.log');
      const script = 'console.error("no such thing"); process.exitCode = 3';
      const child = startChild({ command: process.execPath, args: ['-e', script], logFile });
      await eventually(
        () => child.failure() !== undefined,
        () => 'it still runs',
      );
      expect(child.failure()).to.match(/ended with 3:\nno such thing/);
    });

    it('that cannot be started reports why', async () => {
      const child = startChild({ command: join(directory, 'nothing'), args: [], logFile: join(directory, 'none.log') });
      await eventually(
        () => child.failure() !== undefined,
        () => 'no failure was reported',
      );
      expect(child.failure()).to.match(/cannot be started: .*ENOENT/);
    });
  });

  it('finds ports that are free', async () => {
    expect(await freePort()).to.be.within(1, 65_535);
  });
});
