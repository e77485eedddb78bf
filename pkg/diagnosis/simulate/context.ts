// Works out once what all modes of one simulation share: the objects after the what-ifs, clients, demand, capacity, prices.
import type { EndpointSlice, Node, Service } from '../../apis/core.ts';
import { defined } from '../../apis/defined.ts';
import type { Demand } from '../../flow/types.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import { atLeast } from '../../routing/version.ts';
import { zoneShares } from '../../upstream/index.ts';
import type { ProxyEndpoint, ZoneShares } from '../../upstream/index.ts';
import { LABEL_PROXY_NAME } from '../explain/wanted.ts';
import {
  controlPlaneVersion,
  firstFamilyOf,
  serviceKeyOfRef,
  serviceRefOf,
  slicesByService,
} from '../models/lookup.ts';
import { groupNodes } from '../models/routes.ts';
import { BUILT_IN_PRICES, DEFAULT_PRICES, tariffOf } from '../prices.ts';
import { routersOf } from '../routers/of-snapshot.ts';
import type { Routers } from '../routers/types.ts';
import { itemsOf } from '../snapshot.ts';
import type { ClusterSnapshot, FlowPolicySummary } from '../snapshot.ts';
import { capacityOf } from './capacity.ts';
import type { Capacity } from './capacity.ts';
import { clientNodes, demandReport, weigh } from './demand.ts';
import { countByZone, readyForProxies } from './outcome.ts';
import type { Frame } from './outcome.ts';
import type { DemandReport, SimulateOptions, WhatIfReport } from './types.ts';
import type { Limit } from './verdict.ts';
import { SimulationError, changeNodes, changeReplicas } from './what-if.ts';

/** First minor of kube-proxy that uses hints without annotation. */
const NO_ANNOTATION_SINCE = 31;
const DEFAULT_TARGET = 0.7;
/** Upstream's limit for its own heuristic, and the planner's default for `proportional`. */
const DEFAULT_OVERLOAD = 0.2;

export interface Context {
  readonly service: Service;
  readonly slices: readonly EndpointSlice[];
  readonly shares: ZoneShares;
  readonly version: KubernetesVersion;
  /** Some client Node's kube-proxy is 1.30 or older. */
  readonly oldProxies: boolean;
  readonly routers: Routers;
  readonly ready: readonly ProxyEndpoint[];
  readonly frame: Frame;
  readonly whatIf: WhatIfReport | null;
  readonly demand: DemandReport;
  /** In cores, where it was given or observed. */
  readonly given: Demand | undefined;
  /** By which `proportional` plans. */
  readonly planWeights: Demand;
  readonly capacity: Capacity | null;
  readonly targetUtilization: number;
  readonly maxOverload: number;
  readonly limit: Limit;
}

const checkKind = ({ spec, metadata }: Service, name: string): void => {
  if (spec?.type === 'ExternalName') {
    throw new SimulationError('ExternalName', `Service ${name} is an ExternalName: it has no endpoints to route to`);
  }
  if (spec?.clusterIP === 'None') {
    throw new SimulationError(
      'Headless',
      `Service ${name} is headless: its clients choose by DNS, and no proxy looks at hints`,
    );
  }
  if (metadata?.labels?.[LABEL_PROXY_NAME] !== undefined) {
    const message = `Service ${name} has the label ${LABEL_PROXY_NAME}: no proxy of the cluster routes it`;
    throw new SimulationError('NotProxied', message);
  }
};

const policyOf = (snapshot: ClusterSnapshot, service: Service): FlowPolicySummary | undefined => {
  const ref = serviceRefOf(service);
  return itemsOf(snapshot.flowPolicies).find(({ namespace, name }) => namespace === ref.namespace && name === ref.name);
};

interface Changed {
  readonly nodes: readonly Node[];
  readonly slices: readonly EndpointSlice[];
  readonly whatIf: WhatIfReport | null;
}

const applyWhatIfs = (
  { service, slices, nodes }: { service: Service; slices: readonly EndpointSlice[]; nodes: readonly Node[] },
  { replicas, nodeCpu }: SimulateOptions,
  place: { readonly family: string; readonly port: string },
): Changed => {
  if (replicas === undefined && nodeCpu === undefined) return { nodes, slices, whatIf: null };
  const cpu = changeNodes(nodes, nodeCpu ?? {});
  const pods =
    replicas === undefined
      ? { slices, changes: {} }
      : changeReplicas({ service, slices, nodes: clientNodes(cpu.nodes) }, { ...place, replicas });
  return { nodes: cpu.nodes, slices: pods.slices, whatIf: { replicas: pods.changes, nodeCpu: cpu.changes } };
};

export const prepare = (snapshot: ClusterSnapshot, service: Service, options: SimulateOptions): Context => {
  const name = serviceKeyOfRef(serviceRefOf(service));
  checkKind(service, name);
  const stored = slicesByService(itemsOf(snapshot.slices)).get(name) ?? [];
  const family = options.family ?? firstFamilyOf(service, stored);
  const port = options.port ?? service.spec?.ports?.[0]?.name ?? '';
  const objects = { service, slices: stored, nodes: itemsOf(snapshot.nodes) };
  const { nodes, slices, whatIf } = applyWhatIfs(objects, options, { family, port });
  const clients = clientNodes(nodes);
  const policy = policyOf(snapshot, service);
  const weighed = weigh(nodes, { ...options, ...defined({ observed: policy?.demand }) });
  const observing = weighed.source === 'flowPolicy' ? policy : undefined;
  const given = observing === undefined ? options.demand : weighed.weights;
  const ready = readyForProxies(slices, { family, port });
  if (ready.length === 0) {
    throw new SimulationError(
      'NoReadyEndpoints',
      `Service ${name} has no ready ${family} endpoint${port === '' ? '' : ` for port ${port}`}`,
    );
  }
  if (ready.every(({ zone }) => zone === '')) {
    const message = `no ready ${family} endpoint of Service ${name} has a zone, so no prediction is possible`;
    throw new SimulationError('EndpointWithoutZone', message);
  }
  const addresses = new Set(ready.map(({ address }) => address));
  const capacity =
    given === undefined
      ? null
      : capacityOf({ addresses, slices, pods: itemsOf(snapshot.pods), given: options.capacity, policy: observing });
  const version = controlPlaneVersion(snapshot, options.version);
  const routers = routersOf(snapshot, options);
  if (clients.every((node) => routers.of(node).routing.proxy.kind === 'unknown')) {
    const message = 'the data plane is not known on any Node with clients: name it with --proxy';
    throw new SimulationError('RouterUnknown', message);
  }
  const demand = demandReport(weighed, clients, countByZone(ready));
  const { targetUtilization = observing?.targetUtilization ?? DEFAULT_TARGET, maxOverload = DEFAULT_OVERLOAD } =
    options;
  const table = options.prices ?? BUILT_IN_PRICES[DEFAULT_PRICES];
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
    whatIf,
    demand,
    given,
    planWeights: weigh(nodes, defined({ weights: options.weights })).weights,
    capacity,
    targetUtilization,
    maxOverload,
    limit:
      capacity === null
        ? { kind: 'fairShare', overload: maxOverload }
        : { kind: 'utilization', target: targetUtilization },
    frame: {
      groups: groupNodes(clients, (node) => routers.keyOf(node)),
      family,
      port,
      routing: (node) => routers.of(node).routing,
      gates: options.gates,
      weights: weighed.weights,
      cores: demand.cores,
      capacity: capacity?.byAddress ?? null,
      bill:
        options.gigabytesPerDay === undefined
          ? null
          : { tariff: tariffOf(table, nodes), gigabytesPerDay: options.gigabytesPerDay },
    },
  };
};
