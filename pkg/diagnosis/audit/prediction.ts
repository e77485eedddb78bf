// Where the connections of one Service go now, and where they would go if it were routed by zone.
import type { Node } from '../../apis/core.ts';
import { defined } from '../../apis/defined.ts';
import { zoneOfNode } from '../../apis/readings.ts';
import { trafficOf, worstOverload } from '../../upstream/index.ts';
import type { Traffic } from '../../upstream/index.ts';
import { trafficsOf } from '../explain/balance.ts';
import type { Facts, FamilyFacts } from '../explain/types.ts';
import type { TrafficShares } from '../prices.ts';
import { meanMatrix } from './matrix.ts';

export interface Prediction {
  readonly now: TrafficShares;
  readonly overload: number;
  /** With the endpoints as they are. */
  readonly routedByZone: TrafficShares;
  readonly overloadRoutedByZone: number;
}

interface Family {
  readonly traffic: Traffic;
  /** Ready endpoints. */
  readonly count: number;
}

/** A client zone keeps to its own endpoints; one without any spreads over all. */
const byZone = ({ index, clientZones }: Facts, { endpoints }: FamilyFacts): Traffic => {
  const all = endpoints.map(({ address, zone }) => ({ key: address, zone }));
  const zones = Map.groupBy(all, ({ zone }) => zone);
  const groups = index.groups.filter(([first]) => first !== undefined && clientZones.includes(zoneOfNode(first)));
  const sizes = new Map<Node | undefined, number>(groups.map((group) => [group[0], group.length]));
  return trafficOf({
    nodes: groups.flatMap((group) => group.slice(0, 1)),
    countOf: (node) => sizes.get(node) ?? 0,
    endpointsFor: (node) => zones.get(zoneOfNode(node)) ?? all,
    ...defined({ weights: index.weights }),
  });
};

const worstOf = (families: readonly Family[]): number =>
  Math.max(0, ...families.map(({ traffic, count }) => worstOverload(traffic, count)));

/** Undefined where no proxy routes the Service, nothing answers, or no client is known. */
export const predict = (facts: Facts): Prediction | undefined => {
  const { families } = facts;
  const countOf = (name: string): number => families.find(({ family }) => family === name)?.endpoints.length ?? 0;
  const present = trafficsOf(facts).map(({ family, traffic }) => ({ traffic, count: countOf(family) }));
  const future = families
    .filter(({ endpoints }) => endpoints.length > 0)
    .map((family) => ({ traffic: byZone(facts, family), count: family.endpoints.length }));
  const now = meanMatrix(present.map(({ traffic }) => traffic));
  const routedByZone = meanMatrix(future.map(({ traffic }) => traffic));
  if (now === undefined || now.size === 0) return undefined;
  // Nothing is ready, and terminating endpoints answer: hints would change nothing.
  const other = routedByZone ?? now;
  return {
    now,
    overload: worstOf(present),
    routedByZone: other,
    overloadRoutedByZone: routedByZone === undefined ? worstOf(present) : worstOf(future),
  };
};
