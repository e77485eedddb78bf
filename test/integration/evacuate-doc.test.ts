// docs/operations/evacuate.md is typed from top to bottom on a sandbox: each command ends as the page says.
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import type { EndpointSlice } from '../../pkg/apis/core.ts';
import { ANNOTATION_EVACUATED } from '../../pkg/apis/names.ts';
import { ENDPOINT_SLICES, ZONE_EVACUATIONS } from '../../pkg/apis/resources.ts';
import { zoneEvacuationDefinition } from '../../hack/lib/crd.ts';
import { endpointsIn, kubeProxy, node, service, slice } from '../fixtures/core.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { runTopology } from '../fixtures/topology-command.ts';
import { startSandbox } from '../sandbox/sandbox.ts';
import type { Sandbox } from '../sandbox/types.ts';
import { shellBlocks } from '../support/docs/markdown.ts';
import { startEvacuationAdmission, startReconciler } from './evacuation-support.ts';

const PAGE = 'docs/operations/evacuate.md';
const ZONES = ['eu-1a', 'eu-1b', 'eu-1c'] as const;

/** Words as a shell has them; the page quotes with " only. */
const wordsOf = (command: string): string[] =>
  [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');

const linesOf = (text: string): { command: string; codes: readonly number[] }[] =>
  text
    .trim()
    .split('\n')
    .map((line) => {
      const [command = '', comment = ''] = line.split(/\s+# ?/);
      const other = /exit code (\d)/.exec(comment)?.[1];
      return { command, codes: other === undefined ? [0] : [0, Number(other)] };
    });

describe(`${PAGE}: every command ends as the page says`, () => {
  const folder = temporaryFolder();
  let sandbox: Sandbox;
  const stops: (() => Promise<void>)[] = [];
  let access: readonly string[];
  before(async () => {
    sandbox = await startSandbox({ kubernetesVersion: 'v1.36.3', endpointSliceController: false });
    await sandbox.apply(zoneEvacuationDefinition());
    sandbox.seed([
      ...ZONES.map((zone) => node({ zone })),
      kubeProxy('v1.36.3'),
      service({ metadata: { name: 'web' } }),
      slice({ service: 'web', endpoints: endpointsIn([...ZONES, ...ZONES]) }),
    ]);
    stops.push(startReconciler(sandbox), await startEvacuationAdmission(sandbox, [ZONES[0]]));
    access = ['--kubeconfig', folder.write('kubeconfig', sandbox.kubeconfig('operator'))];
  });
  after(async () => {
    for (const stop of stops) await stop();
    await sandbox.stop();
  });

  const marked = (): EndpointSlice[] =>
    sandbox
      .list<EndpointSlice>(ENDPOINT_SLICES)
      .filter(({ metadata }) => metadata?.annotations?.[ANNOTATION_EVACUATED] !== undefined);

  const blocks = shellBlocks(PAGE);

  it('has commands', () => expect(blocks).to.have.lengthOf.above(6));

  for (const { line, text } of blocks) {
    for (const { command, codes } of linesOf(text)) {
      it(`line ${line}: ${command}`, async () => {
        const [kubectl, topology, ...words] = wordsOf(command);
        expect([kubectl, topology]).to.deep.equal(['kubectl', 'topology']);
        const { code, out, err } = await runTopology([...words, ...access], { now: Date.now() });
        expect(codes, `${out}${err}`).to.include(code);
        expect(out).not.to.match(/NaN|undefined|Infinity/);
        if (words[0] === 'evacuate' && !words.includes('--dry-run')) expect(marked()).not.to.be.empty;
        if (words[0] === 'return') expect(marked()).to.be.empty;
      });
    }
  }

  it('leaves nothing evacuated', () => {
    expect([sandbox.list(ZONE_EVACUATIONS), marked()]).to.deep.equal([[], []]);
  });
});
