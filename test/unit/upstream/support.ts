// Small objects for the tests of the models: slices and nodes by zones, and what came of them by zone.
import type { Endpoint, EndpointSlice, Node, Service } from '../../../pkg/apis/core.ts';
import { LABEL_ZONE } from '../../../pkg/apis/names.ts';
import type { KubernetesVersion } from '../../../pkg/routing/types.ts';
import { endpoint, node, service, slice } from '../../fixtures/core.ts';

export const minor = (value: number): KubernetesVersion => ({ major: 1, minor: value });

/** A ready endpoint of a zone, hinted for some zones; `undefined` leaves the zone out. */
export const at = (
  zone: string | undefined,
  index: number,
  { hints, ...overrides }: Omit<Partial<Endpoint>, 'hints'> & { hints?: readonly string[] } = {},
): Endpoint => {
  const { zone: own, ...rest } = endpoint({
    zone: zone ?? 'none',
    addresses: [`198.18.0.${index}`],
    nodeName: `node-${zone}`,
    ...overrides,
    ...(hints === undefined ? {} : { hints: { forZones: hints.map((name) => ({ name })) } }),
  });
  return zone === undefined ? rest : { ...rest, zone: own ?? '' };
};

export const aSlice = (endpoints: readonly Endpoint[], name = 'server-1', overrides: Partial<EndpointSlice> = {}) =>
  slice({ metadata: { name }, ...(overrides as object), endpoints: [...endpoints] });

/** One ready node a zone, with that much CPU. */
export const nodesOf = (cpu: Readonly<Record<string, string>>): Node[] =>
  Object.entries(cpu).map(([zone, amount]) => nodeOf(`node-${zone}`, zone, amount));

export const nodeOf = (name: string, zone: string, cpu = '2', { ready = 'True', labels = {} } = {}): Node =>
  node({
    zone,
    metadata: { name, labels: { ...(zone === '' ? {} : { [LABEL_ZONE]: zone }), ...labels } },
    status: { conditions: [{ type: 'Ready', status: ready as 'True' }], allocatable: cpu === '' ? {} : { cpu } },
  });

/** A Service with annotations and a trafficDistribution. */
export const aService = (
  annotations: Record<string, string> = {},
  trafficDistribution?: string,
  spec: NonNullable<Service['spec']> = {},
): Service =>
  service({
    metadata: { annotations },
    spec: { ...spec, ...(trafficDistribution === undefined ? {} : { trafficDistribution }) },
  });

export const MODE = 'service.kubernetes.io/topology-mode';
export const HINTS = 'service.kubernetes.io/topology-aware-hints';

/** Hints of all endpoints by hinted zones, e.g. `{ a: 2, 'a+b': 1, none: 1 }`. */
export const hintCounts = (slices: readonly EndpointSlice[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { hints } of slices.flatMap(({ endpoints }) => endpoints ?? [])) {
    const key = hints?.forZones?.map(({ name }) => name).join('+') ?? 'none';
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
};

export const zonesNamed = (count: number): string[] => Array.from({ length: count }, (_, index) => `z${index}`);
