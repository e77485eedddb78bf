// What the planner is measured beside: upstream's algorithm, and own zones.
import type { EndpointSlice } from '../../../pkg/apis/core.ts';
import { evaluatePlan } from '../../../pkg/flow/evaluate.ts';
import { planHints } from '../../../pkg/flow/planner.ts';
import type { FlowEndpoint, PlanInput } from '../../../pkg/flow/types.ts';
import { allocate, hintProportionally } from '../../../pkg/upstream/index.ts';

export interface Outcome {
  /** By endpoint in the order of the input. */
  readonly hints: readonly (readonly string[])[];
  readonly exact?: boolean;
  readonly bound?: number;
}

export interface Contender {
  readonly name: string;
  readonly plan: (input: PlanInput) => Outcome;
}

const planner: Contender = {
  name: '**planner**',
  plan: (input) => {
    const { endpoints, exact, bounds } = planHints(input);
    const hints = new Map(endpoints.map(({ name, forZones }) => [name, forZones]));
    return { hints: input.endpoints.map(({ name }) => hints.get(name) ?? []), exact, bound: bounds.integrality };
  },
};

/** With the demand for CPU shares, which is the best that it could know. */
const upstream: Contender = {
  name: 'EndpointSlice controller (`pkg/upstream`)',
  plan: ({ endpoints, demand }) => {
    const total = Object.values(demand).reduce((sum, cores) => sum + cores, 0);
    const shares = new Map(Object.entries(demand).map(([zone, cores]) => [zone, cores / total]));
    const allocation = allocate(shares, endpoints.length);
    if (allocation.kind === 'refused') return { hints: endpoints.map(() => []) };
    const slice: EndpointSlice = {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: 'bench' },
      addressType: 'IPv4',
      endpoints: endpoints.map(({ name, zone }) => ({ addresses: [name], zone, conditions: { ready: true } })),
    };
    const result = hintProportionally({ create: [slice], update: [], unchanged: [] }, allocation.zones);
    if (result.kind === 'refused') return { hints: endpoints.map(() => []) };
    const hinted = result.plan.create.flatMap((created) => created.endpoints ?? []);
    return { hints: hinted.map(({ hints }) => (hints?.forZones ?? []).map(({ name }) => name)) };
  },
};

const sameZone: Contender = {
  name: 'own zones',
  plan: ({ endpoints }) => ({ hints: endpoints.map(({ zone }) => [zone]) }),
};

const hinted = (endpoints: readonly FlowEndpoint[], hints: Outcome['hints']): FlowEndpoint[] =>
  endpoints.map((endpoint, index) => ({ ...endpoint, forZones: hints[index] ?? [] }));

export const CONTENDERS: readonly Contender[] = [planner, upstream, sameZone];

/** What a contender's hints lead to. */
export const figuresOf = (input: PlanInput, { hints }: Outcome): ReturnType<typeof evaluatePlan> =>
  evaluatePlan({ ...input, endpoints: hinted(input.endpoints, hints) });
