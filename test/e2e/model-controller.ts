// Compares what the model of the EndpointSlice controller says with the slices and events that the controller wrote.
import type { Endpoint, EndpointHints, EndpointSlice, Event, Node, Service } from '../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { LABEL_ZONE } from '../../pkg/apis/names.ts';
import type { KubernetesVersion } from '../../pkg/routing/types.ts';
import { endpointConditions, syncHints, wishOf, zoneShares } from '../../pkg/upstream/index.ts';
import type { SlicePlan, SyncResult, ZoneShares } from '../../pkg/upstream/index.ts';

export interface Pod extends KubernetesObject {
  spec?: { nodeName?: string };
  status?: { podIPs?: { ip: string }[]; conditions?: { type: string; status: string }[] };
}

/** Everything that the API holds about one Service, and about the cluster. */
interface ControllerFacts {
  readonly service: Service;
  readonly slices: readonly EndpointSlice[];
  readonly nodes: readonly Node[];
  /** Pods that the Service selects. */
  readonly pods: readonly Pod[];
  /** Events about the Service. */
  readonly events: readonly Event[];
  readonly version: KubernetesVersion;
  /** As it was before one Pod changed: the controller has synced once since. Default: the Service was just created. */
  readonly before?: { readonly slices: readonly EndpointSlice[]; readonly events: readonly Event[] };
}

/** One difference: what the model says and what is there, as text that can be compared and read. */
export interface Finding {
  readonly about: string;
  readonly expected: unknown;
  readonly actual: unknown;
}

export const differs = (left: unknown, right: unknown): boolean => JSON.stringify(left) !== JSON.stringify(right);

const unlessEqual = (about: string, expected: unknown, actual: unknown): Finding[] =>
  differs(expected, actual) ? [{ about, expected, actual }] : [];

const endpointsOf = (slices: readonly EndpointSlice[]): Endpoint[] =>
  slices
    .flatMap(({ endpoints }) => endpoints ?? [])
    .sort((a, b) => ((a.addresses[0] ?? '') < (b.addresses[0] ?? '') ? -1 : 1));

const podAsEndpoint = (pod: Pod, { service, nodes }: ControllerFacts, family: string) => {
  const node = nodes.find(({ metadata }) => metadata?.name === pod.spec?.nodeName);
  const address = pod.status?.podIPs?.find(({ ip }) => ip.includes(':') === (family === 'IPv6'))?.ip ?? '';
  const { ready, serving, terminating } = endpointConditions({
    ready: pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false,
    deleting: pod.metadata?.deletionTimestamp !== undefined,
    publishNotReady: service.spec?.['publishNotReadyAddresses'] === true,
  });
  return { address, node: pod.spec?.nodeName, zone: node?.metadata?.labels?.[LABEL_ZONE], ready, serving, terminating };
};

const asListed = ({ addresses, nodeName, zone, conditions = {} }: Endpoint) => {
  const { ready, serving, terminating } = conditions;
  return { address: addresses[0] ?? '', node: nodeName, zone, ready, serving, terminating };
};

const hintsText = (hints: EndpointHints | undefined): string =>
  hints === undefined
    ? 'none'
    : JSON.stringify([(hints.forZones ?? []).map(({ name }) => name), (hints.forNodes ?? []).map(({ name }) => name)]);

const hintsByAddress = (slices: readonly EndpointSlice[]): Record<string, string> =>
  Object.fromEntries(endpointsOf(slices).map(({ addresses, hints }) => [addresses[0] ?? '', hintsText(hints)]));

const hintTotals = (slices: readonly EndpointSlice[]): string => {
  const totals: Record<string, number> = {};
  for (const { hints } of endpointsOf(slices)) totals[hintsText(hints)] = (totals[hintsText(hints)] ?? 0) + 1;
  return Object.keys(totals)
    .sort()
    .map((key) => `${key} × ${totals[key]}`)
    .join(', ');
};

const permutations = <T>(items: readonly T[]): T[][] =>
  items.length === 0
    ? [[]]
    : items.flatMap((item) => permutations(items.filter((other) => other !== item)).map((rest) => [item, ...rest]));

/** The same cluster with other names for its zones, which is another order wherever the model breaks a tie by name. */
const renamed = (slices: readonly EndpointSlice[], names: ReadonlyMap<string, string>): EndpointSlice[] =>
  slices.map((slice) => ({
    ...slice,
    endpoints: (slice.endpoints ?? []).map((endpoint) => ({
      ...endpoint,
      ...(endpoint.zone === undefined ? {} : { zone: names.get(endpoint.zone) ?? endpoint.zone }),
      ...(endpoint.hints?.forZones === undefined
        ? {}
        : { hints: { forZones: endpoint.hints.forZones.map(({ name }) => ({ name: names.get(name) ?? name })) } }),
    })),
  }));

const slicesOf = ({ create, update, unchanged }: SlicePlan): EndpointSlice[] => [...create, ...update, ...unchanged];

const renamedPlan = ({ create, update, unchanged }: SlicePlan, names: ReadonlyMap<string, string>): SlicePlan => ({
  create: renamed(create, names),
  update: renamed(update, names),
  unchanged: renamed(unchanged, names),
});

type Sync = (shares: ZoneShares, plan: SlicePlan) => SyncResult;
type KnownShares = Extract<ZoneShares, { kind: 'known' }>;

/**
 * Slices after one sync, for every way to break ties between zones and every order of the slices that stay; the original
 * follows random map order in both. By what they hold.
 */
const outcomesOf = ({ ratios, milliCpu }: KnownShares, plan: SlicePlan, sync: Sync): Map<string, EndpointSlice[]> => {
  const zones = [...ratios.keys()];
  const invert = (names: ReadonlyMap<string, string>) => new Map([...names].map(([from, to]) => [to, from]));
  const outcomes = permutations(zones).flatMap((order) => {
    const names = new Map(zones.map((zone, index) => [zone, order[index] ?? zone]));
    const other = new Map([...ratios].map(([zone, ratio]) => [names.get(zone) ?? zone, ratio]));
    return permutations(plan.unchanged).map((unchanged) => {
      const result = sync({ kind: 'known', ratios: other, milliCpu }, renamedPlan({ ...plan, unchanged }, names));
      return renamed(slicesOf(result.plan), invert(names));
    });
  });
  return new Map(outcomes.map((slices) => [JSON.stringify(hintsByAddress(slices)), slices]));
};

/** Further syncs of the same objects; what they do to hints has come to rest by then. */
const FURTHER_SYNCS = 3;

/**
 * Slices after no, one and more further syncs. One is not always the end: where it leaves a zone above its maximum, the next
 * one, whatever causes it, hints a slice anew.
 */
function* furtherSyncs(start: Iterable<EndpointSlice[]>, shares: KnownShares, sync: Sync): Generator<EndpointSlice[]> {
  let outcomes = [...start];
  for (let round = 0; round <= FURTHER_SYNCS; round += 1) {
    yield* outcomes;
    const next = outcomes.flatMap((unchanged) => [...outcomesOf(shares, { create: [], update: [], unchanged }, sync)]);
    outcomes = [...new Map(next).values()];
  }
}

const withoutHints = (slice: EndpointSlice): EndpointSlice => ({
  ...slice,
  endpoints: (slice.endpoints ?? []).map(({ hints: _, ...rest }) => rest),
});

/**
 * What the controller had before it when it wrote these slices: it builds those that it creates or changes from Pods, so
 * without hints, and keeps those whose endpoints stay.
 */
const planOf = (stored: readonly EndpointSlice[], before: readonly EndpointSlice[]): SlicePlan => {
  const known = new Map(before.map((slice) => [slice.metadata?.name, slice]));
  const isSame = (slice: EndpointSlice): boolean =>
    !differs(endpointsOf([withoutHints(slice)]), endpointsOf([withoutHints(known.get(slice.metadata?.name) ?? {})]));
  const old = stored.filter(({ metadata }) => known.has(metadata?.name));
  return {
    create: stored.filter(({ metadata }) => !known.has(metadata?.name)).map(withoutHints),
    update: old.filter((slice) => !isSame(slice)).map(withoutHints),
    unchanged: old.filter(isSame).map((slice) => known.get(slice.metadata?.name) ?? slice),
  };
};

/** Whether such totals by zone can be; else all that can. Before a new Pod has an address there may have been a sync, too, of what was there. */
const impossibleTotals = (
  stored: readonly EndpointSlice[],
  before: readonly EndpointSlice[],
  shares: KnownShares,
  sync: Sync,
): Set<string> | undefined => {
  const totals = new Set<string>();
  for (const known of furtherSyncs([[...before]], shares, sync)) {
    const outcomes = outcomesOf(shares, planOf(stored, known), sync).values();
    for (const slices of furtherSyncs(outcomes, shares, sync)) totals.add(hintTotals(slices));
    if (totals.has(hintTotals(stored))) return undefined;
  }
  return totals;
};

/** The controller remembers that it hinted the Service in proportion. */
const wasHinted = ({ service, version, before }: ControllerFacts): boolean =>
  wishOf(service, version).mode === 'proportional' &&
  endpointsOf(before?.slices ?? []).some(({ conditions, hints }) => conditions?.ready === true && hints !== undefined);

/** One address family: endpoints made from Pods, then their hints. */
const judgeFamily = (facts: ControllerFacts, family: string, shares: ZoneShares) => {
  const { service, pods, version } = facts;
  const stored = facts.slices.filter(({ addressType }) => addressType === family);
  const expected = pods
    .map((pod) => podAsEndpoint(pod, facts, family))
    .sort((a, b) => (a.address < b.address ? -1 : 1));
  const wrong = unlessEqual(`${family} endpoints`, expected, endpointsOf(stored).map(asListed));
  const before = (facts.before?.slices ?? []).filter(({ addressType }) => addressType === family);
  const sync = (known: ZoneShares, given: SlicePlan): SyncResult =>
    syncHints({ service, plan: given, family, shares: known, version, wasHinted: wasHinted(facts) });
  const result = sync(shares, planOf(stored, before));
  const random = result.mode === 'proportional' && result.hinted && shares.kind === 'known';
  // Endpoints that are not there yet have no hints either.
  const impossible = random && wrong.length === 0 ? impossibleTotals(stored, before, shares, sync) : undefined;
  const hints = random
    ? impossible === undefined
      ? []
      : unlessEqual(`${family} hints by zone`, [...impossible], hintTotals(stored))
    : unlessEqual(`${family} hints (${result.reason})`, hintsByAddress(slicesOf(result.plan)), hintsByAddress(stored));
  return { findings: [...wrong, ...hints], events: result.events, hinted: result.hinted };
};

const withoutFamily = (text: string): string => text.replace(/, addressType: IPv[46]$/, '');

/** Everything about one Service on which the controller and its model differ; empty when they agree. */
export const judgeController = (facts: ControllerFacts): Finding[] => {
  const families = facts.service.spec?.ipFamilies ?? ['IPv4'];
  const shares = zoneShares(facts.nodes);
  const judged = families.map((family) => judgeFamily(facts, family, shares));
  const texts = (events: readonly Pick<Event, 'type' | 'reason' | 'message'>[]): string[] =>
    events.map(({ type, reason, message }) => `${type} ${reason} ${message}`);
  const expected = [
    ...new Set([...texts(facts.before?.events ?? []), ...judged.flatMap(({ events }) => texts(events))]),
  ].sort();
  const actual = [...new Set(texts(facts.events))].sort();
  // "Hinted" is remembered per Service: of two families the one that comes first, in random order, reports it.
  const once = judged.length > 1 && judged.every(({ hinted }) => hinted);
  const events = once
    ? unlessEqual('events', [withoutFamily(expected[0] ?? '')], actual.map(withoutFamily))
    : unlessEqual('events', expected, actual);
  return [...judged.flatMap(({ findings }) => findings), ...events];
};
