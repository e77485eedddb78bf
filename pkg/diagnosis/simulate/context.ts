// Works out once what all modes of one simulation share: the objects after the what-ifs, clients, demand, capacity, prices.
import { type EndpointSlice, type Node, type Service, isNodeReady, zoneOfNode } from '../../apis/core.ts';
import { byText, countBy, defined, keyOf } from '../../apis/values.ts';
import { LABEL_PROXY_NAME } from '../../apis/names.ts';
import type { Demand } from '../../flow/types.ts';
import { zoneWeights } from '../../flow/evaluate.ts';
import { atLeast } from '../../routing/version.ts';
import { isControlPlane, zoneShares } from '../../upstream/index.ts';
import { controlPlaneVersion, firstFamilyOf, noZonesOf, serviceKeyOfRef, slicesByService } from '../models/lookup.ts';
import { groupNodes } from '../models/routes.ts';
import { tariffOf } from '../prices.ts';
import { routersOf } from '../routers/routers.ts';
import { type ClusterSnapshot, type FlowPolicySummary, type PodSummary, itemsOf } from '../snapshot.ts';
import { type Frame, type Limit, readyForProxies } from './verdict.ts';
import { DEFAULT_OVERLOAD, DEFAULT_TARGET, type SimulateOptions } from './types.ts';
import { changeReplicas, hintFor, refuse } from '../models/what-if.ts';

/** Ready Nodes that run workloads; those of a dedicated control plane only where there are no others. */
export const clientNodes = (nodes: readonly Node[]): readonly Node[] => {
  const ready = nodes.filter(isNodeReady);
  const workers = ready.filter((node) => !isControlPlane(node));
  return workers.length > 0 ? workers : ready;
};

interface Weighed {
  /** `demand`: cores, as given; `flowPolicy`: cores, as observed; `weights`: as given. */
  readonly source: 'demand' | 'flowPolicy' | 'weights' | 'cpu' | 'nodes';
  /** What was asked for and could not be had, one sentence; empty if nothing. */
  readonly note: string;
  /** By zone, in any unit; the empty name is for Nodes without zone. */
  readonly weights: Demand;
}

const givenWeights = (clients: readonly Node[], source: 'demand' | 'weights', weights: Demand): Weighed => {
  const zones = new Set(clients.map(zoneOfNode));
  const stranger = Object.entries(weights).find(([zone, weight]) => weight > 0 && !zones.has(zone));
  if (stranger !== undefined) {
    const [zone] = stranger;
    refuse('UnknownZone', `${source}: no ready Node is in zone "${zone}"${hintFor(zone, [...zones])}`);
  }
  if (Object.values(weights).every((weight) => weight === 0)) refuse('NoDemand', `${source}: 0 in every zone`);
  return { source, note: '', weights };
};

const byNodes = (clients: readonly Node[], note = ''): Weighed => ({
  source: 'nodes',
  note,
  weights: Object.fromEntries(countBy(clients, zoneOfNode)),
});

const byCpu = (nodes: readonly Node[], clients: readonly Node[]): Weighed => {
  const found = zoneWeights({ nodes, by: 'cpu' });
  if (found.kind === 'known') return { source: 'cpu', note: '', weights: found.weights };
  // One zone weighs as much as all of itself by any measure.
  const isOne = new Set(clients.map(zoneOfNode)).size < 2;
  const note = `The CPU of each zone is not known (${found.message}), so Nodes are counted instead.`;
  return byNodes(clients, isOne ? '' : note);
};

/** What was observed in zones that have Nodes now; undefined if that is nothing. */
const observedNow = (clients: readonly Node[], observed: Demand = {}): Weighed | undefined => {
  const zones = new Set(clients.map(zoneOfNode));
  const there = Object.entries(observed).filter(([zone]) => zones.has(zone));
  if (there.every(([, cores]) => cores === 0)) return undefined;
  return { source: 'flowPolicy', note: '', weights: Object.fromEntries(there) };
};

/** `observed`: in cores. Throws a SimulationError for demand in a zone without Nodes: its clients could not be anywhere. */
export const weigh = (
  nodes: readonly Node[],
  { weights, demand, observed }: Pick<SimulateOptions, 'weights' | 'demand'> & { readonly observed?: Demand },
): Weighed => {
  const clients = clientNodes(nodes);
  if (clients.length === 0) refuse('NoNodes', 'no ready Node is known, so no prediction is possible');
  if (demand !== undefined) return givenWeights(clients, 'demand', demand);
  if (weights === undefined) return observedNow(clients, observed) ?? byCpu(nodes, clients);
  if (weights === 'cpu') return byCpu(nodes, clients);
  return weights === 'nodes' ? byNodes(clients) : givenWeights(clients, 'weights', weights);
};

export const demandReport = (weighed: Weighed, clients: readonly Node[], endpoints: ReadonlyMap<string, number>) => {
  const { source, note, weights } = weighed;
  const nodes = countBy(clients, zoneOfNode);
  const inCores = source === 'demand' || source === 'flowPolicy';
  const cores = new Map(Object.entries(weights));
  const total = [...nodes.keys()].reduce((sum, zone) => sum + (cores.get(zone) ?? 0), 0);
  const zones = [...new Set([...nodes.keys(), ...endpoints.keys()])].sort(byText).map((zone) => {
    const own = nodes.has(zone) ? (cores.get(zone) ?? 0) : 0;
    return [
      zone,
      {
        /** Fraction of all demand. */
        share: total === 0 ? 0 : own / total,
        cores: inCores ? own : null,
        /** Ready ones with clients. */
        nodes: nodes.get(zone) ?? 0,
        endpoints: endpoints.get(zone) ?? 0,
      },
    ] as const;
  });
  return { source, note, cores: inCores ? total : null, zones: Object.fromEntries(zones) };
};

interface CapacityInput {
  /** Of the ready endpoints. */
  readonly addresses: ReadonlySet<string>;
  readonly slices: readonly EndpointSlice[];
  readonly pods: readonly PodSummary[];
  /** Cores of each. */
  readonly given: number | undefined;
  /** Of the policy that the demand comes from. */
  readonly policy?: FlowPolicySummary | undefined;
}

/** In cores by address of every ready endpoint; null where nothing is given and the Pod of one is not known or requests no CPU. */
export const capacityOf = ({ addresses, slices, pods, given, policy }: CapacityInput) => {
  const each = (cores: number) => new Map([...addresses].map((own) => [own, cores]));
  if (given !== undefined) return { source: 'given', byAddress: each(given) } as const;
  if (policy?.capacity !== undefined) return { source: 'flowPolicy', byAddress: each(policy.capacity) } as const;
  // A snapshot has requests of Pods, no limits.
  if (policy !== undefined && policy.capacityFrom !== 'Requests') return null;
  const requests = new Map(pods.map((pod) => [`${pod.namespace}/${pod.name}`, pod.requestMilliCpu ?? 0]));
  const byAddress = new Map<string, number>();
  for (const { metadata, endpoints } of slices) {
    for (const { addresses: own, targetRef } of endpoints ?? []) {
      const milli = requests.get(`${metadata?.namespace ?? 'default'}/${targetRef?.name ?? ''}`) ?? 0;
      const address = own[0] ?? '';
      if (milli > 0 && addresses.has(address)) byAddress.set(address, milli / 1_000);
    }
  }
  return byAddress.size === addresses.size ? ({ source: 'requests', byAddress } as const) : null;
};

/** First minor of kube-proxy that uses hints without annotation. */
const NO_ANNOTATION_SINCE = 31;

const checkKind = ({ spec, metadata }: Service, name: string): void => {
  if (spec?.type === 'ExternalName')
    refuse('ExternalName', `Service ${name} is an ExternalName: it has no endpoints to route to`);
  if (spec?.clusterIP === 'None')
    refuse('Headless', `Service ${name} is headless: its clients choose by DNS, and no proxy looks at hints`);
  if (metadata?.labels?.[LABEL_PROXY_NAME] !== undefined)
    refuse('NotProxied', `Service ${name} has the label ${LABEL_PROXY_NAME}: no proxy of the cluster routes it`);
};

export const prepare = (snapshot: ClusterSnapshot, service: Service, options: SimulateOptions) => {
  const name = keyOf(service);
  checkKind(service, name);
  const stored = slicesByService(itemsOf(snapshot.slices)).get(name) ?? [];
  const family = options.family ?? firstFamilyOf(service, stored);
  const port = options.port ?? service.spec?.ports?.[0]?.name ?? '';
  const { replicas, gigabytesPerDay, prices } = options;
  const nodes = itemsOf(snapshot.nodes);
  const clients = clientNodes(nodes);
  const counted = { service, slices: stored, nodes: clients, family, port };
  const changed = replicas === undefined ? undefined : changeReplicas({ ...counted, replicas });
  const slices = changed?.slices ?? stored;
  const policy = itemsOf(snapshot.flowPolicies).find((own) => serviceKeyOfRef(own) === name);
  const weighed = weigh(nodes, { ...options, ...defined({ observed: policy?.demand }) });
  const observing = weighed.source === 'flowPolicy' ? policy : undefined;
  const given = observing === undefined ? options.demand : weighed.weights;
  const ready = readyForProxies(slices, { family, port });
  const forPort = port === '' ? '' : ` for port ${port}`;
  if (ready.length === 0) refuse('NoReadyEndpoints', `Service ${name} has no ready ${family} endpoint${forPort}`);
  const unzoned = `no ready ${family} endpoint of Service ${name} has a zone`;
  if (ready.every(({ zone }) => zone === '')) refuse('EndpointWithoutZone', `${unzoned}, so no prediction is possible`);
  const addresses = new Set(ready.map(({ address }) => address));
  const ofAll = { addresses, slices, pods: itemsOf(snapshot.pods), given: options.capacity, policy: observing };
  const capacity = given === undefined ? null : capacityOf(ofAll);
  const version = controlPlaneVersion(snapshot, options.version);
  const none = noZonesOf(clients);
  const anywhere = `Nodes of zone ${none.join(', ')} may be in any zone of the region`;
  if (none.length > 0) refuse('ZoneIsNone', `${anywhere}, so no prediction is possible`);
  const routers = routersOf(snapshot, options);
  if (clients.every((node) => routers.of(node).routing.proxy.kind === 'unknown'))
    refuse('RouterUnknown', 'the data plane is not known on any Node with clients: name it with --proxy');
  const zonesOfReady = countBy(ready, ({ zone }) => zone);
  const demand = demandReport(weighed, clients, zonesOfReady);
  const { maxOverload = DEFAULT_OVERLOAD } = options;
  const { targetUtilization = observing?.targetUtilization ?? DEFAULT_TARGET } = options;
  const limit: Limit =
    capacity === null ? { of: 'fair share', most: 1 + maxOverload } : { of: 'capacity', most: targetUtilization };
  const frame: Frame = {
    groups: groupNodes(clients, (node) => routers.keyOf(node)),
    family,
    port,
    routing: (node) => routers.of(node).routing,
    gates: options.gates,
    weights: weighed.weights,
    cores: demand.cores,
    capacity: capacity?.byAddress ?? null,
    bill: gigabytesPerDay === undefined ? null : { tariff: tariffOf(prices, nodes), gigabytesPerDay },
  };
  return {
    service,
    slices,
    shares: zoneShares(nodes),
    version,
    oldProxies: clients.some((node) => {
      const { router, routing } = routers.of(node);
      return router === 'kube-proxy' && !atLeast(routing.version, NO_ANNOTATION_SINCE);
    }),
    routers,
    ready,
    whatIf: changed === undefined ? null : { replicas: changed.changes },
    demand,
    /** In cores, where it was given or observed. */
    given,
    /** By which `proportional` plans. */
    planWeights: weigh(nodes, defined({ weights: options.weights })).weights,
    capacity,
    targetUtilization,
    maxOverload,
    limit,
    frame,
  };
};

export type Context = ReturnType<typeof prepare>;
