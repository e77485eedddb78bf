// kubectl-topology as a process of its own.
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { clusterFile } from '../fixtures/topology-command.ts';

describe('kubectl-topology as a process', () => {
  const run = promisify(execFile);
  const main = resolve(import.meta.dirname, '../../cmd/kubectl-topology/main.ts');

  it('ends with the exit code and keeps the streams apart', async () => {
    const fine = await run(process.execPath, [main, 'explain', 'web', '-f', clusterFile('effective'), '-o', 'json']);
    expect(JSON.parse(fine.stdout)).to.have.property('verdict', 'Effective');
    expect(fine.stderr).to.equal('');
    const failed = await run(process.execPath, [
      main,
      'explain',
      'web',
      '-f',
      clusterFile('no-growth'),
      '--fail-on',
      'any',
    ]).catch((error: unknown) => error as { code: number; stdout: string });
    expect(failed).to.have.property('code', 1);
    const bad = await run(process.execPath, [main, 'hints', '-f', '/nonexistent.yaml']).catch(
      (error: unknown) => error as { code: number; stderr: string },
    );
    expect(bad).to.include({ code: 2, stderr: 'error: /nonexistent.yaml: no such file or folder\n' });
  });
});
