// Compares what the models say with what the control plane stores and kube-proxies choose.
import type { EndpointSlice, Event, Node, Service } from '../../pkg/apis/core.ts';
import { LABEL_SERVICE_NAME } from '../../pkg/apis/names.ts';
import { parseVersion } from '../../pkg/routing/version.ts';
import { EVENT_SOURCE, routeFor, type Route, type RouteInput } from '../../pkg/upstream/index.ts';
import type { Bed } from './bed/index.ts';
import { waitFor } from './bed/machine.ts';
import type { ClusterCase, ServiceCase, Update } from './model-cases.ts';
import { createCluster, describeProxy, removeCluster, serviceName, servicePort } from './model-cluster.ts';
import { readRules } from './proxy-rules.ts';
import type { FleetMember } from './model-cluster.ts';
import { type Finding, type Pod, differs, judgeController } from './model-controller.ts';

export interface Comparison {
  readonly bed: Bed;
  /** Version of the control plane, a folder of hack/kubernetes. */
  readonly version: string;
  readonly fleet: readonly FleetMember[];
  /** Nodes whose proxies are compared. Default: the whole fleet. */
  readonly judged?: readonly FleetMember[];
  /** The model of kube-proxy. Default: the one of pkg/upstream; a test of this comparison hands in a wrong one. */
  readonly route?: (input: RouteInput) => Route;
}

/** What the API holds about a cluster. */
interface Stored {
  readonly nodes: readonly Node[];
  readonly services: readonly Service[];
  readonly slices: ReadonlyMap<string, readonly EndpointSlice[]>;
  readonly pods: readonly Pod[];
  readonly events: readonly Event[];
}

const readStored = async ({ api }: Bed, namespace: string): Promise<Stored> => {
  const core = `/api/v1/namespaces/${namespace}`;
  const [nodes, services, slices, pods, events] = await Promise.all([
    api.list<Node>('/api/v1/nodes'),
    api.list<Service>(`${core}/services`),
    api.list<EndpointSlice>(`/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`),
    api.list<Pod>(`${core}/pods`),
    api.list<Event>(`${core}/events`),
  ]);
  const byService = new Map<string, EndpointSlice[]>();
  for (const slice of slices) {
    const name = slice.metadata?.labels?.[LABEL_SERVICE_NAME] ?? '';
    byService.set(name, [...(byService.get(name) ?? []), slice]);
  }
  return { nodes, services, slices: byService, pods, events };
};

const nameOf = ({ metadata }: { metadata?: { name?: string } }): string => metadata?.name ?? '';

const isSelected = ({ metadata }: Pod, { spec }: Service): boolean =>
  Object.entries(spec?.selector ?? {}).every(([key, value]) => metadata?.labels?.[key] === value);

/** Those of the controller. The API server reports on Services as well, e.g. when it repairs the allocation of an address. */
const eventsOf = ({ events }: Stored, service: Service): Event[] =>
  events.filter(
    ({ involvedObject, source }) => involvedObject.uid === service.metadata?.uid && source?.component === EVENT_SOURCE,
  );

/** Findings about the EndpointSlice controller, by Service. `before`: one change ago. */
const judgeControllers = (stored: Stored, version: string, before?: Stored): Map<string, Finding[]> =>
  new Map(
    stored.services.map((service) => {
      const managed = service.spec?.selector !== undefined;
      const name = nameOf(service);
      const facts = {
        service,
        slices: stored.slices.get(name) ?? [],
        nodes: stored.nodes,
        pods: stored.pods.filter((pod) => isSelected(pod, service)),
        events: eventsOf(stored, service),
        version: parseVersion(version),
        ...(before === undefined
          ? {}
          : { before: { slices: before.slices.get(name) ?? [], events: eventsOf(before, service) } }),
      };
      return [nameOf(service), managed && nameOf(service) !== 'marker' ? judgeController(facts) : []];
    }),
  );

/** Findings about one node's proxy, by Service. */
const judgeProxy = async (
  stored: Stored,
  member: FleetMember,
  route: NonNullable<Comparison['route']>,
): Promise<Map<string, Finding[]>> => {
  const node = stored.nodes.find((candidate) => nameOf(candidate) === member.node.name) as Node;
  const [version, { gates }] = [parseVersion(member.proxy.version), member.proxy];
  const families = ['IPv4', 'IPv6'] as const;
  const rules = await Promise.all(families.map((family) => readRules(member.node.namespace, family)));
  const judge = (service: Service): Finding[] =>
    (service.spec?.clusterIPs ?? []).flatMap((address) => {
      const index = address.includes(':') ? 1 : 0;
      const slices = stored.slices.get(nameOf(service)) ?? [];
      const { used, reason } = route({ node, service, slices, version, gates, family: families[index] ?? 'IPv4' });
      const expected = used.map(({ key }) => key).sort();
      const actual = rules[index]?.used(address, servicePort) ?? 'no rule';
      const about = `${families[index]} on ${describeProxy(member)} (${reason})`;
      return differs(expected, actual) ? [{ about, expected, actual }] : [];
    });
  return new Map(stored.services.map((service) => [nameOf(service), judge(service)]));
};

/** All findings by Service: the controller first, since the proxies follow what it stores. */
const judgeAll = async (comparison: Comparison, namespace: string, before?: Stored) => {
  const { bed, version, fleet, judged = fleet, route = routeFor } = comparison;
  const stored = await readStored(bed, namespace);
  const findings = judgeControllers(stored, version, before);
  for (const member of judged) {
    for (const [name, wrong] of await judgeProxy(stored, member, route))
      findings.set(name, [...(findings.get(name) ?? []), ...wrong]);
  }
  return findings;
};

const countOf = (findings: ReadonlyMap<string, readonly Finding[]>): number =>
  [...findings.values()].reduce((sum, list) => sum + list.length, 0);

/** How long components may take to follow what was written: ten times what a busy two-core machine needs. */
const FOLLOW_SECONDS = 60;

/** Findings that are left when every component has had its time; a condition that never comes is no error here. */
const settle = async <T>(probe: () => Promise<T>, accept: (value: T) => boolean): Promise<T> => {
  let last: T | undefined;
  const seen = async (): Promise<T> => (last = await probe());
  try {
    return await waitFor('agreement', seen, accept, { timeoutSeconds: FOLLOW_SECONDS, intervalMs: 400 });
  } catch (error) {
    if (last === undefined) throw error;
    return last;
  }
};

/** Waits for the controller, then for the proxies, which follow it. */
const observe = async (
  comparison: Comparison,
  namespace: string,
  cluster: ClusterCase,
  before?: Stored,
): Promise<ReadonlyMap<string, readonly Finding[]>> => {
  const { bed, version } = comparison;
  const complete = ({ services }: Stored): boolean => services.length === cluster.services.length + 1;
  await settle(
    () => readStored(bed, namespace),
    (stored) => complete(stored) && countOf(judgeControllers(stored, version, before)) === 0,
  );
  const judge = () => judgeAll(comparison, namespace, before);
  return settle(
    async () => {
      const findings = await judge();
      // Once more: agreement on the way to something else would be chance.
      return countOf(findings) === 0 ? judge() : findings;
    },
    (findings) => countOf(findings) === 0,
  );
};

/** Runs one cluster and returns the findings about each of its Services, in their order. */
export const compareCluster = async (
  comparison: Comparison,
  namespace: string,
  cluster: ClusterCase,
): Promise<(readonly Finding[])[]> => {
  const { bed, fleet } = comparison;
  const nodes = fleet.map(({ node }) => node);
  try {
    await createCluster(bed, namespace, cluster, nodes);
    const findings = await observe(comparison, namespace, cluster);
    return cluster.services.map((_, index) => findings.get(serviceName(index)) ?? []);
  } finally {
    await removeCluster(bed, namespace, cluster, nodes);
  }
};

/** What the models say otherwise after an update of a cluster that was in agreement. */
interface UpdateFindings {
  readonly update: string;
  readonly service: ServiceCase;
  /** Slices before the update, which decide what is kept. */
  readonly before: readonly EndpointSlice[];
  readonly findings: readonly Finding[];
}

/**
 * Runs a cluster, then its updates one after the other, and compares after each. Returns the findings of the first state that
 * disagrees; what follows from it says nothing.
 */
export const compareUpdates = async (
  comparison: Comparison,
  namespace: string,
  start: ClusterCase,
  updates: readonly Update[],
): Promise<readonly UpdateFindings[]> => {
  const { bed, fleet } = comparison;
  const nodes = fleet.map(({ node }) => node);
  let cluster = start;
  let before: Stored | undefined;
  const findingsNow = async (update: string): Promise<UpdateFindings[]> => {
    const found = await observe(comparison, namespace, cluster, before);
    return cluster.services.flatMap((service, index) => {
      const [name, findings] = [serviceName(index), found.get(serviceName(index)) ?? []];
      return findings.length === 0 ? [] : [{ update, findings, service, before: before?.slices.get(name) ?? [] }];
    });
  };
  try {
    await createCluster(bed, namespace, start, nodes);
    let wrong = await findingsNow('created');
    for (const update of updates) {
      if (wrong.length > 0) break;
      before = await readStored(bed, namespace);
      cluster = update.cluster;
      await update.apply(bed, namespace);
      wrong = await findingsNow(update.name);
    }
    return wrong;
  } finally {
    await removeCluster(bed, namespace, cluster, nodes);
  }
};
