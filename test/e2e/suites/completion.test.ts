// SPDX-License-Identifier: Apache-2.0
// Shell completion of `kubectl topology` in real interactive bash, zsh and fish; needs no cluster.
// Needs: bash, fish, zsh
import { chmodSync } from 'node:fs';
import { delimiter, dirname, resolve } from 'node:path';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { COMPLETION_SCRIPTS } from '../../../cmd/kubectl-topology/completion-scripts.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import type { TemporaryFolder } from '../../fixtures/temporary-folder.ts';
import { clusterFile } from '../../fixtures/topology-command.ts';
import { INTERACTIVE } from '../completion-shells.ts';
import type { TypeInto } from '../completion-shells.ts';

const main = resolve(import.meta.dirname, '../../../cmd/kubectl-topology/main.ts');
const file = clusterFile('effective');

describe('completion', () => {
  let folder: TemporaryFolder;
  before(() => {
    folder = temporaryFolder();
  });
  after(() => folder.remove());

  for (const shell of ['bash', 'zsh', 'fish'] as const) {
    describe(`in ${shell}`, () => {
      let type: TypeInto;

      before(() => {
        const program = folder.write(
          `${shell}/bin/kubectl-topology`,
          `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`,
        );
        chmodSync(program, 0o755);
        folder.write(`${shell}/completion`, COMPLETION_SCRIPTS[shell]);
        folder.write(`${shell}/two words.yaml`, '');
        type = INTERACTIVE[shell]({
          folder: folder.at(shell),
          script: 'completion',
          environment: {
            PATH: [dirname(program), process.env['PATH'] ?? ''].join(delimiter),
            HOME: folder.at(shell),
            LC_ALL: 'C.UTF-8',
          },
        });
      });

      it('completes a command', async () => {
        expect((await type('kubectl-topology expl')).line.trimEnd()).to.equal('kubectl-topology explain');
      });

      it('offers all commands, and none that is hidden', async () => {
        const { candidates } = await type('kubectl-topology ');
        expect(candidates).to.include.members(['explain', 'hints', 'plan', 'route', 'watch']);
        expect(candidates).not.to.include('__complete');
      });

      it('offers the values of a flag, and completes one', async () => {
        const { candidates } = await type('kubectl-topology route --proxy ');
        expect(candidates).to.deep.equal(['cilium', 'kube-proxy', 'linkerd']);
        const { line } = await type('kubectl-topology route --proxy c');
        expect(line.trimEnd()).to.equal('kubectl-topology route --proxy cilium');
      });

      it('completes a flag', async () => {
        expect((await type('kubectl-topology explain --fail')).line.trimEnd()).to.equal(
          'kubectl-topology explain --fail-on',
        );
      });

      it('completes a Service of a file, with its namespace and in one', async () => {
        const all = await type(`kubectl-topology explain -f ${file} shop/`);
        expect(all.line.trimEnd()).to.equal(`kubectl-topology explain -f ${file} shop/web`);
        const within = await type(`kubectl-topology explain -f ${file} -n shop w`);
        expect(within.line.trimEnd()).to.equal(`kubectl-topology explain -f ${file} -n shop web`);
      });

      it('completes files where a file is meant, quoted', async () => {
        expect((await type('kubectl-topology hints -f tw')).line.trimEnd()).to.equal(
          'kubectl-topology hints -f two\\ words.yaml',
        );
      });

      it('offers nothing where nothing fits, files neither', async () => {
        const { line, candidates } = await type('kubectl-topology nonsense tw');
        expect([line, candidates]).to.deep.equal(['kubectl-topology nonsense tw', []]);
      });
    });
  }
});
