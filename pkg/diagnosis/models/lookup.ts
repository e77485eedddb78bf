// Finds what belongs together in a snapshot: slices of a Service, versions of components, zones of Nodes.
import type { EndpointSlice, Node, Service } from '../../apis/core.ts';
import { LABEL_SERVICE_NAME } from '../../apis/names.ts';
import { nameOf } from '../../apis/object.ts';
import { byText } from '../../apis/order.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import { NEWEST_KNOWN_VERSION, compareVersions, parseVersion } from '../../routing/version.ts';
import { itemsOf } from '../snapshot.ts';
import type { ClusterSnapshot } from '../snapshot.ts';

export interface ServiceRef {
  readonly namespace: string;
  readonly name: string;
}

export const serviceRefOf = ({ metadata }: Service): ServiceRef => ({
  namespace: metadata?.namespace ?? 'default',
  name: metadata?.name ?? '',
});

export const serviceKeyOfRef = ({ namespace, name }: ServiceRef): string => `${namespace}/${name}`;

/** All Services in the order of their full names. */
export const sortedServices = (snapshot: ClusterSnapshot): readonly Service[] =>
  [...itemsOf(snapshot.services)].sort((a, b) =>
    byText(serviceKeyOfRef(serviceRefOf(a)), serviceKeyOfRef(serviceRefOf(b))),
  );

/** Slices by the full name of the Service that their label names, each list in name order. */
export const slicesByService = (slices: readonly EndpointSlice[]): ReadonlyMap<string, readonly EndpointSlice[]> => {
  const found = new Map<string, EndpointSlice[]>();
  for (const slice of slices) {
    const name = slice.metadata?.labels?.[LABEL_SERVICE_NAME];
    if (name === undefined) continue;
    const key = serviceKeyOfRef({ namespace: slice.metadata?.namespace ?? 'default', name });
    const list = found.get(key);
    if (list === undefined) found.set(key, [slice]);
    else list.push(slice);
  }
  for (const list of found.values()) list.sort((a, b) => byText(nameOf(a), nameOf(b)));
  return found;
};

/** Version of a Node's kubelet, the stand-in for its proxy; undefined where it is missing or malformed. */
export const kubeletVersion = ({ status }: Node): KubernetesVersion | undefined => {
  const text = status?.nodeInfo?.kubeletVersion;
  if (text === undefined) return undefined;
  try {
    return parseVersion(text);
  } catch {
    return undefined;
  }
};

/** The control plane's version: as given, as the API server says, as the newest kubelet (never newer than it), else the newest known. */
export const controlPlaneVersion = (
  snapshot: ClusterSnapshot,
  given: KubernetesVersion | undefined,
): KubernetesVersion => {
  const stated = given ?? snapshot.version;
  if (stated !== undefined) return stated;
  const kubelets = itemsOf(snapshot.nodes).flatMap((node) => kubeletVersion(node) ?? []);
  return kubelets.sort(compareVersions).at(-1) ?? NEWEST_KNOWN_VERSION;
};

/** addressTypes that proxies route; they leave FQDN alone. */
const PROXIED: ReadonlySet<string> = new Set(['IPv4', 'IPv6']);

/** addressType by which a Service is looked at: as its first family, as its cluster IP, else as its slices. */
export const firstFamilyOf = ({ spec }: Service, slices: readonly EndpointSlice[]): string => {
  const stated = spec?.ipFamilies?.[0];
  if (stated !== undefined) return stated;
  const { clusterIP } = spec ?? {};
  if (clusterIP !== undefined && clusterIP !== '' && clusterIP !== 'None')
    return clusterIP.includes(':') ? 'IPv6' : 'IPv4';
  const types = new Set(slices.map(({ addressType }) => addressType));
  return types.has('IPv6') && !types.has('IPv4') ? 'IPv6' : 'IPv4';
};

/**
 * addressTypes by which clients reach a Service, its first family first: each has its own cluster IP, its own slices and
 * its own rules in every proxy. At least one; where the Service does not say, those of its slices count too.
 */
export const familiesOf = (service: Service, slices: readonly EndpointSlice[]): readonly string[] => {
  const stated = service.spec?.ipFamilies ?? [];
  const found = slices.map(({ addressType = 'IPv4' }) => addressType).filter((type) => PROXIED.has(type));
  return [...new Set([firstFamilyOf(service, slices), ...(stated.length > 0 ? stated : found)])];
};
