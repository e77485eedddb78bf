// A cluster of three zones for the tests of evacuations by the command.
import { afterEach, beforeEach } from 'mocha';
import type { EndpointSlice } from '../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { ENDPOINT_SLICES, ZONE_EVACUATIONS } from '../../pkg/apis/resources.ts';
import { zoneEvacuationDefinition } from '../../hack/lib/crd.ts';
import type { ZoneEvacuation } from '../../pkg/apis/zone-evacuation.ts';
import { decideInOrder } from '../../pkg/evacuation/decide.ts';
import { evacuationPatch } from '../../pkg/evacuation/slice.ts';
import { createClient } from '../../pkg/kubernetes/client.ts';
import { loadKubeConfig } from '../../pkg/kubernetes/kubeconfig.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { endpointsIn, kubeProxy, node, service, slice } from '../fixtures/core.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { type Ran, type World, runTopology } from '../fixtures/topology-command.ts';
import { startSandbox } from '../sandbox/sandbox.ts';
import type { Sandbox } from '../sandbox/types.ts';

export const ZONES = ['eu-1a', 'eu-1b', 'eu-1c'] as const;

export const pair = (name: string, zones: readonly string[], labels = {}): KubernetesObject[] => [
  service({ metadata: { name, labels } }),
  slice({ service: name, metadata: { name: `${name}-x` }, endpoints: endpointsIn(zones) }),
];

export const useEvacuationCluster = () => {
  const folder = temporaryFolder();
  let sandbox: Sandbox;
  let client: Client;
  let access: readonly string[];
  beforeEach(async () => {
    sandbox = await startSandbox({ kubernetesVersion: 'v1.34.2', endpointSliceController: false });
    await sandbox.apply(zoneEvacuationDefinition());
    const file = folder.write('controller.kubeconfig', sandbox.kubeconfig('controller'));
    client = createClient({ config: loadKubeConfig({ kubeconfig: file }), userAgent: 'test' });
    sandbox.seed([...ZONES.map((zone) => node({ zone })), kubeProxy(), ...pair('web', ZONES)]);
    access = ['--kubeconfig', folder.write('kubeconfig', sandbox.kubeconfig('operator'))];
  });
  afterEach(async () => {
    await client.close();
    await sandbox.stop();
  });
  const run = (line: string, world: World = {}): Promise<Ran> =>
    runTopology([...line.split(' '), ...access], { now: Date.now(), ...world });
  const all = async (): Promise<ZoneEvacuation[]> => (await client.list<ZoneEvacuation>(ZONE_EVACUATIONS)).items;
  const sliceOf = (name: string): Promise<EndpointSlice> =>
    client.get<EndpointSlice>(ENDPOINT_SLICES, { namespace: 'default', name });
  const hintsOf = async (name: string): Promise<string[]> =>
    ((await sliceOf(name)).endpoints ?? []).map(({ hints }) =>
      (hints?.forZones ?? []).map((zone) => zone.name).join('+'),
    );
  /** What the leader writes on a slice. */
  const evacuateSlice = async (name: string, zone = 'eu-1a'): Promise<void> => {
    const found = await sliceOf(name);
    const { decision } = decideInOrder({
      slices: [found],
      clientZones: [...ZONES],
      requests: [{ zone, percent: 100, rounding: 'Up' }],
    });
    if (decision.kind !== 'moved') throw new Error(JSON.stringify(decision));
    await client.patch(ENDPOINT_SLICES, { namespace: 'default', name }, 'json', evacuationPatch(found, decision));
  };
  const setStatus = (status: object, name = 'eu-1a'): Promise<unknown> =>
    client.patch(ZONE_EVACUATIONS, { name }, 'merge', { status }, { subresource: 'status' });
  const services = (moved: number, pending: number, left: number) => ({
    total: moved + pending + left,
    moved,
    pending,
    left,
  });
  /** Answers each step of the progress with the next status, as the controller would. */
  const answering = (...statuses: readonly object[]): World => {
    const waiting = [...statuses];
    return {
      onErr: () => {
        const next = waiting.shift();
        if (next !== undefined) void setStatus(next);
      },
    };
  };
  return {
    get sandbox() {
      return sandbox;
    },
    get client() {
      return client;
    },
    get access() {
      return access;
    },
    run,
    all,
    sliceOf,
    hintsOf,
    evacuateSlice,
    setStatus,
    services,
    answering,
  };
};
