// SPDX-License-Identifier: Apache-2.0
// Shell completion of `kubectl topology` in real interactive bash, zsh and fish; needs no cluster.
// Needs: bash, fish, zsh
import { chmodSync, existsSync } from 'node:fs';
import { delimiter, dirname, resolve } from 'node:path';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { COMPLETION_SCRIPTS } from '../../../cmd/kubectl-topology/completion-scripts.ts';
import { hostileNames, servicesNamed, unchecked } from '../../fixtures/hostile-names.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import type { TemporaryFolder } from '../../fixtures/temporary-folder.ts';
import { clusterFile, runTopology } from '../../fixtures/topology-command.ts';
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

      /** With the program of this folder. */
      const open = (programs: string): TypeInto =>
        INTERACTIVE[shell]({
          folder: folder.at(shell),
          script: 'completion',
          environment: {
            PATH: [programs, process.env['PATH'] ?? ''].join(delimiter),
            HOME: folder.at(shell),
            LC_ALL: 'C.UTF-8',
          },
        });

      before(() => {
        const program = folder.write(
          `${shell}/bin/kubectl-topology`,
          `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`,
        );
        chmodSync(program, 0o755);
        folder.write(`${shell}/completion`, COMPLETION_SCRIPTS[shell]);
        folder.write(`${shell}/two words.yaml`, '');
        type = open(dirname(program));
      });

      it('completes a command', async () => {
        expect((await type('kubectl-topology expl')).line.trimEnd()).to.equal('kubectl-topology explain');
      });

      it('offers all commands, and none that is hidden', async () => {
        const { candidates } = await type('kubectl-topology ');
        const { out } = await runTopology(['__complete', '']);
        const visible = [...out.matchAll(/^([a-z]\w*)\t/gm)].map(([, name = '']) => name);
        expect(candidates).to.deep.equal(visible.sort());
        expect(candidates).to.include.members(['evacuate', 'evacuations', 'explain', 'return', 'traffic']);
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
        const measured = await type(`kubectl-topology traffic -f ${file} --watch shop/`);
        expect(measured.line.trimEnd()).to.equal(`kubectl-topology traffic -f ${file} --watch shop/web`);
      });

      it('completes the zones of a file', async () => {
        const { candidates } = await type(`kubectl-topology audit -f ${file} --without eu-`);
        expect(candidates).to.deep.equal(['eu-1a', 'eu-1b', 'eu-1c']);
      });

      it('completes files where a file is meant, quoted', async () => {
        expect((await type('kubectl-topology hints -f tw')).line.trimEnd()).to.equal(
          'kubectl-topology hints -f two\\ words.yaml',
        );
      });

      it('runs nothing that stands in a name, and offers no such name', async () => {
        const canary = folder.at(`${shell}/canary`);
        const hostile = folder.write(`${shell}/hostile.json`, servicesNamed(['web', ...hostileNames(canary)]));
        const { candidates } = await type(`kubectl-topology explain -f ${hostile} -n shop `);
        expect(candidates).to.deep.equal(['web']);
        expect(existsSync(canary)).to.equal(false);
      });

      it('runs nothing of what the program prints', async () => {
        const canary = folder.at(`${shell}/canary`);
        folder.write(`${shell}/candidates`, unchecked(hostileNames(canary)));
        const printing = folder.write(
          `${shell}/printing/kubectl-topology`,
          `#!/bin/sh\ncat '${folder.at(`${shell}/candidates`)}'\n`,
        );
        chmodSync(printing, 0o755);
        const { candidates } = await open(dirname(printing))('kubectl-topology explain ');
        expect(candidates).to.include.members(['other', 'web']);
        expect(candidates.filter((one) => !/^[A-Za-z0-9./:_=-]+$/.test(one))).to.deep.equal([]);
        expect(existsSync(canary)).to.equal(false);
      });

      it('offers nothing where nothing fits, files neither', async () => {
        const { line, candidates } = await type('kubectl-topology nonsense tw');
        expect([line, candidates]).to.deep.equal(['kubectl-topology nonsense tw', []]);
      });
    });
  }
});
