// SPDX-License-Identifier: Apache-2.0
// Works out once what causes of one Service are looked for in.
import type { EndpointSlice, Node, Service } from '../../apis/core.ts';
import type { StringMap } from '../../apis/meta.ts';
import { strategyOf } from '../../hints/table.ts';
import { hintRequest, zoneShares } from '../../upstream/index.ts';
import type { ZoneShares } from '../../upstream/index.ts';
import { finalHints } from '../models/hints.ts';
import {
  byText,
  controlPlaneVersion,
  familyOf,
  isNodeReady,
  keyOf,
  refOf,
  slicesByService,
  zoneOfNode,
} from '../models/lookup.ts';
import { routesOf } from '../models/routes.ts';
import { itemsOf } from '../snapshot.ts';
import type { Autoscaler, ClusterSnapshot, PodSummary, Workload } from '../snapshot.ts';
import type { ExplainOptions, Facts, ReadyEndpoint } from './types.ts';

const CONTROL_PLANE = ['node-role.kubernetes.io/control-plane', 'node-role.kubernetes.io/master'];

export const isControlPlane = ({ metadata }: Node): boolean =>
  CONTROL_PLANE.some((label) => Object.hasOwn(metadata?.labels ?? {}, label));

/** Ready endpoints as proxies read them, each address once. */
export const readyEndpoints = (slices: readonly EndpointSlice[], family: string): ReadyEndpoint[] => {
  const found = new Map<string, ReadyEndpoint>();
  for (const slice of slices) {
    if ((slice.addressType ?? 'IPv4') !== family) continue;
    for (const { addresses, zone = '', nodeName = '', conditions, hints } of slice.endpoints ?? []) {
      const address = addresses[0];
      if (address === undefined || conditions?.ready === false || found.has(address)) continue;
      const forZones = (hints?.forZones ?? []).map(({ name }) => name);
      found.set(address, { address, zone, nodeName, forZones, slice });
    }
  }
  return [...found.values()].sort((a, b) => byText(a.address, b.address));
};

/** What many explanations of one snapshot share. */
export interface SnapshotIndex {
  readonly slices: ReadonlyMap<string, readonly EndpointSlice[]>;
  readonly shares: ZoneShares;
  readonly readyNodes: readonly Node[];
  /** By namespace. */
  readonly pods: ReadonlyMap<string, readonly PodSummary[]>;
  readonly workloads: ReadonlyMap<string, readonly Workload[]>;
  readonly autoscalers: ReadonlyMap<string, readonly Autoscaler[]>;
}

const byNamespace = <T extends { readonly namespace: string }>(
  items: readonly T[],
): ReadonlyMap<string, readonly T[]> => Map.groupBy(items, ({ namespace }) => namespace);

export const indexSnapshot = (snapshot: ClusterSnapshot): SnapshotIndex => ({
  slices: slicesByService(itemsOf(snapshot.slices)),
  shares: zoneShares(itemsOf(snapshot.nodes)),
  readyNodes: itemsOf(snapshot.nodes).filter(isNodeReady),
  pods: byNamespace(itemsOf(snapshot.pods)),
  workloads: byNamespace(itemsOf(snapshot.workloads)),
  autoscalers: byNamespace(itemsOf(snapshot.autoscalers)),
});

const matches = (labels: StringMap, selector: StringMap): boolean =>
  Object.entries(selector).every(([key, value]) => labels[key] === value);

interface Owners {
  readonly pods: readonly PodSummary[];
  readonly workloads: readonly Workload[];
}

const ownersOf = (index: SnapshotIndex, service: Service): Owners => {
  const selector = service.spec?.selector ?? {};
  const { namespace } = refOf(service);
  if (Object.keys(selector).length === 0) return { pods: [], workloads: [] };
  return {
    pods: (index.pods.get(namespace) ?? []).filter((pod) => matches(pod.labels, selector)),
    workloads: (index.workloads.get(namespace) ?? []).filter((workload) => matches(workload.podLabels, selector)),
  };
};

/** Dedicated control planes have few clients, unless endpoints show that workloads run there. */
const clientZonesOf = (nodes: readonly Node[], endpoints: readonly ReadyEndpoint[]): string[] => {
  const workers = nodes.filter((node) => !isControlPlane(node));
  const zones = (workers.length > 0 ? workers : nodes).map(zoneOfNode);
  const there = new Set(nodes.map(zoneOfNode));
  const shown = endpoints.map(({ zone }) => zone).filter((zone) => there.has(zone));
  return [...new Set([...zones, ...shown])].filter((zone) => zone !== '').sort(byText);
};

/** Labels that slices of the Service have in the end: the controller gives them those of the Service. */
const labelsOf = (service: Service, slices: readonly EndpointSlice[]): Readonly<Record<string, string>> => {
  const managed = Object.keys(service.spec?.selector ?? {}).length > 0;
  const own = slices.map(({ metadata }) => metadata?.labels ?? {}).find((labels) => strategyOf(labels) !== undefined);
  return { ...own, ...(managed ? service.metadata?.labels : {}) };
};

export const gatherFacts = (
  snapshot: ClusterSnapshot,
  service: Service,
  options: ExplainOptions,
  index: SnapshotIndex,
): Facts => {
  const ref = refOf(service);
  const { shares, readyNodes: nodes } = index;
  const slices = index.slices.get(keyOf(ref)) ?? [];
  const version = controlPlaneVersion(snapshot, options.version);
  const gates = options.gates === undefined ? {} : { gates: options.gates };
  const family = familyOf(service, slices);
  const endpoints = readyEndpoints(slices, family);
  const owners = ownersOf(index, service);
  return {
    snapshot,
    index,
    options,
    service,
    ref,
    name: keyOf(ref),
    slices,
    version,
    shares,
    request: hintRequest(service, version, options.gates),
    strategy: strategyOf(labelsOf(service, slices)),
    expected: finalHints(service, slices, { shares, version, ...gates }),
    routes: routesOf({
      service,
      slices,
      nodes,
      family,
      proxy: options.proxy,
      fallback: version,
      ...gates,
      ...(options.version === undefined ? {} : { version: options.version }),
    }),
    nodes,
    clientZones: clientZonesOf(nodes, endpoints),
    family,
    endpoints,
    ...owners,
    autoscalers: (index.autoscalers.get(ref.namespace) ?? []).filter(
      ({ targetKind, targetName, off }) =>
        !off && owners.workloads.some(({ kind, name }) => kind === targetKind && name === targetName),
    ),
  };
};
