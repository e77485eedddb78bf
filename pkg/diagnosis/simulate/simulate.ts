// Simulates a Service under every mode: hints by the models of control plane and planner, routes by those of the proxies.
import type { EndpointSlice, Service } from '../../apis/core.ts';
import { defined, keyOf, refOf, sumOf } from '../../apis/values.ts';
import type { StringMap } from '../../apis/meta.ts';
import { ANNOTATION_PLAN, LABEL_CONSIDER, LABEL_STRATEGY, isPlannedStrategy } from '../../apis/names.ts';
import { planHints, planProportional } from '../../flow/planner.ts';
import type { Plan, ZoneCost } from '../../flow/types.ts';
import { strategyOf } from '../../hints/table.ts';
import { withRoutingSettings } from '../../routing/helper.ts';
import { strategySettings, withOldProxies } from '../../routing/plan.ts';
import type { KubernetesVersion, RoutingSettings } from '../../routing/types.ts';
import { OLDEST_SUPPORTED_VERSION, atLeast, formatVersion } from '../../routing/version.ts';
import { DISTRIBUTION_NAMES, TRAFFIC_DISTRIBUTIONS } from '../../upstream/features.ts';
import { explained, isControllerSlice, wishOf } from '../../upstream/index.ts';
import type { Explained, FeatureGates, ProxyEndpoint, Reason } from '../../upstream/index.ts';
import { mapEndpoints, withHints, withoutHints } from '../../upstream/controller/allocation.ts';
import { askingAnnotation, distributionOf } from '../../upstream/wish.ts';
import { labelsOf } from '../explain/facts.ts';
import { finalHints } from '../models/hints.ts';
import { hasSelector } from '../models/lookup.ts';
import { pricePerGigabyte } from '../prices.ts';
import { routersReport } from '../routers/routers.ts';
import type { ClusterSnapshot } from '../snapshot.ts';
import { type Context, prepare } from './context.ts';
import { MODE_NAMES, type ModeName, type SimulateOptions, type Verdict, isStrategy } from './types.ts';
import { type Frame, flowOf, judge, recommend } from './verdict.ts';
import { SimulationError } from '../models/what-if.ts';

/**
 * `controlPlane` needs nothing installed, `webhook` the endpointslice-webhook, `planner` the flow-controller beside it.
 * `settings`: of the mode. The control plane alone carries a strategy where the field says the same.
 */
const neededComponentOf = (mode: ModeName, settings: RoutingSettings, managed: boolean) => {
  if (isPlannedStrategy(mode)) return 'planner';
  return isStrategy(mode) && !(managed && settings.trafficDistribution !== undefined) ? 'webhook' : 'controlPlane';
};

/** First version whose control plane (for strategies: with this project) knows the mode with the gates given. */
const sinceOf = (mode: ModeName, gates?: FeatureGates): KubernetesVersion => {
  let { minor } = OLDEST_SUPPORTED_VERSION;
  const isField = DISTRIBUTION_NAMES.some((name) => name === mode);
  while (isField && distributionOf(mode, { major: 1, minor }, gates) === undefined) minor += 1;
  return { major: 1, minor };
};

/** What the mode consists of: for strategies what this project sets, `oldProxies` (some kube-proxy is 1.30 or older) included. */
const settingsOfMode = (mode: ModeName, { version, oldProxies }: Context): RoutingSettings => {
  const nothing = { labels: {}, annotations: {} };
  if (mode === 'none') return nothing;
  if (mode === 'Auto') return { ...nothing, annotations: { [askingAnnotation(version)[0]]: 'Auto' } };
  if (!isStrategy(mode)) return { ...nothing, trafficDistribution: mode };
  const settings = strategySettings(version, mode);
  return oldProxies ? withOldProxies(settings) : settings;
};

/** `field=value`, in a fixed order. */
const settingsText = ({ labels, annotations, trafficDistribution }: RoutingSettings): string[] => [
  ...Object.entries(labels).map(([key, value]) => `metadata.labels[${key}]=${value}`),
  ...Object.entries(annotations).map(([key, value]) => `metadata.annotations[${key}]=${value}`),
  ...(trafficDistribution === undefined ? [] : [`spec.trafficDistribution=${trafficDistribution}`]),
];

const OWN_LABELS: readonly string[] = [LABEL_CONSIDER, LABEL_STRATEGY];

const withoutKeys = (map: StringMap | undefined, keys: readonly string[]): StringMap =>
  Object.fromEntries(Object.entries(map ?? {}).filter(([key]) => !keys.includes(key)));

/** The Service as it would be with these settings and no other topology settings. */
const withSettings = (service: Service, settings: RoutingSettings): Service => {
  const labels = withoutKeys(service.metadata?.labels, OWN_LABELS);
  return withRoutingSettings({ ...service, metadata: { ...service.metadata, labels } }, settings);
};

/** Slices with a plan's hints; endpoints that it does not know (not ready ones) carry none. */
const withPlan = (slices: readonly EndpointSlice[], plan: Plan, family: string): EndpointSlice[] => {
  const hints = new Map(plan.endpoints.map(({ name, forZones }) => [name, forZones]));
  return slices.map((slice) =>
    (slice.addressType ?? 'IPv4') === family
      ? mapEndpoints(slice, (endpoint) => {
          const zones = hints.get(endpoint.addresses[0] ?? '') ?? [];
          return withHints(endpoint, zones.length === 0 ? undefined : { forZones: zones.map((name) => ({ name })) });
        })
      : slice,
  );
};

/** Prices of pairs where money is asked for and crossing has any price: so the dearest crossings are avoided first. */
const costOf = ({ bill, weights }: Frame, endpoints: readonly ProxyEndpoint[]): { cost?: ZoneCost } => {
  if (bill === null) return {};
  const zones = new Set([...Object.keys(weights), ...endpoints.map(({ zone }) => zone)]);
  const cost: ZoneCost = (from, to) => pricePerGigabyte(bill.tariff, from, to);
  return [...zones].some((from) => [...zones].some((to) => from !== to && cost(from, to) > 0)) ? { cost } : {};
};

const modeInForce = (service: Service, { slices, version, frame: { gates } }: Context): ModeName => {
  const strategy = strategyOf(labelsOf(service, slices));
  if (strategy !== undefined) return strategy;
  const { mode, source, value } = wishOf(service, version, gates);
  if (mode === 'none') return 'none';
  return source === 'topology-mode' ? 'Auto' : (MODE_NAMES.find((name) => name === value) ?? 'none');
};

/**
 * The controller gives its slices the Service's labels; slices of others are taken to be labelled by their authors. Hints
 * that the controller stored for the settings of now are left out: it would begin anew.
 */
const relabelled = (slices: readonly EndpointSlice[], { labels }: RoutingSettings): EndpointSlice[] =>
  slices.map((slice) => ({
    ...(isControllerSlice(slice) ? withoutHints(slice) : slice),
    metadata: {
      ...slice.metadata,
      labels: { ...withoutKeys(slice.metadata?.labels, OWN_LABELS), ...labels },
      annotations: withoutKeys(slice.metadata?.annotations, [ANNOTATION_PLAN]),
    },
  }));

/** What control plane and webhook would store for a Service with slices as they are, and why the control plane gave what it gave. */
const hintsGiven = (service: Service, slices: readonly EndpointSlice[], context: Context) => {
  const { shares, version, frame } = context;
  const families = finalHints(service, slices, { shares, version, ...defined({ gates: frame.gates }) });
  const own = families.find(({ family }) => family === frame.family);
  const { reason, message } = own ?? explained('NoEndpoints', { service: keyOf(service) });
  return { slices: families.flatMap((family) => family.slices), why: { reason, message } };
};

/** Codes of requests that were heard: if no hint came of one, an endpoint had no zone to be hinted for. */
const HEARD: ReadonlySet<Reason> = new Set([
  'ProportionalHints' as const,
  ...Object.values(TRAFFIC_DISTRIBUTIONS).map(({ reason }) => reason),
]);

const whyNone = (mode: ModeName, why: Explained, service: Service): Explained =>
  isStrategy(mode) || HEARD.has(why.reason) ? explained('EndpointWithoutZone', { service: keyOf(service) }) : why;

const planFor = (mode: ModeName, context: Context): Plan | undefined => {
  const { ready, frame, given: demand, capacity, targetUtilization, maxOverload } = context;
  const cost = costOf(frame, ready);
  // Each address once. Hints in force do not count, so that the plan is the same whatever is stored.
  const endpoints = [...new Map(ready.map(({ address, zone }) => [address, { name: address, zone }])).values()];
  // Weights are what the strategy goes by, whatever the demand is: it knows nothing of load.
  if (mode === 'proportional')
    return planProportional({ weights: context.planWeights, maxOverload, endpoints, ...cost });
  if (mode !== 'load-aware' || demand === undefined || capacity === null) return undefined;
  const able = endpoints.map((own) => ({ ...own, capacity: capacity.byAddress.get(own.name) ?? 0 }));
  return planHints({ endpoints: able, demand, targetUtilization, ...cost });
};

const obstacle = (mode: ModeName, { version, frame, given, capacity }: Context): Verdict | undefined => {
  const since = sinceOf(mode, frame.gates);
  const old = `Kubernetes ${formatVersion(version)} does not know it; ${formatVersion(since)} and newer do.`;
  if (mode !== 'none' && mode !== 'Auto' && !atLeast(version, since.minor))
    return { reason: 'VersionTooOld', message: old };
  if (mode !== 'load-aware') return undefined;
  const demand = 'It follows measured load, and no FlowPolicy has observed any; give it with --demand.';
  if (given === undefined) return { reason: 'DemandUnknown', message: demand };
  const requests = 'Pods of its endpoints have no CPU requests; give the capacity with --capacity.';
  return capacity === null ? { reason: 'CapacityUnknown', message: requests } : undefined;
};

const simulateMode = (mode: ModeName, context: Context) => {
  const { frame, limit } = context;
  const settings = settingsOfMode(mode, context);
  const verdict = obstacle(mode, context);
  if (verdict !== undefined) return { mode, settings, verdict, outcome: null };
  const service = withSettings(context.service, settings);
  const given = hintsGiven(service, relabelled(context.slices, settings), context);
  const plan = planFor(mode, context);
  const flow = flowOf(service, plan === undefined ? given.slices : withPlan(given.slices, plan, frame.family), frame);
  return {
    mode,
    settings,
    outcome: flow.outcome,
    verdict: judge({ mode, flow, limit, given: whyNone(mode, given.why, service), spread: plan?.spread === true }),
  };
};

const reportOf = (context: Context) => {
  const { service, version, frame, whatIf, capacity, targetUtilization } = context;
  const inForce = modeInForce(service, context);
  // What is stored is what proxies see; after a what-if it would be written anew.
  const stored = whatIf === null ? context.slices : hintsGiven(service, context.slices, context).slices;
  const now = flowOf(service, stored, frame).outcome;
  const simulated = MODE_NAMES.map((mode) => simulateMode(mode, context));
  const candidates = simulated.flatMap(({ mode, outcome }) => (outcome === null ? [] : [{ mode, outcome }]));
  const recommendation = recommend(candidates, now, context.limit);
  const modes = simulated.map(({ mode, settings, outcome, verdict }) => ({
    mode,
    since: formatVersion(sinceOf(mode, frame.gates)),
    neededComponent: neededComponentOf(mode, settings, hasSelector(service)),
    /** What to set on the Service, `field=value` each. */
    settings: outcome === null ? [] : settingsText(settings),
    inForce: mode === inForce,
    recommended: mode === recommendation.mode,
    /** Null where the mode cannot be simulated; the verdict says why. */
    outcome,
    verdict,
  }));
  const { bill } = frame;
  const { currency = '', source = '', date = '' } = bill?.tariff.table ?? {};
  return {
    ...refOf(service),
    kubernetesVersion: formatVersion(version),
    ...routersReport(frame.groups.flat(), context.routers),
    addressType: frame.family,
    port: frame.port,
    /** Null where nothing but the cluster as it is was asked about. */
    whatIf,
    endpoints: context.ready.length,
    demand: context.demand,
    /** How far an endpoint may be above its fair share: what counts as overload where `capacity` is null. */
    maxOverload: context.maxOverload,
    /** Null where demand or capacity is not known; cores: of all ready endpoints together. */
    capacity: capacity && { source: capacity.source, cores: sumOf(capacity.byAddress.values()), targetUtilization },
    ...(bill === null ? {} : { prices: { gigabytesPerDay: bill.gigabytesPerDay, currency, source, date } }),
    /** With the hints as they are stored; in a what-if with those that the Service's own settings lead to. */
    now: { mode: inForce, ...now },
    modes,
    recommendation,
  };
};

/** The JSON of `kubectl topology simulate`. */
export type SimulationReport = ReturnType<typeof reportOf>;
export type ModeReport = SimulationReport['modes'][number];

/** Refused where there is nothing to simulate or the question does not fit the objects. */
export const simulate = (snapshot: ClusterSnapshot, service: Service, options: SimulateOptions) => {
  try {
    return { kind: 'simulated', report: reportOf(prepare(snapshot, service, options)) } as const;
  } catch (error) {
    if (!(error instanceof SimulationError)) throw error;
    return { kind: 'refused', reason: error.reason, message: error.message } as const;
  }
};
