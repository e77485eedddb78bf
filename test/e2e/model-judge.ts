// SPDX-License-Identifier: Apache-2.0
// Compares what the control plane stored for one Service with what the model of the EndpointSlice controller says.
import type { Endpoint, EndpointHints, EndpointSlice, Event, Node, Service } from '../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { LABEL_ZONE } from '../../pkg/apis/names.ts';
import type { KubernetesVersion } from '../../pkg/routing/types.ts';
import { endpointConditions, syncHints, zoneShares } from '../../pkg/upstream/index.ts';
import type { SyncResult, ZoneShares } from '../../pkg/upstream/index.ts';

export interface Pod extends KubernetesObject {
  spec?: { nodeName?: string };
  status?: {
    podIPs?: { ip: string }[];
    conditions?: { type: string; status: string }[];
  };
}

/** Everything that the API holds about one Service, and about the cluster. */
export interface ControllerFacts {
  readonly service: Service;
  readonly slices: readonly EndpointSlice[];
  readonly nodes: readonly Node[];
  /** Pods that the Service selects. */
  readonly pods: readonly Pod[];
  /** Events about the Service. */
  readonly events: readonly Event[];
  readonly version: KubernetesVersion;
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

const permutations = (names: readonly string[]): string[][] =>
  names.length === 0
    ? [[]]
    : names.flatMap((name) => permutations(names.filter((other) => other !== name)).map((rest) => [name, ...rest]));

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

/** Totals by zone for every way to break ties between zones; the original follows random map order. */
const possibleTotals = (
  { ratios, milliCpu }: Extract<ZoneShares, { kind: 'known' }>,
  fresh: readonly EndpointSlice[],
  sync: (shares: ZoneShares, create: readonly EndpointSlice[]) => SyncResult,
): Set<string> => {
  const zones = [...ratios.keys()];
  const invert = (names: ReadonlyMap<string, string>) => new Map([...names].map(([from, to]) => [to, from]));
  return new Set(
    permutations(zones).map((order) => {
      const names = new Map(zones.map((zone, index) => [zone, order[index] ?? zone]));
      const other = new Map([...ratios].map(([zone, ratio]) => [names.get(zone) ?? zone, ratio]));
      const { plan } = sync({ kind: 'known', ratios: other, milliCpu }, renamed(fresh, names));
      return hintTotals(renamed(plan.create, invert(names)));
    }),
  );
};

/** One address family: endpoints made from Pods, then their hints. */
const judgeFamily = (facts: ControllerFacts, family: string, shares: ZoneShares) => {
  const { service, pods, version } = facts;
  const stored = facts.slices.filter(({ addressType }) => addressType === family);
  const expected = pods
    .map((pod) => podAsEndpoint(pod, facts, family))
    .sort((a, b) => (a.address < b.address ? -1 : 1));
  const wrong = unlessEqual(`${family} endpoints`, expected, endpointsOf(stored).map(asListed));
  // Just created, so the controller has rebuilt every slice from Pods: none has hints to begin with.
  const fresh = stored.map((slice) => ({
    ...slice,
    endpoints: (slice.endpoints ?? []).map(({ hints: _, ...rest }) => rest),
  }));
  const sync = (known: ZoneShares, create: readonly EndpointSlice[]): SyncResult =>
    syncHints({ service, plan: { create, update: [], unchanged: [] }, family, shares: known, version });
  const result = sync(shares, fresh);
  const random = result.mode === 'proportional' && result.hinted && shares.kind === 'known';
  const totals = random ? possibleTotals(shares, fresh, sync) : new Set<string>();
  const hints = random
    ? totals.has(hintTotals(stored))
      ? []
      : unlessEqual(`${family} hints by zone`, [...totals], hintTotals(stored))
    : unlessEqual(`${family} hints (${result.reason})`, hintsByAddress(result.plan.create), hintsByAddress(stored));
  return { findings: [...wrong, ...hints], events: result.events, hinted: result.hinted };
};

const withoutFamily = (text: string): string => text.replace(/, addressType: IPv[46]$/, '');

/** Everything about one Service on which the controller and its model differ; empty when they agree. */
export const judgeController = (facts: ControllerFacts): Finding[] => {
  const families = facts.service.spec?.ipFamilies ?? ['IPv4'];
  const shares = zoneShares(facts.nodes);
  const judged = families.map((family) => judgeFamily(facts, family, shares));
  const expected = [
    ...new Set(
      judged.flatMap(({ events }) => events.map(({ type, reason, message }) => `${type} ${reason} ${message}`)),
    ),
  ].sort();
  const actual = [...new Set(facts.events.map(({ type, reason, message }) => `${type} ${reason} ${message}`))].sort();
  // "Hinted" is remembered per Service: of two families the one that comes first, in random order, reports it.
  const once = judged.length > 1 && judged.every(({ hinted }) => hinted);
  const events = once
    ? unlessEqual('events', [withoutFamily(expected[0] ?? '')], actual.map(withoutFamily))
    : unlessEqual('events', expected, actual);
  return [...judged.flatMap(({ findings }) => findings), ...events];
};
