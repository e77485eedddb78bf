// What the loop keeps of each Service between two reconciles, and the planning job made of it.
import type { Service } from '../../apis/core.ts';
import type { FlowPolicy } from '../../apis/flow-policy.ts';
import { defined } from '../../apis/values.ts';
import type { FindingsInput, PlanLimit } from '../../flow/assemble/conditions.ts';
import { viewsOfEndpoints } from '../../flow/assemble/slice.ts';
import type { PlanJob } from '../../flow/assemble/job.ts';
import type { PodCpu, TurnInput } from '../../flow/assemble/turn.ts';
import type { HintsInForce } from '../../flow/demand/arrivals.ts';
import type { LoopState } from '../../flow/loop/types.ts';
import type { Bounds } from '../../flow/types.ts';
import type { Clock } from '../../kubernetes/types.ts';
import type { PlannedStrategy } from '../../apis/names.ts';
import type { KnownLoad } from './loads.ts';
import type { Planned } from './planning.ts';

/** What is cached of one Service and of what it depends on. */
export interface Snapshot extends Pick<TurnInput, 'slices' | 'zones' | 'podCpu'> {
  readonly service: Service;
  readonly policy: FlowPolicy | undefined;
}

export interface Outcome extends Pick<
  FindingsInput,
  'strategy' | 'settings' | 'time' | 'refused' | 'turn' | 'limited' | 'inForce' | 'losing'
> {
  readonly key: string;
  readonly snapshot: Snapshot;
  /** What no plan could beat. */
  readonly bounds?: Bounds | undefined;
  readonly load: KnownLoad | undefined;
}

interface Memory {
  state: LoopState | undefined;
  /** The last plan: the only thing kept for `proportional`, which has no state. */
  plan: HintsInForce | undefined;
  /** Why its plan is not all that a search could have found. */
  limited: PlanLimit | undefined;
  /** What the last plan was made of. */
  basis: readonly unknown[];
  readonly strategy: PlannedStrategy;
}

/** What a plan is made of, beside time and load. Slices and zones are those of the caches: the same objects as long as nothing changed. */
export const basisOf = ({ slices, zones, policy }: Snapshot): readonly unknown[] => [
  zones,
  JSON.stringify(policy?.spec),
  ...slices,
];

export const isSameBasis = (one: readonly unknown[], other: readonly unknown[]): boolean =>
  one.length === other.length && one.every((part, index) => part === other[index]);

export const createMemories = () => {
  const memories = new Map<string, Memory>();
  return {
    has: (key: string): boolean => memories.has(key),
    /** That of the Service; a new one where the strategy is another than before. */
    of(key: string, strategy: PlannedStrategy): Memory {
      const known = memories.get(key);
      if (known?.strategy === strategy) return known;
      const fresh: Memory = { state: undefined, plan: undefined, limited: undefined, basis: [], strategy };
      memories.set(key, fresh);
      return fresh;
    },
    forget: (key: string): void => void memories.delete(key),
  };
};

/** Why the plan in force is limited: as before while no new one is made. */
const limitOf = (before: PlanLimit | undefined, { timedOut, cutShort, turn }: Planned): PlanLimit | undefined => {
  if (timedOut) return 'PlanTimedOut';
  if (cutShort) return 'PlanCutShort';
  return turn.decision === undefined || turn.decision.changed || before === 'PlanTimedOut' ? undefined : before;
};

export const remember = (memory: Memory, planned: Planned): void => {
  memory.state = planned.turn.state;
  memory.plan = planned.turn.plan;
  memory.limited = limitOf(memory.limited, planned);
};

/** More than clocks are corrected by in passing. */
const SET_BACK_SECONDS = 60;

/** Seconds since 1970. Never goes back, unless the clock was far ahead and was set right: the loop would stand still until then. */
export const loopTime = (clock: Pick<Clock, 'now'>): (() => number) => {
  let latest = 0;
  return () => {
    const now = clock.now() / 1_000;
    return (latest = now < latest - SET_BACK_SECONDS ? now : Math.max(latest, now));
  };
};

/** What the Pods of the endpoints report of their CPU. */
const cpuOf = ({ slices, podCpu }: Snapshot): Map<string, PodCpu> => {
  const cpu = new Map<string, PodCpu>();
  for (const { pod } of viewsOfEndpoints(slices)) {
    const reported = podCpu(pod);
    if (reported !== undefined) cpu.set(pod, reported);
  }
  return cpu;
};

/** `remembered`: a plan that an earlier process made; `time`: seconds since 1970. */
export const jobOf = (
  memory: Memory,
  snapshot: Snapshot,
  load: KnownLoad | undefined,
  remembered: HintsInForce | undefined,
  time: number,
): PlanJob => {
  const { slices, zones, policy } = snapshot;
  const spec = policy?.spec ?? {};
  if (memory.strategy === 'proportional') return { kind: 'weight', spec, slices, zones, planned: memory.plan };
  // What was seen at a time that has yet to come is of a clock that was ahead.
  const state = memory.state !== undefined && memory.state.freshAt > time ? undefined : memory.state;
  return {
    kind: 'load',
    spec,
    slices,
    zones,
    time,
    cpu: cpuOf(snapshot),
    load: load?.load,
    state,
    // Of no use to a plan that is in force, and a fifth of what goes to the planning thread.
    proposed: spec.mode === 'Observe' ? memory.plan : undefined,
    ...defined({ remembered }),
  };
};
