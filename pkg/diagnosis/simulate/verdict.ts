// What stored slices lead to by the exact models, and what that says of a mode in one sentence.
import type { EndpointSlice, Node, Service } from '../../apis/core.ts';
import { byText, sumBy } from '../../apis/values.ts';
import type { Demand } from '../../flow/types.ts';
import { inZoneShare, mergeEndpoints, worstOverload } from '../../upstream/index.ts';
import type { Explained, FeatureGates, ProxyEndpoint, Reason, Traffic } from '../../upstream/index.ts';
import { type GroupRoute, groupRoutesOf, trafficBy } from '../models/routes.ts';
import { type Tariff, monthlyCost, plainShares } from '../prices.ts';
import type { NodeRouting } from '../routers/types.ts';
import { type ModeName, type RecommendationReason, SIMPLEST_FIRST, type Verdict, isStrategy } from './types.ts';

/** The same for every mode of one simulation. */
export interface Frame {
  /** Nodes with clients, as `groupNodes` makes them. */
  readonly groups: readonly (readonly Node[])[];
  readonly family: string;
  readonly port: string;
  readonly routing: (node: Node) => NodeRouting;
  /** Of kube-controller-manager. */
  readonly gates: FeatureGates | undefined;
  /** Demand of the clients by zone, in any unit. */
  readonly weights: Demand;
  /** The same in cores, where known. */
  readonly cores: number | null;
  /** Cores by address of each ready endpoint, where all are known. */
  readonly capacity: ReadonlyMap<string, number> | null;
  readonly bill: { readonly tariff: Tariff; readonly gigabytesPerDay: number } | null;
}

/** Ready endpoints of the port, in the order of their keys. */
export const readyForProxies = (
  slices: readonly EndpointSlice[],
  { family, port }: Pick<Frame, 'family' | 'port'>,
): readonly ProxyEndpoint[] =>
  mergeEndpoints(slices, { port, family, duplicates: { prefer: 'running' } }).filter(({ ready }) => ready);

/** Shares of all connections, by the client's zone, then the endpoint's; the empty name is for no zone. */
export type Matrix = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** The endpoint with the highest load, by its capacity where that is known; the first of equals. */
const busiest = (traffic: Traffic, addressOf: (key: string) => string, { cores, capacity }: Frame) => {
  const known = cores !== null && capacity !== null;
  let best = { key: '', load: 0 };
  for (const [key, share] of traffic.endpoints) {
    const load = known ? (share * cores) / (capacity.get(addressOf(key)) ?? Infinity) : share;
    if (load > best.load) best = { key, load };
  }
  return { key: best.key, maxUtilization: known ? best.load : null };
};

/** Where traffic goes, and by which rules. */
export const flowOf = (service: Service, slices: readonly EndpointSlice[], frame: Frame) => {
  const { groups, family, port, routing, weights, bill } = frame;
  const routes = groupRoutesOf(groups, { service, slices, routing, port, family });
  // Of clients whose router is not known nothing is predicted.
  const known = routes.filter(({ reason }) => reason !== 'RouterUnknown');
  const traffic = trafficBy(known, weights);
  const ready = readyForProxies(slices, frame);
  const endpoints = new Map(routes.flatMap((route) => route.used).map((endpoint) => [endpoint.key, endpoint]));
  const { key, maxUtilization } = busiest(traffic, (own) => endpoints.get(own)?.address ?? '', frame);
  const outcome = {
    hinted: ready.filter(({ zoneHints, nodeHints }) => zoneHints.size + nodeHints.size > 0).length,
    matrix: plainShares(traffic.matrix),
    inZoneShare: inZoneShare(traffic),
    /** Fraction of the connections that find no endpoint. */
    lostShare: traffic.lost,
    /** How far the busiest endpoint is above its fair share of the traffic: 0 = all alike, 1 = twice the fair share. */
    worstOverload: worstOverload(traffic, ready.length),
    busiestZone: endpoints.get(key)?.zone ?? '',
    /** Load of the busiest endpoint as a fraction of its capacity; null where demand or capacity is not known. */
    maxUtilization,
    ...(bill === null ? {} : { costPerMonth: monthlyCost(bill.tariff, traffic.matrix, bill.gigabytesPerDay) }),
  };
  return { outcome, routes };
};

type Flow = ReturnType<typeof flowOf>;
export type Outcome = Flow['outcome'];

/** What counts as overload: more than this fraction of its fair share, or of its capacity where that is known. */
export type Limit = Readonly<{ of: 'fair share' | 'capacity'; most: number }>;

const ROUNDING = 1e-9;
/** A whole percentage that never claims all or nothing where it is not quite so. */
export const boundedPercentText = (fraction: number): string => {
  const rounded = Math.round(fraction * 100);
  if (rounded === 100 && fraction < 1 - ROUNDING) return '99 %';
  return rounded === 0 && fraction > ROUNDING ? '1 %' : `${rounded} %`;
};

/** What the busiest endpoint gets, in terms of the limit. */
const loadOf = ({ maxUtilization, worstOverload: overload }: Outcome, { of }: Limit): number =>
  of === 'capacity' ? (maxUtilization ?? 0) : 1 + overload;

/** How far above the limit the busiest endpoint is; 0 within it. */
export const surplusOf = (outcome: Outcome, limit: Limit): number => {
  const above = loadOf(outcome, limit) - limit.most;
  return above > ROUNDING ? above : 0;
};

export const utilizationText = (outcome: Outcome, limit: Limit): string => {
  const where = outcome.busiestZone === '' ? 'an endpoint without zone' : `an endpoint in ${outcome.busiestZone}`;
  const [verb, word] = limit.of === 'capacity' ? ['runs at', 'target'] : ['gets', 'limit'];
  const load = boundedPercentText(loadOf(outcome, limit));
  return `${where} ${verb} ${load} of its ${limit.of} (${word} ${boundedPercentText(limit.most)})`;
};

const limitText = ({ of, most }: Limit): string => `${boundedPercentText(most)} of its ${of}`;

const keeps = ({ inZoneShare: share }: Outcome): string =>
  `${boundedPercentText(share)} of the traffic stays in its zone`;

export const nodesOf = (routes: readonly GroupRoute[]): number => sumBy(routes, ({ nodes }) => nodes.length);

/** Rules by which connections stay on their Node whatever the mode. */
const LOCAL: ReadonlySet<Reason> = new Set<Reason>(['InternalTrafficPolicyLocal', 'NoLocalEndpoints']);

const verdict = (reason: Verdict['reason'], message: string): Verdict => ({ reason, message });

export interface JudgeInput {
  readonly mode: ModeName;
  readonly flow: Flow;
  /** Why the control plane gave the hints it gave. */
  readonly given: Explained;
  readonly limit: Limit;
  /** The planner chose to hint nothing. */
  readonly spread: boolean;
}

/** Why hints have no part in it, or not the part that the mode means them to have; undefined if they have. */
const whyNoEffect = ({ mode, flow, given, limit, spread }: JudgeInput): Verdict | undefined => {
  const { outcome, routes } = flow;
  if (outcome.lostShare > ROUNDING)
    return verdict('ConnectionsFail', `${boundedPercentText(outcome.lostShare)} of the connections find no endpoint.`);
  const local = routes.find(({ reason }) => LOCAL.has(reason));
  if (local !== undefined) return verdict(local.reason, local.message);
  if (given.reason === 'NotManaged' && !isStrategy(mode)) return given;
  if (mode === 'none' || outcome.hinted > 0) return undefined;
  if (!spread) return given;
  const most = limitText(limit);
  return verdict('PlanIsSpread', `Within ${most} no plan keeps more traffic in its zone than no hints at all.`);
};

/** What proxies make of hints, where that is not what the mode means: the rule that most of these Nodes have in common; ties by name. */
const proxyVerdict = ({ routes, outcome }: Flow, limit: Limit): Verdict | undefined => {
  const ignoring = routes.filter(({ mode }) => mode === '');
  const [common] = [...Map.groupBy(ignoring, ({ reason }) => reason)]
    .map(([reason, own]) => ({ reason, message: own[0]?.message ?? '', count: nodesOf(own) }))
    .sort((a, b) => b.count - a.count || byText(a.reason, b.reason));
  if (common === undefined) return undefined;
  const { reason, message, count } = common;
  if (count === nodesOf(routes)) return verdict(reason, message);
  const over = surplusOf(outcome, limit) > 0;
  // A zone without endpoints is the lesser trouble; a proxy that does not look at hints is the cause of the greater.
  if (over && reason === 'ZoneNotHinted') return undefined;
  const load = over ? `, but ${utilizationText(outcome, limit)}` : '';
  return verdict(reason, `${keeps(outcome)}${load}. On ${count} of ${nodesOf(routes)} Nodes with clients: ${message}`);
};

export const judge = (input: JudgeInput): Verdict => {
  const { mode, flow, limit } = input;
  const { outcome } = flow;
  const none = whyNoEffect(input) ?? (mode === 'none' ? undefined : proxyVerdict(flow, limit));
  if (none !== undefined) return none;
  if (surplusOf(outcome, limit) > 0)
    return verdict('Overloads', `${keeps(outcome)}, but ${utilizationText(outcome, limit)}.`);
  const crosses = boundedPercentText(1 - outcome.inZoneShare);
  if (mode === 'none')
    return verdict('Spread', `Every endpoint serves clients of every zone; ${crosses} of the traffic crosses.`);
  const rest = `no endpoint is above ${limitText(limit)}`;
  return outcome.inZoneShare >= 1 - ROUNDING
    ? verdict('KeepsAll', `All traffic stays in its zone, and ${rest}.`)
    : verdict('KeepsMost', `${keeps(outcome)}, and ${rest}.`);
};

export type Candidate = Readonly<{ mode: ModeName; outcome: Outcome }>;

/** Less than this fraction of the worst is no reason for a less simple mode. */
const NOTICEABLE = 0.01;

/** The best mode of those that were simulated (`none` always was), and whether it is better than `now`. */
export const recommend = (candidates: readonly Candidate[], now: Outcome, limit: Limit) => {
  const all = [...candidates.map(({ outcome }) => outcome), now];
  const priced = all.some(({ costPerMonth = 0 }) => costPerMonth > 0);
  /** What is better when it is less: money where crossing costs any, else the share that crosses or is lost. */
  const badness = ({ inZoneShare: share, lostShare, costPerMonth = 0 }: Outcome): number =>
    priced ? costPerMonth : (1 - share) * (1 - lostShare);
  const surplus = (outcome: Outcome): number => surplusOf(outcome, limit);
  const leastBy = (own: readonly Candidate[], figure: (outcome: Outcome) => number): number =>
    Math.min(...own.map(({ outcome }) => figure(outcome)));

  const simplestFirst = [...candidates].sort((a, b) => SIMPLEST_FIRST.indexOf(a.mode) - SIMPLEST_FIRST.indexOf(b.mode));
  const fewestLost = leastBy(candidates, ({ lostShare }) => lostShare);
  const whole = simplestFirst.filter(({ outcome }) => outcome.lostShare <= fewestLost + ROUNDING);
  const lowest = leastBy(whole, surplus);
  const fitting = whole.filter(({ outcome }) => surplus(outcome) <= lowest + ROUNDING);
  const margin = NOTICEABLE * Math.max(...all.map(badness));
  const best = leastBy(fitting, badness);
  const nothing: Candidate = { mode: 'none', outcome: now };
  const { mode, outcome } = fitting.find((own) => badness(own.outcome) <= best + margin) ?? nothing;

  // The mode that would be better still, were it not for the overload.
  const tempting = simplestFirst
    .filter((own) => badness(own.outcome) < badness(outcome) - ROUNDING)
    .sort((a, b) => badness(a.outcome) - badness(b.outcome))
    .find((own) => surplus(own.outcome) > surplus(outcome) + ROUNDING);
  const rest =
    tempting === undefined
      ? ''
      : `; with ${tempting.mode} it would be ${boundedPercentText(tempting.outcome.inZoneShare)}, but ${utilizationText(tempting.outcome, limit)}`;
  const within = `every endpoint at most at ${limitText(limit)}`;
  const why = (): readonly [reason: RecommendationReason, message: string] => {
    if (mode === 'none')
      return ['NothingToGain', `No mode keeps noticeably more traffic in its zone with ${within}${rest}.`];
    const load = utilizationText(outcome, limit);
    if (lowest > 0) return ['LeastOverload', `Every mode is above ${limitText(limit)}; with this one ${load}${rest}.`];
    const share = boundedPercentText(outcome.inZoneShare);
    return priced
      ? ['LeastCost', `Costs least with ${within}: ${share} stays in its zone${rest}.`]
      : ['MostInZone', `Keeps the most traffic in its zone with ${within}: ${share}${rest}.`];
  };
  const [reason, message] = why();
  return {
    mode,
    reason,
    message,
    /** It is better than what happens now, by more than a hundredth of what crosses in the worst mode. */
    improves:
      now.lostShare > outcome.lostShare + ROUNDING ||
      surplus(now) > surplus(outcome) + ROUNDING ||
      badness(now) > badness(outcome) + margin + ROUNDING,
  };
};
