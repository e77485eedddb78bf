// The contenders: each turns a case into hints, as groups of endpoints that serve the same zones.
import { type Group, type Problem, createProblem } from '../../../pkg/flow/problem.ts';
import { solve } from '../../../pkg/flow/solve.ts';
import { allocate, planLending } from '../../../pkg/upstream/index.ts';
import type { Case } from './grid.ts';

const NAMES = ['a', 'b', 'c'] as const;

/** Demand in proportion to nodes; every endpoint may carry `theta` more than its fair share. */
export const problemOf = ({ nodes, endpoints }: Case, theta: number): Problem => {
  const all = nodes[0] + nodes[1] + nodes[2];
  const limit = (1 + theta) / (endpoints[0] + endpoints[1] + endpoints[2]);
  return createProblem({
    demand: nodes.map((count) => count / all),
    classes: endpoints.flatMap((count, zone) => (count > 0 ? [{ zone, count, limit, idle: false }] : [])),
    minEndpoints: 1,
  });
};

/** Own zones, but for the endpoints that zones give to others; who gives to whom makes no difference. */
export const lend = (problem: Problem, give: readonly number[], receive: readonly number[]): Group[] => {
  const open = [...receive];
  return problem.classes.flatMap(({ zone, count }, kind) => {
    let lent = give[zone] ?? 0;
    const groups: Group[] = count > lent ? [{ kind, zones: [zone], count: count - lent }] : [];
    for (let taker = 0; taker < open.length && lent > 0; taker += 1) {
      const taken = Math.min(lent, open[taker] ?? 0);
      if (taken === 0) continue;
      open[taker] = (open[taker] ?? 0) - taken;
      lent -= taken;
      groups.push({ kind, zones: [taker], count: taken });
    }
    return groups;
  });
};

/** pkg/upstream's model of the EndpointSlice controller; undefined where it gives no hints. */
export const upstreamGroups = ({ nodes, endpoints }: Case, problem: Problem): Group[] | undefined => {
  const cpu = nodes[0] + nodes[1] + nodes[2];
  const ratios = new Map(NAMES.map((name, zone) => [name as string, (nodes[zone] ?? 0) / cpu]));
  const allocation = allocate(ratios, problem.total);
  if (allocation.kind === 'refused') return undefined;
  const own = new Map(
    NAMES.flatMap((name, zone) => (endpoints[zone] === 0 ? [] : [[name as string, endpoints[zone] ?? 0]])),
  );
  const { give, receive } = planLending(allocation.zones, own);
  return lend(
    problem,
    NAMES.map((name) => give.get(name) ?? 0),
    NAMES.map((name) => receive.get(name) ?? 0),
  );
};

export interface Planned {
  readonly groups: readonly Group[];
  /** Upper bounds on the in-zone share, as fractions. */
  readonly lp: number;
  readonly integrality: number;
  readonly exact: boolean;
}

export const plannerGroups = (problem: Problem): Planned => {
  const { solution, crossing, exact } = solve(problem);
  return { groups: solution.groups, lp: 1 - crossing.transportation, integrality: 1 - crossing.integrality, exact };
};
