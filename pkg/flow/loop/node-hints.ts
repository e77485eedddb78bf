// SPDX-License-Identifier: Apache-2.0
// Hints for Nodes above the loop's plan of zones: made with it, kept while they fit, gone where nothing is known of the Nodes' demand.
import { coresPerUnit } from '../demand/arrivals.ts';
import { hintsOf, nodesOf } from '../demand/in-force.ts';
import type { HintsInForce } from '../demand/in-force.ts';
import { nodeFigures, planNodeSteps } from '../node-steps.ts';
import type { ClientNode, NodeStepsInput } from '../node-steps.ts';
import { amountOf } from '../own.ts';
import type { Demand } from '../types.ts';
import { SURE_ENOUGH } from './observe.ts';
import { readyOf } from './topology.ts';
import type { LoopDecision, LoopPolicy, LoopState, NodeMemory, Observation } from './types.ts';

interface Stepped {
  readonly state: LoopState;
  readonly decision: LoopDecision;
}

/** A Node's part of its zone is averaged for about so long: windows of meters are short, and Nodes have few connections. */
const HALF_LIFE_SECONDS = 60;
/** A Node that asks for less than this part of all is forgotten. */
const FORGOTTEN = 0.001;

/** Averages with a new window; Nodes that it does not name ask for nothing. */
const remembered = (before: NodeMemory | undefined, { measured }: Observation): NodeMemory | undefined => {
  const nodes = measured?.counts?.nodes;
  if (nodes === undefined || measured === undefined || measured.sampledAt <= (before?.at ?? -Infinity)) return before;
  const kept = before === undefined ? 0 : 0.5 ** ((measured.sampledAt - before.at) / HALF_LIFE_SECONDS);
  const rates = new Map(
    Object.entries(before?.rates ?? {}).map(([name, { zone, rate }]) => [name, { zone, rate: kept * rate }]),
  );
  for (const { name, zone, rate } of nodes)
    rates.set(name, { zone, rate: (rates.get(name)?.rate ?? 0) + (1 - kept) * rate });
  const all = [...rates.values()].reduce((sum, { rate }) => sum + rate, 0);
  const known = [...rates].filter(([, { rate }]) => rate > FORGOTTEN * all);
  return { at: measured.sampledAt, rates: Object.fromEntries(known), plannedAt: before?.plannedAt ?? null };
};

/** Each zone's demand, in proportion to what its Nodes were seen to ask for; undefined where a zone's Nodes are not known. */
const clientNodes = ({ rates }: NodeMemory, demand: Demand): ClientNode[] | undefined => {
  const sums: Record<string, number> = {};
  for (const { zone, rate } of Object.values(rates)) sums[zone] = amountOf(sums, zone) + rate;
  if (Object.entries(demand).some(([zone, cores]) => cores > 0 && amountOf(sums, zone) === 0)) return undefined;
  return Object.entries(rates).map(([name, { zone, rate }]) => ({
    name,
    zone,
    demand: (amountOf(demand, zone) * rate) / amountOf(sums, zone),
  }));
};

const without = (plan: HintsInForce): HintsInForce => ({
  ...plan,
  endpoints: plan.endpoints.map(({ name, forZones }) => ({ name, forZones })),
});

const named = (plan: HintsInForce, nodes: (name: string) => readonly string[]): HintsInForce => ({
  ...plan,
  endpoints: plan.endpoints.map(({ name, forZones }) => ({ name, forZones, forNodes: nodes(name) })),
});

/** Demand is counted, and not guessed: hints for Nodes make the load of endpoints say nothing of zones. */
const isCounted = ({ counting, safe }: LoopState): boolean =>
  !safe && (coresPerUnit(counting?.known ?? null)?.uncertainty ?? Infinity) <= SURE_ENOUGH;

const inputOf = (
  policy: LoopPolicy,
  { plan }: LoopState,
  { demand }: LoopDecision,
  memory: NodeMemory,
  observation: Observation,
): NodeStepsInput | undefined => {
  const nodes = clientNodes(memory, demand);
  const hints = hintsOf(plan);
  const { targetUtilization, cost } = policy;
  return nodes === undefined
    ? undefined
    : {
        endpoints: readyOf(observation).map(({ name, zone, capacity }) => ({
          name,
          zone,
          capacity,
          forZones: hints({ name, zone }),
        })),
        nodes,
        targetUtilization,
        ...(cost === undefined ? {} : { cost }),
      };
};

/** Those in force as long as they fit; made anew with the zones' plan, where load is too high, and now and then where that saves enough. */
const nodesFor = (
  policy: LoopPolicy,
  before: LoopState,
  { decision }: Stepped,
  memory: NodeMemory,
  input: NodeStepsInput,
): {
  readonly nodes: (name: string) => readonly string[];
  readonly planned: boolean;
  /** Load is too high under those in force. */
  readonly high: boolean;
} => {
  const old = nodesOf(before.plan);
  const current = nodeFigures(input, old);
  const inForce = !decision.changed && input.endpoints.every(({ name }) => old(name).length > 0);
  const high = current.maxUtilization > policy.upperUtilization;
  const patience = high ? policy.planIntervalSeconds : policy.downDwellSeconds;
  const kept = inForce ? old : () => [];
  const anew = decision.changed || decision.reason === 'TopologyChanged';
  if (!anew && decision.time - (memory.plannedAt ?? -Infinity) < patience) return { nodes: kept, planned: false, high };
  const steps = planNodeSteps(input);
  const zones = nodeFigures(input, () => []);
  const compared = inForce ? current : zones;
  const total = input.nodes.reduce((sum, { demand }) => sum + demand, 0);
  if (steps === undefined) return { nodes: inForce && !high ? old : () => [], planned: true, high };
  const saves = compared.crossZoneCost - steps.crossZoneCost > policy.worthwhileSaving * total;
  if (!saves && !(inForce && high)) return { nodes: kept, planned: true, high };
  const found = new Map(steps.endpoints.map(({ name, forNodes }) => [name, forNodes]));
  return { nodes: (name) => found.get(name) ?? [], planned: true, high };
};

/** The step's answer with hints for Nodes where the policy asks for them and the source shows the demand of each Node's clients. */
export const withNodeHints = (
  policy: LoopPolicy,
  before: LoopState,
  next: Stepped,
  observation: Observation,
): Stepped => {
  if (policy.nodeHints !== true) return next;
  const { state, decision } = next;
  const memory = remembered(before.nodes, observation);
  const bare = { ...state, plan: without(state.plan), ...(memory === undefined ? {} : { nodes: memory }) };
  const input = memory === undefined ? undefined : inputOf(policy, bare, decision, memory, observation);
  if (memory === undefined || input === undefined || bare.plan.spread || !isCounted(state))
    return { state: bare, decision };
  const { nodes, planned, high } = nodesFor(policy, before, next, memory, input);
  const any = input.endpoints.every(({ name }) => nodes(name).length > 0);
  const old = nodesOf(before.plan);
  const same = input.endpoints.every(({ name }) => (any ? nodes(name) : []).join() === old(name).join());
  const plan = any ? named(bare.plan, nodes) : bare.plan;
  return {
    state: { ...bare, plan, nodes: { ...memory, plannedAt: planned ? decision.time : memory.plannedAt } },
    decision: {
      ...decision,
      changed: decision.changed || !same,
      ...(decision.changed || same ? {} : { reason: 'NodesChanged', ...(any && !high ? { saves: true } : {}) }),
      endpoints: plan.endpoints,
      ...(any ? { inZoneShare: nodeFigures(input, nodes).inZoneShare } : {}),
    },
  };
};
