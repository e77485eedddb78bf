// Small readings of objects that several models share.
import type { Endpoint, EndpointSlice, Service } from '../apis/core.ts';
import type { KubernetesObject } from '../apis/meta.ts';

/** `namespace/name`, or the name alone. */
export const fullName = ({ metadata }: KubernetesObject): string =>
  [metadata?.namespace, metadata?.name].filter((part) => part !== undefined && part !== '').join('/');

/** The slice's endpoints; the API server may send `null` for none. */
export const endpointsOf = ({ endpoints }: EndpointSlice): readonly Endpoint[] => endpoints ?? [];

export const hintedZones = ({ hints }: Endpoint): readonly string[] => (hints?.forZones ?? []).map(({ name }) => name);

/** The Service's first address family; IPv4 if it does not say. */
export const primaryFamily = ({ spec }: Service): string => spec?.ipFamilies?.[0] ?? 'IPv4';
