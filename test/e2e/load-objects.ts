// The Services and slices of the load suite, as a control plane with many tenants has them: a hundred to a namespace.
import type { EndpointSlice, Service } from '../../pkg/apis/core.ts';
import { LABEL_STRATEGY } from '../../pkg/apis/names.ts';
import { endpoint, service, slice } from '../fixtures/core.ts';

/** How much of everything. */
export const SCALE = { services: 5_000, endpointsPerSlice: 2, plainSlices: 1_000, perNamespace: 100 } as const;

export const ZONES = ['a', 'b', 'c'] as const;

const zoneOf = (index: number): string => ZONES[index % ZONES.length] ?? '';

export const namespaceOf = (index: number): string => `load-${Math.floor(index / SCALE.perNamespace)}`;

export const NAMESPACE_NAMES: readonly string[] = Array.from(
  { length: SCALE.services / SCALE.perNamespace },
  (_, index) => namespaceOf(index * SCALE.perNamespace),
);

const label = { [LABEL_STRATEGY]: 'same-zone' };

/**
 * Without selector: its slice is written by the test itself, as the EndpointSlice controller would, so that every write is
 * timed by its client and no client's rate limit decides. Headless: to find 5,000 free addresses takes the API server longer
 * than all the rest, and nothing here depends on them.
 */
export const serviceOf = (index: number): Service => {
  const metadata = { name: `service-${index}`, namespace: namespaceOf(index), labels: label };
  const object = service({ metadata });
  const { selector: _selector, ...spec } = object.spec ?? {};
  return { ...object, spec: { ...spec, clusterIP: 'None' } };
};

/** Two endpoints, in two zones; `round` makes every write another one. */
export const sliceOf = (index: number, asks: boolean, round: number): EndpointSlice => {
  const name = asks ? `service-${index}` : `plain-${index}`;
  const endpoints = Array.from({ length: SCALE.endpointsPerSlice }, (_, one) =>
    endpoint({
      zone: zoneOf(index + one),
      addresses: [`198.19.${index & 255}.${(2 * round + one) & 255}`],
      targetRef: { kind: 'Pod', name: `${name}-${round}-${one}`, namespace: namespaceOf(index), uid: `${name}-${one}` },
    }),
  );
  const metadata = { name: `${name}-slice`, namespace: namespaceOf(index), labels: asks ? label : {} };
  return slice({ service: name, metadata, endpoints });
};
