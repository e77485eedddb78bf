// What the suites that evacuate zones share: evacuations as objects, the marks that they leave on slices, and who does them.
import type { EndpointSlice } from '../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { ANNOTATION_EVACUATED, NOWHERE } from '../../pkg/apis/names.ts';
import {
  apiVersionOf,
  ENDPOINT_SLICES,
  MUTATING_WEBHOOK_CONFIGURATIONS,
  ZONE_EVACUATIONS,
} from '../../pkg/apis/resources.ts';
import { CUSTOM_RESOURCE_DEFINITIONS } from '../fixtures/crds.ts';
import { zoneEvacuationDefinition } from '../../hack/lib/crd.ts';
import type { ZoneEvacuation, ZoneEvacuationSpec } from '../../pkg/apis/zone-evacuation.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import type { Bed, BedNode, BedService } from './bed/index.ts';
import { type WaitOptions, ofLength, repeat, waitFor } from './bed/machine.ts';

/** A reconciler as it is installed: it leads by its Lease. */
export const AS_INSTALLED = { config: { leaderElection: {} } } as const;

/** Resolves once ZoneEvacuations are served. */
export const defineEvacuations = async (client: Pick<Client, 'create' | 'list'>): Promise<void> => {
  await client.create(CUSTOM_RESOURCE_DEFINITIONS, zoneEvacuationDefinition());
  await waitFor('ZoneEvacuations served', () => client.list(ZONE_EVACUATIONS));
};

/** An evacuation of zone a for an hour, whatever the capacity elsewhere, unless the spec says another. */
export const evacuationNamed = (name: string, spec: Partial<ZoneEvacuationSpec> = {}): ZoneEvacuation => ({
  apiVersion: apiVersionOf(ZONE_EVACUATIONS),
  kind: ZONE_EVACUATIONS.kind,
  metadata: { name },
  spec: { zone: 'a', duration: '1h', capacityCheck: 'Skip', ...spec } as ZoneEvacuationSpec,
});

/** Waits until the evacuation is in one of the phases. */
export const reachesPhase = (
  client: Pick<Client, 'get'>,
  name: string,
  phases: readonly string[],
  options?: WaitOptions,
): Promise<ZoneEvacuation> =>
  waitFor(
    `${name} is ${phases.join(' or ')}`,
    () => client.get<ZoneEvacuation>(ZONE_EVACUATIONS, { name }),
    ({ status }) => phases.includes(status?.phase ?? ''),
    options,
  );

/** Waits until every evacuation has come to its end, and nothing on any slice nor in the webhook's registration shows one. */
export const allReturned = async (client: Pick<Client, 'list'>, options?: WaitOptions): Promise<void> => {
  await waitFor(
    'every evacuation has returned',
    async () => (await client.list<ZoneEvacuation>(ZONE_EVACUATIONS)).items.map(({ status }) => status?.phase),
    (phases) => phases.every((phase) => phase === 'Returned'),
    options,
  );
  await waitFor(
    'no slice is marked',
    async () => {
      const { items } = await client.list<EndpointSlice>(ENDPOINT_SLICES);
      return items.filter((slice) => isMarked(slice) || JSON.stringify(slice).includes(NOWHERE));
    },
    ofLength(0),
    options,
  );
  await waitFor(
    'the registration has no entry for evacuations',
    () => client.list<KubernetesObject & { webhooks?: { name: string }[] }>(MUTATING_WEBHOOK_CONFIGURATIONS),
    ({ items }) => !items.some(({ webhooks = [] }) => webhooks.some(({ name }) => name.startsWith('zone-evacuation'))),
    options,
  );
};

export const isMarked = ({ metadata }: EndpointSlice): boolean =>
  metadata?.annotations?.[ANNOTATION_EVACUATED] !== undefined;

/** Slices of any namespace that show an evacuation. */
export const markedSlices = async (client: Pick<Client, 'list'>): Promise<EndpointSlice[]> =>
  (await client.list<EndpointSlice>(ENDPOINT_SLICES)).items.filter(isMarked);

export interface SteadyService {
  readonly nodes: readonly BedNode[];
  /** Connections that were answered so far. */
  readonly answered: number;
  /** What became of those that were not. */
  readonly failures: readonly string[];
  /** Waits until connections from every zone are spread as wanted; given is how many of 60 arrive in the zone. */
  settles(zone: string, what: string, accept: (there: number) => boolean): Promise<void>;
}

const NAMESPACE = 'steady';
const PODS_PER_ZONE = 2;
/** From each zone, a look. */
const CONNECTIONS = 10;
const LOOK_MS = 250;
/** A machine full of work may be late, and an endpoint that is gone never answers. */
const TIMEOUT_MS = 20_000;

const create = async (bed: Bed, zones: readonly string[]): Promise<{ nodes: BedNode[]; service: BedService }> => {
  await bed.api.create('/api/v1/namespaces', { metadata: { name: NAMESPACE } });
  const nodes: BedNode[] = [];
  for (const zone of zones) nodes.push(await bed.node({ name: `steady-${zone}`, zone }));
  for (const node of nodes)
    for (let count = 0; count < PODS_PER_ZONE; count += 1) await bed.pod({ node, app: 'steady', namespace: NAMESPACE });
  const service = await bed.service({ name: 'steady', namespace: NAMESPACE });
  await waitFor(
    'the endpoints of the steady Service',
    () => service.endpoints(),
    ofLength(zones.length * PODS_PER_ZONE),
  );
  return { nodes, service };
};

/** Creates it, and connects from every zone. */
export const startSteadyService = async (bed: Bed, zones: readonly string[]): Promise<SteadyService> => {
  const { nodes, service } = await create(bed, zones);
  const counts = (node: BedNode, count: number) => bed.connect({ node, service, count, timeoutMs: TIMEOUT_MS });
  for (const node of nodes)
    await waitFor(
      `${node.name} reaches the steady Service`,
      () => bed.connect({ node, service, count: CONNECTIONS, timeoutMs: 1_000 }),
      ({ total }) => total === CONNECTIONS,
    );
  const failures: string[] = [];
  let answered = 0;
  for (const node of nodes)
    repeat(LOOK_MS, async () => {
      const { total, errors } = await counts(node, CONNECTIONS);
      answered += total;
      for (const [code, count] of Object.entries(errors)) failures.push(`${count} from ${node.name}: ${code}`);
    });
  return {
    nodes,
    get answered() {
      return answered;
    },
    failures,
    async settles(zone, what, accept) {
      for (const node of nodes)
        await waitFor(
          `connections from ${node.name} to ${zone}: ${what}`,
          () => counts(node, 60),
          ({ total, byZone }) => total === 60 && accept(byZone[zone] ?? 0),
          { timeoutSeconds: 120 },
        );
    },
  };
};
