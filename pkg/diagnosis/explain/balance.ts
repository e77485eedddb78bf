// What routing by zone does to traffic as predicted: how much stays, which hints send it elsewhere, who carries too much.
import type { Node } from '../../apis/core.ts';
import { defined } from '../../apis/defined.ts';
import { inZoneShare, trafficOf, worstOverload } from '../../upstream/index.ts';
import type { Traffic } from '../../upstream/index.ts';
import { cause, counted, listed } from './cause.ts';
import { sharesText } from './given.ts';
import type { Cause, Facts, FamilyRoute } from './types.ts';

const HUNDRED = 100;
/** Twice its even share: upstream's own limit of 20 % is exceeded by most Services without complaints. */
const UNEVEN = 1;

const percentOf = (fraction: number): string => `${Math.round(fraction * HUNDRED)} %`;

/** Connections of one family and port, of clients in the client zones and on Nodes without zone; undefined where nothing answers. */
const trafficOn = ({ clientZones, index }: Facts, routes: readonly FamilyRoute[]): Traffic | undefined => {
  if (routes.every(({ used }) => used.length === 0)) return undefined;
  const clients = routes.filter(
    ({ zone, reason }) => reason !== 'RouterUnknown' && (zone === '' || clientZones.includes(zone)),
  );
  const routeOf = new Map(clients.map((route) => [route.node, route]));
  const of = ({ metadata }: Node): FamilyRoute | undefined => routeOf.get(metadata?.name ?? '');
  return trafficOf({
    nodes: clients.flatMap(({ nodes }) => nodes.slice(0, 1)),
    countOf: (node) => of(node)?.nodes.length ?? 0,
    endpointsFor: (node) => of(node)?.used ?? [],
    ...defined({ weights: index.weights }),
  });
};

const byFamilyAndPort = ({ routes }: Facts): (readonly FamilyRoute[])[] => [
  ...Map.groupBy(routes, ({ family, port }) => `${family} ${port}`).values(),
];

/** Connections of each family and port that something answers. */
export const trafficsOf = (facts: Facts): { readonly family: string; readonly traffic: Traffic }[] =>
  byFamilyAndPort(facts).flatMap((routes) => {
    const traffic = trafficOn(facts, routes);
    return traffic === undefined ? [] : [{ family: routes[0]?.family ?? '', traffic }];
  });

/** Mean over families and ports; those that nothing answers do not count. Null where there is nothing to predict. */
export const meanInZoneShare = (facts: Facts): number | null => {
  const arriving = trafficsOf(facts).filter(({ traffic }) => traffic.matrix.size > 0 && traffic.lost < 1);
  const placed = facts.routes.some(({ used }) => used.some(({ zone }) => zone !== ''));
  if (arriving.length === 0 || !placed) return null;
  return arriving.reduce((sum, { traffic }) => sum + inZoneShare(traffic), 0) / arriving.length;
};

/** The CPU heuristic lends endpoints of one zone to another: such hints keep no traffic in its zone. */
const lentCauses = (facts: Facts): Cause[] => {
  const { request, strategy, endpoints } = facts;
  if (request.mode !== 'proportional' || strategy !== undefined) return [];
  const lent = endpoints.filter(({ zone, forZones }) => forZones.length > 0 && !forZones.includes(zone));
  if (lent.length === 0) return [];
  const names = lent.map(({ address, zone, forZones }) => `${address} of ${zone} for ${forZones.join(', ')}`);
  const evidence = `${lent.length} of ${counted(endpoints.length, 'ready endpoint')} hinted for another zone than their own: ${listed(names)}. CPU shares are ${sharesText(facts)}.`;
  return [cause('effective', 'HintedForOtherZone', evidence)];
};

const unevenCause = (facts: Facts, routes: readonly FamilyRoute[]): Cause[] => {
  const count = facts.families.find(({ family }) => family === routes[0]?.family)?.endpoints.length ?? 0;
  const traffic = trafficOn(facts, routes);
  if (traffic === undefined || count === 0 || routes.every(({ mode }) => mode === '')) return [];
  // Sums of shares are not exact, and "twice" should be what it says.
  if (worstOverload(traffic, count) < UNEVEN - 1e-9) return [];
  const [key, load] = [...traffic.endpoints].reduce((most, next) => (next[1] > most[1] ? next : most));
  const zone = routes.flatMap(({ used }) => used).find((endpoint) => endpoint.key === key)?.zone ?? '';
  const times = (load * count).toFixed(1);
  const evidence = `Endpoint ${key} in ${zone} gets ${percentOf(load)} of all connections, ${times} times an even share over ${count} endpoints, if clients are ${facts.index.weights === undefined ? 'equally many on every Node' : 'where the CPU of the Nodes is'}.`;
  return [cause('prerequisite', 'UnevenLoad', evidence)];
};

/** Hints that are followed and still cost something. */
export const balanceCauses = (facts: Facts): Cause[] => [
  ...lentCauses(facts),
  ...byFamilyAndPort(facts).flatMap((routes) => unevenCause(facts, routes)),
];
