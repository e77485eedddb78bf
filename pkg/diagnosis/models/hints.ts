// What the control plane, and admission after it, would store as hints: the report of `kubectl topology hints`.
import type { Endpoint, EndpointSlice, Service } from '../../apis/core.ts';
import { decideHints } from '../../hints/decide.ts';
import { strategyOf } from '../../hints/table.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import { atLeast } from '../../routing/version.ts';
import { storedHints, zoneShares } from '../../upstream/index.ts';
import type { ControllerEvent, FeatureGates, StoredHints, ZoneShares } from '../../upstream/index.ts';
import { type ClusterSnapshot, itemsOf } from '../snapshot.ts';
import {
  controlPlaneVersion,
  firstFamilyOf,
  serviceKeyOfRef,
  serviceRefOf,
  slicesByService,
  sortedServices,
} from './lookup.ts';
import { byText } from '../../apis/values.ts';

export type HintSource = 'topology-mode' | 'trafficDistribution' | 'webhook' | 'none';

export interface ZoneHints {
  /** Share of the CPU of all counted Nodes, 0..1; null where it is not known. */
  readonly cpuShare: number | null;
  /** Endpoints that the CPU heuristic allocates to the zone; null where it allocates none. */
  readonly minimum: number | null;
  readonly desired: number | null;
  readonly maximum: number | null;
  /** Ready endpoints hinted for the zone. */
  readonly hinted: number;
}

export interface EndpointReport {
  readonly address: string;
  /** Empty where it has none. */
  readonly zone: string;
  /** As the control plane reads it: only where the slice says so. */
  readonly ready: boolean;
  readonly hints: { readonly forZones: readonly string[]; readonly forNodes: readonly string[] } | null;
}

/** One Service and address family. */
export interface ServiceHints {
  readonly namespace: string;
  readonly name: string;
  readonly addressType: string;
  /** Who decides about hints; not whether there are any. */
  readonly source: HintSource;
  readonly zones: Readonly<Record<string, ZoneHints>>;
  /** In the order of their addresses. */
  readonly endpoints: readonly EndpointReport[];
  readonly events: readonly ControllerEvent[];
}

export interface HintsReport {
  readonly services: readonly ServiceHints[];
}

export interface HintsOptions {
  /** Of the control plane; default: from the snapshot, else the newest known. */
  readonly version?: KubernetesVersion;
  /** Of kube-controller-manager. */
  readonly gates?: FeatureGates;
  /** Slices whose labels name a strategy pass through the webhook; default true. */
  readonly webhook?: boolean;
}

/** One family's slices as stored in the end, and how they came about. */
export interface FinalHints extends StoredHints {
  readonly source: HintSource;
}

const CONTROLLER_USER = 'system:serviceaccount:kube-system:endpointslice-controller';
const FOR_NODES_SINCE = 33;
const NO_USERS: ReadonlySet<string> = new Set();
const HINTS_PATH = /^\/endpoints\/(\d+)\/hints$/;

const withoutHints = ({ hints: _, ...endpoint }: Endpoint): Endpoint => endpoint;

/** The slice as admission returns it when the controller writes it; undefined where no strategy asks for it. */
const admit = (
  written: EndpointSlice,
  stored: EndpointSlice | undefined,
  labels: Readonly<Record<string, string>>,
  version: KubernetesVersion,
): EndpointSlice | undefined => {
  if (strategyOf(labels) === undefined) return undefined;
  const decision = decideHints({
    object: { ...written, metadata: { ...written.metadata, labels } },
    oldObject: stored,
    userName: CONTROLLER_USER,
    flowControllerUsers: NO_USERS,
    plannerAlive: true,
    nodeHints: atLeast(version, FOR_NODES_SINCE),
  });
  if (decision.kind !== 'patch') return written;
  const endpoints = [...(written.endpoints ?? [])];
  for (const operation of decision.operations) {
    const index = Number(HINTS_PATH.exec(operation.path)?.[1]);
    const endpoint = endpoints[index];
    if (endpoint === undefined) continue;
    const bare = withoutHints(endpoint);
    endpoints[index] =
      operation.op === 'remove' ? bare : { ...bare, hints: operation.value as NonNullable<Endpoint['hints']> };
  }
  return { ...written, endpoints };
};

const sourceOf = ({ mode }: StoredHints): HintSource => {
  if (mode === 'proportional') return 'topology-mode';
  return mode === 'none' ? 'none' : 'trafficDistribution';
};

const EMPTY_SLICE = { metadata: { name: '' }, endpoints: [], ports: [] } as const;

/** What will be stored for one Service, by family; one without slices counts as having an empty one. */
export const finalHints = (
  service: Service,
  slices: readonly EndpointSlice[],
  { shares, version, gates = {}, webhook = true }: HintsOptions & { shares: ZoneShares; version: KubernetesVersion },
): FinalHints[] => {
  const placeholder: EndpointSlice = {
    ...EMPTY_SLICE,
    endpoints: [],
    ports: [],
    addressType: firstFamilyOf(service, []),
  };
  const input = slices.length === 0 ? [placeholder] : slices;
  const before = new Map(slices.map((slice) => [slice.metadata?.name, slice]));
  return storedHints({ service, slices: input, nodes: [], version, gates, shares }).map((family) => {
    let source = sourceOf(family);
    const after = family.slices.map((slice) => {
      // The controller gives its slices the Service's labels; others keep their own.
      const own = family.reason !== 'NotManaged' ? service.metadata?.labels : {};
      const labels = { ...slice.metadata?.labels, ...own };
      const admitted = webhook ? admit(slice, before.get(slice.metadata?.name), labels, version) : undefined;
      if (admitted !== undefined) source = 'webhook';
      return admitted ?? slice;
    });
    return { ...family, source, slices: after };
  });
};

const namesOf = (entries: readonly { name: string }[] | undefined): string[] => (entries ?? []).map(({ name }) => name);

const endpointReport = ({ addresses, zone = '', conditions, hints }: Endpoint): EndpointReport => {
  const [forZones, forNodes] = [namesOf(hints?.forZones), namesOf(hints?.forNodes)];
  return {
    address: addresses[0] ?? '',
    zone,
    ready: conditions?.ready === true,
    hints: forZones.length + forNodes.length === 0 ? null : { forZones, forNodes },
  };
};

const hintsByZone = (family: FinalHints, endpoints: readonly EndpointReport[]): Record<string, ZoneHints> => {
  const ratios = family.shares.kind === 'known' ? family.shares.ratios : undefined;
  const hinted = new Map<string, number>();
  for (const { ready, hints } of endpoints) {
    if (ready) for (const zone of hints?.forZones ?? []) hinted.set(zone, (hinted.get(zone) ?? 0) + 1);
  }
  const names = new Set([...(ratios?.keys() ?? []), ...hinted.keys(), ...endpoints.map(({ zone }) => zone)]);
  names.delete('');
  const rows = [...names].sort(byText).map((zone): [string, ZoneHints] => {
    const allocation = family.zones?.get(zone);
    return [
      zone,
      {
        cpuShare: ratios === undefined ? null : (ratios.get(zone) ?? 0),
        minimum: allocation?.minimum ?? null,
        desired: allocation?.desired ?? null,
        maximum: allocation?.maximum ?? null,
        hinted: hinted.get(zone) ?? 0,
      },
    ];
  });
  return Object.fromEntries(rows);
};

const reportOf = (service: Service, family: FinalHints): ServiceHints => {
  const endpoints = family.slices
    .flatMap((slice) => slice.endpoints ?? [])
    .map(endpointReport)
    .sort((a, b) => byText(a.address, b.address) || byText(a.zone, b.zone));
  const { namespace, name } = serviceRefOf(service);
  const { source, events } = family;
  return {
    namespace,
    name,
    addressType: family.family,
    source,
    zones: hintsByZone(family, endpoints),
    endpoints,
    events,
  };
};

/** Services in the order of their full names, families in name order. */
export const hintsReport = (
  snapshot: ClusterSnapshot,
  options: HintsOptions = {},
  only?: readonly Service[],
): HintsReport => {
  const shares = zoneShares(itemsOf(snapshot.nodes));
  const version = controlPlaneVersion(snapshot, options.version);
  const slices = slicesByService(itemsOf(snapshot.slices));
  const services = (only ?? sortedServices(snapshot)).flatMap((service) =>
    finalHints(service, slices.get(serviceKeyOfRef(serviceRefOf(service))) ?? [], { ...options, shares, version }).map(
      (family) => reportOf(service, family),
    ),
  );
  return { services };
};
