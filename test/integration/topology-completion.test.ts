// SPDX-License-Identifier: Apache-2.0
import { execFile } from 'node:child_process';
import { chmodSync, existsSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { COMPLETION_SCRIPTS, SHELLS } from '../../cmd/kubectl-topology/completion-scripts.ts';
import { hostileNames, servicesNamed, unchecked } from '../fixtures/hostile-names.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import type { TemporaryFolder } from '../fixtures/temporary-folder.ts';
import { clusterFile, runTopology } from '../fixtures/topology-command.ts';

const run = promisify(execFile);
const main = resolve(import.meta.dirname, '../../cmd/kubectl-topology/main.ts');

describe('kubectl topology completion', () => {
  let folder: TemporaryFolder;
  let env: Record<string, string>;
  before(() => {
    folder = temporaryFolder();
    for (const [name, script] of [
      ['kubectl-topology', `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`],
      ['kubectl_complete-topology', COMPLETION_SCRIPTS.kubectl],
    ] as const) {
      chmodSync(folder.write(`bin/${name}`, script), 0o755);
    }
    folder.write('completion.bash', COMPLETION_SCRIPTS.bash);
    env = { PATH: `${folder.at('bin')}${delimiter}${process.env['PATH'] ?? ''}` };
  });
  after(() => folder.remove());

  /** With `first` before everything else on the PATH. */
  const inBashWith = async (first: string, ...words: string[]): Promise<string[]> => {
    const quoted = words.map((word) => `'${word}'`).join(' ');
    const script = `. '${folder.at('completion.bash')}'; COMP_WORDS=(kubectl-topology ${quoted}); COMP_CWORD=${words.length}; _kubectl_topology; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout } = await run('bash', ['-c', script], {
      env: { PATH: [folder.at(first), env['PATH']].join(delimiter) },
    });
    return stdout.split('\n').filter((line) => line !== '');
  };
  const inBash = (...words: string[]): Promise<string[]> => inBashWith('bin', ...words);

  for (const shell of SHELLS) {
    it(`prints the script for ${shell}`, async () => {
      const { out, code } = await runTopology(['completion', shell]);
      expect([out, code]).to.deep.equal([COMPLETION_SCRIPTS[shell], 0]);
      expect(out).to.contain('kubectl-topology __complete');
    });
  }

  it('exit code 2 for another shell', async () => {
    const { code, err } = await runTopology(['completion', 'tcsh']);
    expect(code).to.equal(2);
    expect(err).to.contain('Allowed choices are bash, zsh, fish, kubectl');
  });

  it('works in bash: commands, values of flags, Services, and nothing where files are meant', async () => {
    expect(await inBash('ex')).to.deep.equal(['explain']);
    expect(await inBash('route', '--proxy', '')).to.deep.equal(['kube-proxy', 'cilium', 'linkerd']);
    expect(await inBash('explain', '-f', clusterFile('effective'), 'shop/')).to.deep.equal(['shop/web']);
    expect(await inBash('explain', '-f', clusterFile('effective'), '-n', '')).to.deep.equal(['shop']);
    expect(await inBash('traffic', '-f', clusterFile('effective'), '--watch', 'shop/')).to.deep.equal(['shop/web']);
    expect(await inBash('traffic', '-f', clusterFile('effective'), '--meter-namespace', '')).to.deep.equal(['shop']);
    expect(await inBash('hints', '-f', '')).to.deep.equal([]);
  });

  it('offers no name that a shell would expand, run or take for a flag', async () => {
    const names = hostileNames(folder.at('canary'));
    const file = folder.write('hostile.json', servicesNamed(names));
    const answers = await Promise.all(
      [[''], ['-n', 'shop', ''], ['-n', '']].map((words) =>
        runTopology(['__complete', 'explain', '-f', file, ...words]),
      ),
    );
    const offered = answers.flatMap(({ out }) => out.split('\n').slice(0, -2));
    expect(offered.filter((line) => !/^[A-Za-z0-9][A-Za-z0-9./:_=-]*\t[A-Za-z]+$/.test(line))).to.deep.equal([]);
    expect(offered).to.include.members(['shop\tNamespace']);
  });

  it('expands nothing in bash, whatever the program prints', async () => {
    const canary = folder.at('canary');
    folder.write('candidates', unchecked(hostileNames(canary)));
    const program = folder.write('hostile/kubectl-topology', `#!/bin/sh\ncat '${folder.at('candidates')}'\n`);
    chmodSync(program, 0o755);
    expect(new Set(await inBashWith('hostile', 'explain', 'web'))).to.deep.equal(new Set(['web']));
    expect(existsSync(canary)).to.equal(false);
  });

  it('answers kubectl in the way of cobra: candidates, then a directive', async () => {
    const { stdout } = await run('kubectl_complete-topology', ['completion', 'z'], { env });
    expect(stdout).to.equal('zsh\n:4\n');
  });
});
