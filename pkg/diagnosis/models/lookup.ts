// Finds what belongs together in a snapshot, which Nodes take which Pods, and the names most like one that does not exist.
import { isEndpointReady, serviceKeyOf, zoneOfNode } from '../../apis/core.ts';
import type { Endpoint, EndpointSlice, Node, Service } from '../../apis/core.ts';
import type { ObjectRef } from '../../apis/meta.ts';
import { byText, keyOf, nameOf, refOf } from '../../apis/values.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import { NEWEST_KNOWN_VERSION, compareVersions } from '../../routing/version.ts';
import { computeTypeOf, kubeletVersion } from '../routers/nodes.ts';
import { type ClusterSnapshot, type Workload, itemsOf } from '../snapshot.ts';

export type ServiceRef = Required<ObjectRef>;

export const serviceKeyOfRef = ({ namespace, name }: ServiceRef): string => `${namespace}/${name}`;

/** Else nothing but their author writes its slices. */
export const hasSelector = ({ spec }: Service): boolean => Object.keys(spec?.selector ?? {}).length > 0;

/** All Services, or those of the namespace, in the order of their full names. */
export const sortedServices = (snapshot: ClusterSnapshot, namespace?: string): readonly Service[] =>
  itemsOf(snapshot.services)
    .filter((service) => namespace === undefined || refOf(service).namespace === namespace)
    .sort((a, b) => byText(keyOf(a), keyOf(b)));

/** Slices by the full name of the Service that their label names, each list in name order. */
export const slicesByService = (slices: readonly EndpointSlice[]): ReadonlyMap<string, readonly EndpointSlice[]> => {
  const found = Map.groupBy(slices, (slice) => serviceKeyOf(slice) ?? '');
  for (const list of found.values()) list.sort((a, b) => byText(nameOf(a), nameOf(b)));
  return found;
};

/** The control plane's version: as given, as the API server says, as the newest kubelet (never newer than it), else the newest known. */
export const controlPlaneVersion = (snapshot: ClusterSnapshot, given?: KubernetesVersion): KubernetesVersion => {
  const kubelets = itemsOf(snapshot.nodes).flatMap((node) => kubeletVersion(node) ?? []);
  return given ?? snapshot.version ?? kubelets.sort(compareVersions).at(-1) ?? NEWEST_KNOWN_VERSION;
};

/** addressType by which a Service is looked at: as its first family, as its cluster IP, else as its slices. */
export const firstFamilyOf = ({ spec }: Service, slices: readonly EndpointSlice[]): string => {
  const { ipFamilies = [], clusterIP = '' } = spec ?? {};
  if (ipFamilies[0] !== undefined) return ipFamilies[0];
  if (!['', 'None'].includes(clusterIP)) return clusterIP.includes(':') ? 'IPv6' : 'IPv4';
  const types = new Set(slices.map(({ addressType }) => addressType));
  return types.has('IPv6') && !types.has('IPv4') ? 'IPv6' : 'IPv4';
};

/**
 * addressTypes by which clients reach a Service, its first family first: each has its own cluster IP, its own slices and
 * its own rules in every proxy. At least one; where the Service does not say, those of its slices count too.
 */
export const familiesOf = (service: Service, slices: readonly EndpointSlice[]): readonly string[] => {
  const stated = service.spec?.ipFamilies ?? [];
  const found = slices.map(({ addressType = 'IPv4' }) => addressType).filter((type) => type !== 'FQDN');
  return [...new Set([firstFamilyOf(service, slices), ...(stated.length > 0 ? stated : found)])];
};

/** AKS, and Azure's driver of disks anywhere. */
const AZURE = /^(?:kubernetes\.azure\.com\/|topology\.disk\.csi\.azure\.com\/)/;

export const isAzure = ({ metadata, spec }: Node): boolean =>
  spec?.providerID?.startsWith('azure:') === true ||
  /^aks-\S+-(?:vmss\w{6}|\d+)$/.test(metadata?.name ?? '') ||
  Object.keys(metadata?.labels ?? {}).some((own) => AZURE.test(own));

/** Of EKS, GKE or AKS, whose control plane takes no feature gate. */
export const isManaged = ({ metadata, status }: Node): boolean =>
  /-(?:eks-|gke\.)/.test(status?.nodeInfo?.kubeletVersion ?? '') ||
  metadata?.labels?.['kubernetes.azure.com/cluster'] !== undefined;

/**
 * Azure gives Nodes of pools without zones the number of a fault domain as zone: they may be in any zone of the region, those of one
 * number in several (Azure/karpenter-provider-azure#1002).
 */
export const noZonesOf = (nodes: readonly Node[]): string[] =>
  [...new Set(nodes.filter(isAzure).map(zoneOfNode))].filter((zone) => /^\d+$/.test(zone)).sort(byText);

export type ReadyEndpoint = ReturnType<typeof readyEndpoint>;

const readyEndpoint = (
  { addresses: [address = ''], zone = '', nodeName = '', hints }: Endpoint,
  slice: EndpointSlice,
) => ({ address, zone, nodeName, forZones: (hints?.forZones ?? []).map(({ name }) => name), slice });

/** Ready endpoints as proxies read them, each address once. */
export const readyEndpoints = (slices: readonly EndpointSlice[], family: string): readonly ReadyEndpoint[] => {
  const first = new Map<string, ReadyEndpoint>();
  for (const slice of slices.filter(({ addressType = 'IPv4' }) => addressType === family))
    for (const endpoint of slice.endpoints ?? [])
      if (isEndpointReady(endpoint) && !first.has(endpoint.addresses[0] ?? ''))
        first.set(endpoint.addresses[0] ?? '', readyEndpoint(endpoint, slice));
  return [...first.values()].sort((a, b) => byText(a.address, b.address));
};

/** Fewest insertions, deletions, replacements and swaps of neighbours that turn one text into the other. */
export const editDistance = (left: string, right: string): number => {
  let before: number[] = [];
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const [above = 0, beside = 0, corner = 0] = [previous[column], current[column - 1], previous[column - 1]];
      let best = Math.min(above + 1, beside + 1, corner + (left[row - 1] === right[column - 1] ? 0 : 1));
      const swapped =
        row > 1 && column > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      if (swapped) best = Math.min(best, (before[column - 2] ?? 0) + 1);
      current.push(best);
    }
    [before, previous] = [previous, current];
  }
  return previous[right.length] ?? 0;
};

/** The nearest of the candidates; undefined where none is near enough to be meant. Ties go to the first in text order. */
export const nearest = (wanted: string, candidates: readonly string[]): string | undefined => {
  let best: string | undefined;
  let least = Math.max(2, Math.floor(wanted.length / 3));
  for (const candidate of [...candidates].sort()) {
    const distance = editDistance(wanted.toLowerCase(), candidate.toLowerCase());
    if (distance < least || (distance === least && best === undefined)) [best, least] = [candidate, distance];
  }
  return best ?? candidates.find((candidate) => wanted !== '' && candidate.startsWith(wanted));
};

export type Taint = Partial<Record<'key' | 'value' | 'effect', string>>;

export const taintText = ({ key = '', effect = '' }: Taint): string => `${key}:${effect}`;

/** A taint of the Node that keeps the Pods away. */
const untolerated = ({ spec }: Node, { tolerations = [] }: Workload): Taint | undefined =>
  ((spec?.taints ?? []) as readonly Taint[]).find(
    ({ key = '', value = '', effect = '' }) =>
      (effect === 'NoSchedule' || effect === 'NoExecute') &&
      !tolerations.some(
        (own) =>
          (own.effect === '' || own.effect === effect) &&
          (own.operator === 'Exists' ? own.key === '' || own.key === key : own.key === key && own.value === value),
      ),
  );

/** Why no Pod of the workload may run on the Node; undefined where nothing bars it. */
export const barrier = (node: Node, workload: Workload): string | undefined => {
  if (node.spec?.unschedulable === true) return 'cordoned';
  const { type = '' } = node.metadata?.labels ?? {};
  const taint = untolerated(node, workload);
  if (taint === undefined) return undefined;
  if (type === 'virtual-kubelet') return 'a virtual kubelet, whose taint the Pods do not tolerate';
  if (computeTypeOf(node) === 'fargate') return 'Fargate, which runs Pods of its own profile only';
  return `taint ${taintText(taint)}, which the Pods do not tolerate`;
};
