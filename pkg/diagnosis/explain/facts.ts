// Works out once what causes of one Service are looked for in.
import { isEndpointReady, isNodeReady, zoneOfNode } from '../../apis/core.ts';
import type { Endpoint, EndpointSlice, Node, Service } from '../../apis/core.ts';
import { byText, defined } from '../../apis/values.ts';
import type { StringMap } from '../../apis/meta.ts';
import { NOWHERE } from '../../apis/names.ts';
import { zoneWeights } from '../../flow/evaluate.ts';
import { HINT_STRATEGIES, type HintStrategy, strategyOf } from '../../hints/table.ts';
import { effectiveStrategy } from '../../routing/strategy.ts';
import { matchesSelector } from '../../routing/types.ts';
import { isControlPlane, wishOf, zoneShares } from '../../upstream/index.ts';
import { bypassIndex, bypassesOf } from '../bypasses/find.ts';
import { type FinalHints, finalHints } from '../models/hints.ts';
import {
  type ReadyEndpoint,
  controlPlaneVersion,
  familiesOf,
  readyEndpoints,
  serviceKeyOfRef,
  serviceRefOf,
  slicesByService,
} from '../models/lookup.ts';
import { type GroupRoutesInput, groupNodes, groupRoutesOf } from '../models/routes.ts';
import { routersOf } from '../routers/routers.ts';
import type { Stated } from '../routers/types.ts';
import { type ClusterSnapshot, itemsOf } from '../snapshot.ts';
import type { ExplainOptions } from './types.ts';

const byNamespace = <T extends { readonly namespace: string }>(
  items: readonly T[],
): ReadonlyMap<string, readonly T[]> => Map.groupBy(items, ({ namespace }) => namespace);

/** What many explanations of one snapshot share. `stated`: what counts more than objects. */
export const indexSnapshot = (snapshot: ClusterSnapshot, stated: Stated = {}) => {
  const readyNodes = itemsOf(snapshot.nodes).filter(isNodeReady);
  const routers = routersOf(snapshot, stated);
  const weights = zoneWeights({ nodes: itemsOf(snapshot.nodes), by: 'cpu' });
  return {
    slices: slicesByService(itemsOf(snapshot.slices)),
    shares: zoneShares(itemsOf(snapshot.nodes)),
    readyNodes,
    groups: groupNodes(readyNodes, (node) => routers.keyOf(node)),
    routers,
    bypasses: bypassIndex(snapshot),
    // How clients are spread over the zones: by the CPU of their Nodes; undefined: alike on every Node, where that is not known.
    weights: weights.kind === 'known' ? weights.weights : undefined,
    zones: new Set(readyNodes.map(zoneOfNode)),
    workerZones: new Set(readyNodes.filter((node) => !isControlPlane(node)).map(zoneOfNode)),
    version: controlPlaneVersion(snapshot, undefined),
    pods: byNamespace(itemsOf(snapshot.pods)),
    workloads: byNamespace(itemsOf(snapshot.workloads)),
    autoscalers: byNamespace(itemsOf(snapshot.autoscalers)),
  };
};

export type SnapshotIndex = ReturnType<typeof indexSnapshot>;

const ownersOf = (index: SnapshotIndex, service: Service) => {
  const { selector = {} } = service.spec ?? {};
  const { namespace } = serviceRefOf(service);
  if (Object.keys(selector).length === 0) return { pods: [], workloads: [] };
  const selects = (labels: StringMap): boolean => matchesSelector({ matchLabels: selector }, labels);
  return {
    pods: (index.pods.get(namespace) ?? []).filter(({ labels }) => selects(labels)),
    workloads: (index.workloads.get(namespace) ?? []).filter(({ podLabels }) => selects(podLabels)),
  };
};

/** Dedicated control planes have few clients, unless endpoints show that workloads run there. */
const clientZonesOf = ({ zones, workerZones }: SnapshotIndex, endpoints: readonly ReadyEndpoint[]): string[] => {
  const shown = endpoints.map(({ zone }) => zone).filter((zone) => zones.has(zone));
  return [...new Set([...(workerZones.size > 0 ? workerZones : zones), ...shown])]
    .filter((zone) => zone !== '')
    .sort(byText);
};

/** Labels that slices of the Service have in the end: the controller gives them those of the Service. */
export const labelsOf = (service: Service, slices: readonly EndpointSlice[]): Readonly<Record<string, string>> => {
  const managed = Object.keys(service.spec?.selector ?? {}).length > 0;
  const own = slices.map(({ metadata }) => metadata?.labels ?? {}).find((labels) => strategyOf(labels) !== undefined);
  return { ...own, ...(managed ? service.metadata?.labels : {}) };
};

/** Labels decide where they ask; the flow controller follows the annotation, with a label or (observing) without. */
const plannedOf = (service: Service, strategy: HintStrategy | undefined): HintStrategy | undefined => {
  const asked = strategy ?? HINT_STRATEGIES.find(({ name }) => name === effectiveStrategy(service));
  return asked?.planned === true ? asked : undefined;
};

export type FamilyFacts = ReturnType<typeof familyFacts>[number];

/** Routes of every family, group of Nodes and port, from slices as they are or as they should be. */
const routesOfFamilies = (families: readonly FamilyFacts[], input: Omit<GroupRoutesInput, 'family' | 'port'>) =>
  families.flatMap(({ family }) => groupRoutesOf({ ...input, family }).map((route) => ({ ...route, family })));

/** What clients of one address family find: a cluster IP, slices and rules of its own; its first one first, at least one. */
const familyFacts = (service: Service, slices: readonly EndpointSlice[]) => {
  const families = familiesOf(service, slices);
  return families.map((family) => ({
    family,
    /** ` IPv6` where the Service has more than one, to go before a noun; else empty. */
    label: families.length > 1 ? ` ${family}` : '',
    endpoints: readyEndpoints(slices, family),
  }));
};

/**
 * Slices as they should be: what would be stored now where that is complete, else each ready endpoint for its own zone. So
 * causes behind a missing hint show at once, and not only after it is fixed.
 */
const idealSlices = (slices: readonly EndpointSlice[], expected: readonly FinalHints[]): readonly EndpointSlice[] => {
  const complete = expected.filter(({ slices: own }) =>
    own.every(({ endpoints }) =>
      (endpoints ?? []).every(
        ({ conditions, hints }) => conditions?.ready === false || (hints?.forZones ?? []).length > 0,
      ),
    ),
  );
  const done = new Map(complete.flatMap((family) => family.slices).map((slice) => [slice.metadata?.name, slice]));
  return slices.map(
    (slice) =>
      done.get(slice.metadata?.name) ?? {
        ...slice,
        endpoints: (slice.endpoints ?? []).map((endpoint) =>
          (endpoint.hints?.forZones ?? []).length > 0 || (endpoint.zone ?? '') === ''
            ? endpoint
            : {
                ...endpoint,
                hints: {
                  ...endpoint.hints,
                  forZones: [{ name: isEndpointReady(endpoint) ? (endpoint.zone ?? '') : NOWHERE }],
                },
              },
        ),
      },
  );
};

export type FamilyRoute = ReturnType<typeof routesOfFamilies>[number];

/**
 * Azure gives Nodes of pools without zones the number of a fault domain as zone: they may be in any zone of the region, those of one
 * number in several (Azure/karpenter-provider-azure#1002).
 */
const isNoZone = (node: Node): boolean =>
  /^\d+$/.test(zoneOfNode(node)) && node.metadata?.labels?.['kubernetes.azure.com/cluster'] !== undefined;

/** Zones by name that are none. */
export const noZonesOf = (nodes: readonly Node[]): string[] =>
  [...new Set(nodes.filter(isNoZone).map(zoneOfNode))].sort(byText);

/** Published as ready by `publishNotReadyAddresses` while their Pods are not (kubernetes/kubernetes#124914). */
const isPublishedOnly = ({ conditions }: Endpoint): boolean =>
  conditions?.ready === true && conditions.serving === false;

/** Everything that causes are looked for in, worked out once. */
export const gatherFacts = (
  snapshot: ClusterSnapshot,
  service: Service,
  options: ExplainOptions,
  index: SnapshotIndex,
) => {
  const ref = serviceRefOf(service);
  const { shares, readyNodes: nodes } = index;
  const slices = index.slices.get(serviceKeyOfRef(ref)) ?? [];
  const version = options.version ?? index.version;
  const gates = defined({ gates: options.gates });
  const families = familyFacts(service, slices);
  const endpoints = families.flatMap((family) => family.endpoints);
  const owners = ownersOf(index, service);
  const expected = finalHints(service, slices, { shares, version, ...gates });
  const routing = { service, groups: index.groups, routing: (node: Node) => index.routers.of(node).routing };
  const routes = routesOfFamilies(families, { ...routing, slices });
  const ideal = idealSlices(slices, expected);
  const strategy = strategyOf(labelsOf(service, slices));
  const planned = plannedOf(service, strategy);
  const policy = itemsOf(snapshot.flowPolicies).find((each) => serviceKeyOfRef(each) === serviceKeyOfRef(ref));
  const isSame = ideal.every((slice, at) => slice === slices[at]);
  return {
    snapshot,
    index,
    options,
    service,
    ref,
    name: serviceKeyOfRef(ref),
    /** As stored, of any family. */
    slices,
    version,
    shares,
    wish: wishOf(service, version, options.gates),
    /** That labels ask for. */
    strategy,
    /** Whose hints the flow controller plans, that labels or the annotation ask for. */
    planned,
    /** What the FlowPolicy of the Service says, where it asks for a plan; undefined: there is none, or it was not seen. */
    loop: planned === undefined ? undefined : policy?.loop,
    /** What would be stored now, by family. */
    expected,
    families,
    /** From the slices as stored. */
    routes,
    /** From slices as they should be: shows causes behind a missing hint. */
    idealRoutes: isSame ? routes : routesOfFamilies(families, { ...routing, slices: ideal }),
    /** All ready ones. */
    nodes,
    clientZones: clientZonesOf(index, endpoints),
    noZones: noZonesOf(nodes),
    notServing: slices.flatMap((slice) => (slice.endpoints ?? []).filter(isPublishedOnly)),
    endpoints,
    bypasses: bypassesOf(service, index.bypasses),
    ...owners,
    autoscalers: (index.autoscalers.get(ref.namespace) ?? []).filter(
      ({ targetKind, targetName, off }) =>
        !off && owners.workloads.some(({ kind, name }) => kind === targetKind && name === targetName),
    ),
  };
};

export type Facts = ReturnType<typeof gatherFacts>;
