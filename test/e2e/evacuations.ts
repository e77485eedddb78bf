// What the suites that evacuate zones share: evacuations as objects, the marks that they leave on slices, and who does them.
import type { EndpointSlice } from '../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { ANNOTATION_EVACUATED, NOWHERE } from '../../pkg/apis/names.ts';
import {
  apiVersionOf,
  CUSTOM_RESOURCE_DEFINITIONS,
  ENDPOINT_SLICES,
  MUTATING_WEBHOOK_CONFIGURATIONS,
  ZONE_EVACUATIONS,
} from '../../pkg/apis/resources.ts';
import { zoneEvacuationDefinition } from '../../pkg/apis/crd.ts';
import type { ZoneEvacuation, ZoneEvacuationSpec } from '../../pkg/apis/zone-evacuation.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { waitFor } from './bed/machine.ts';
import type { WaitOptions } from './bed/machine.ts';

/** A reconciler as it is installed: it leads by its Lease. */
export const AS_INSTALLED = { config: { leaderElection: {} } } as const;

export type StoredEvacuation = ZoneEvacuation & KubernetesObject;

/** Resolves once ZoneEvacuations are served. */
export const defineEvacuations = async (client: Pick<Client, 'create' | 'list'>): Promise<void> => {
  await client.create(CUSTOM_RESOURCE_DEFINITIONS, zoneEvacuationDefinition());
  await waitFor(
    'ZoneEvacuations served',
    () => client.list(ZONE_EVACUATIONS),
    () => true,
  );
};

/** An evacuation of zone a for an hour, whatever the capacity elsewhere, unless the spec says another. */
export const evacuationNamed = (name: string, spec: Partial<ZoneEvacuationSpec> = {}): StoredEvacuation => ({
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
): Promise<StoredEvacuation> =>
  waitFor(
    `${name} is ${phases.join(' or ')}`,
    () => client.get<StoredEvacuation>(ZONE_EVACUATIONS, { name }),
    ({ status }) => phases.includes(status?.phase ?? ''),
    options,
  );

/** Waits until every evacuation has come to its end, and nothing on any slice nor in the webhook's registration shows one. */
export const allReturned = async (client: Pick<Client, 'list'>, options?: WaitOptions): Promise<void> => {
  await waitFor(
    'every evacuation has returned',
    async () => (await client.list<StoredEvacuation>(ZONE_EVACUATIONS)).items.map(({ status }) => status?.phase),
    (phases) => phases.every((phase) => phase === 'Returned'),
    options,
  );
  await waitFor(
    'no slice is marked',
    async () => {
      const { items } = await client.list<EndpointSlice>(ENDPOINT_SLICES);
      return items.filter((slice) => isMarked(slice) || JSON.stringify(slice).includes(NOWHERE));
    },
    ({ length }) => length === 0,
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
