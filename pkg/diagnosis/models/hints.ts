// What the control plane, and admission after it, would store as hints: the report of `kubectl topology hints`.
import type { Endpoint, EndpointSlice, Service } from '../../apis/core.ts';
import { byText, keyOf, refOf } from '../../apis/values.ts';
import { decideHints } from '../../hints/decide.ts';
import { strategyOf } from '../../hints/table.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import { atLeast } from '../../routing/version.ts';
import { withHints } from '../../upstream/controller/allocation.ts';
import { type FeatureGates, type StoredHints, type ZoneShares, storedHints, zoneShares } from '../../upstream/index.ts';
import { type ClusterSnapshot, itemsOf } from '../snapshot.ts';
import { controlPlaneVersion, firstFamilyOf, slicesByService } from './lookup.ts';

export type HintSource = 'topology-mode' | 'trafficDistribution' | 'webhook' | 'none';

interface HintsOptions {
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
  const changed = new Map(
    decision.operations.map((operation) => [
      Number(HINTS_PATH.exec(operation.path)?.[1]),
      operation.op === 'remove' ? undefined : (operation.value as NonNullable<Endpoint['hints']>),
    ]),
  );
  const endpoints = (written.endpoints ?? []).map((endpoint, index) =>
    changed.has(index) ? withHints(endpoint, changed.get(index)) : endpoint,
  );
  return { ...written, endpoints };
};

const sourceOf = ({ mode }: StoredHints): HintSource => {
  if (mode === 'proportional') return 'topology-mode';
  return mode === 'none' ? 'none' : 'trafficDistribution';
};

/** What will be stored for one Service, by family; one without slices counts as having an empty one. */
export const finalHints = (
  service: Service,
  slices: readonly EndpointSlice[],
  { shares, version, gates = {}, webhook = true }: HintsOptions & { shares: ZoneShares; version: KubernetesVersion },
): FinalHints[] => {
  const empty = { metadata: { name: '' }, endpoints: [], ports: [], addressType: firstFamilyOf(service, []) };
  const input = slices.length === 0 ? [empty] : slices;
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

const endpointReport = ({ addresses, zone = '', conditions, hints }: Endpoint) => {
  const [forZones, forNodes] = [namesOf(hints?.forZones), namesOf(hints?.forNodes)];
  return {
    address: addresses[0] ?? '',
    /** Empty where it has none. */
    zone,
    /** As the control plane reads it: only where the slice says so. */
    ready: conditions?.ready === true,
    hints: forZones.length + forNodes.length === 0 ? null : { forZones, forNodes },
  };
};

const hintsByZone = ({ shares, zones }: FinalHints, endpoints: readonly ReturnType<typeof endpointReport>[]) => {
  const ratios = shares.kind === 'known' ? shares.ratios : undefined;
  const hinted = endpoints.flatMap(({ ready, hints }) => (ready ? (hints?.forZones ?? []) : []));
  const names = new Set([...(ratios?.keys() ?? []), ...hinted, ...endpoints.map(({ zone }) => zone)]);
  names.delete('');
  const rows = [...names].sort(byText).map((zone) => {
    const { minimum = null, desired = null, maximum = null } = zones?.get(zone) ?? {};
    /** Share of the CPU of all counted Nodes, 0..1; null where it is not known. */
    const cpuShare = ratios === undefined ? null : (ratios.get(zone) ?? 0);
    const count = hinted.filter((each) => each === zone).length;
    // The endpoints that the CPU heuristic allocates to the zone, null where it allocates none; and how many ready ones are hinted.
    return [zone, { cpuShare, minimum, desired, maximum, hinted: count }] as const;
  });
  return Object.fromEntries(rows);
};

const reportOf = (service: Service, family: FinalHints) => {
  const endpoints = family.slices
    .flatMap((slice) => slice.endpoints ?? [])
    .map(endpointReport)
    .sort((a, b) => byText(a.address, b.address) || byText(a.zone, b.zone));
  return {
    ...refOf(service),
    addressType: family.family,
    /** Who decides about hints; not whether there are any. */
    source: family.source,
    zones: hintsByZone(family, endpoints),
    /** In the order of their addresses. */
    endpoints,
    events: family.events,
  };
};

/** Of these Services in their order, families in name order. */
export const hintsReport = (snapshot: ClusterSnapshot, options: HintsOptions, services: readonly Service[]) => {
  const version = controlPlaneVersion(snapshot, options.version);
  const settings = { ...options, version, shares: zoneShares(itemsOf(snapshot.nodes)) };
  const slices = slicesByService(itemsOf(snapshot.slices));
  const hintsOf = (service: Service) => finalHints(service, slices.get(keyOf(service)) ?? [], settings);
  return { services: services.flatMap((service) => hintsOf(service).map((own) => reportOf(service, own))) };
};

export type HintsReport = ReturnType<typeof hintsReport>;
export type ServiceHints = HintsReport['services'][number];
