// Observations for the tests of the loop, and a Service that does exactly what its hints say.
import { hintsOf, sharingOf } from '../../../../pkg/flow/demand/arrivals.ts';
import { DEFAULT_LOOP_POLICY } from '../../../../pkg/flow/loop/from-spec.ts';
import { step } from '../../../../pkg/flow/loop/step.ts';
import type {
  LoopDecision,
  LoopPolicy,
  LoopState,
  Observation,
  ObservedEndpoint,
} from '../../../../pkg/flow/loop/types.ts';
import type { Demand } from '../../../../pkg/flow/types.ts';

export const WINDOW = 15;

/** Endpoints of one core by zone: `{ a: 2 }` gives a1 and a2. */
export const endpointsOf = (counts: Readonly<Record<string, number>>, capacity = 1): ObservedEndpoint[] =>
  Object.entries(counts).flatMap(([zone, count]) =>
    Array.from({ length: count }, (_, index) => ({
      name: `${zone}${index + 1}`,
      zone,
      ready: true,
      capacity,
      load: null,
      sampledAt: null,
    })),
  );

export const observation = (
  time: number,
  endpoints: readonly ObservedEndpoint[],
  zones = ['a', 'b', 'c'],
): Observation => ({ time, zones, endpoints, window: WINDOW });

export interface ServiceOptions {
  readonly endpoints: (time: number) => readonly ObservedEndpoint[];
  readonly demand: (time: number) => Demand;
  readonly policy?: Partial<LoopPolicy>;
  readonly zones?: readonly string[];
  /** Factor on a sample. */
  readonly noise?: () => number;
  /** No samples while it says so. */
  readonly silent?: (time: number) => boolean;
}

/** A Service under the loop, one step every fifteen seconds with the samples of the window before. */
export interface LoopedService {
  /** Goes on to a time; the decisions on the way. */
  runTo(time: number): LoopDecision[];
  state(): LoopState | undefined;
}

/** Loads follow the hints at once and are clipped at the capacity; samples end when they are read. */
export const looped = (options: ServiceOptions): LoopedService => {
  const { endpoints, demand, policy, zones = ['a', 'b', 'c'], noise, silent } = options;
  let state: LoopState | undefined;
  let time = 0;
  let samples = new Map<string, number>();
  const advance = (): LoopDecision => {
    const present = endpoints(time);
    const quiet = silent?.(time) === true;
    const seen = present.map((endpoint) => {
      const load = quiet ? undefined : samples.get(endpoint.name);
      return { ...endpoint, load: load ?? null, sampledAt: load === undefined ? null : time };
    });
    const next = step({ ...DEFAULT_LOOP_POLICY, settleSeconds: 0, ...policy }, state, {
      ...observation(time, seen),
      zones,
    });
    ({ state } = next);
    const hints = hintsOf(state.plan);
    const { sharers, orphans } = sharingOf([...zones].sort(), present, state.plan);
    const asked = demand(time);
    samples = new Map(
      present.map((endpoint) => {
        const load = [...zones].sort().reduce((sum, zone, index) => {
          const serves = hints(endpoint).includes(zone) || orphans.includes(zone);
          return sum + (serves ? (asked[zone] ?? 0) / (sharers[index] ?? 1) : 0);
        }, 0);
        return [endpoint.name, Math.min(endpoint.capacity, load * (noise?.() ?? 1))];
      }),
    );
    time += WINDOW;
    return next.decision;
  };
  return {
    runTo: (end) => {
      const decisions: LoopDecision[] = [];
      while (time <= end) decisions.push(advance());
      return decisions;
    },
    state: () => state,
  };
};

/** Hints that are not of the endpoint's own zone alone, as `name:zones`. */
export const spill = ({ spread, endpoints }: LoopDecision): string[] =>
  spread
    ? ['spread']
    : endpoints
        .filter(({ name, forZones }) => forZones.join() !== name[0])
        .map(({ name, forZones }) => `${name}:${forZones.join('+')}`);

export const changes = (decisions: readonly LoopDecision[]): LoopDecision[] =>
  decisions.filter(({ changed }) => changed);

export const last = (decisions: readonly LoopDecision[]): LoopDecision => decisions.at(-1) as LoopDecision;

export const three = () => endpointsOf({ a: 1, b: 1, c: 1 });
