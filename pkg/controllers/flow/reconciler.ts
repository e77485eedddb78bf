// SPDX-License-Identifier: Apache-2.0
// The turn of one Service: label, load, plan, slices, and what is told about it.
import type { FlowPolicySpec } from '../../apis/flow-policy.ts';
import { askOf } from '../../flow/assemble/ask.ts';
import type { Ask } from '../../flow/assemble/ask.ts';
import type { PlannedStrategy } from '../../routing/strategy.ts';
import { differs, patchFor, takeBackPatch } from '../../flow/assemble/patch.ts';
import type { FlowSlice } from '../../flow/assemble/slice.ts';
import type { PlanLimit } from '../../flow/assemble/conditions.ts';
import { endpointsOf } from '../../flow/assemble/endpoints.ts';
import type { PlanJob } from '../../flow/assemble/job.ts';
import type { PodCpu } from '../../flow/assemble/observation.ts';
import type { HintsInForce } from '../../flow/demand/in-force.ts';
import { settingsFromSpec } from '../../flow/loop/from-spec.ts';
import type { LoopState } from '../../flow/loop/types.ts';
import type { Client, Clock, Reconciler, Result } from '../../kubernetes/types.ts';
import { createPlanGuard, writeService, writeSlices } from './apply.ts';
import type { SliceWrites } from './apply.ts';
import { labelPlan, takeBackLabel } from './label.ts';
import { createLabelWriter } from './label-writer.ts';
import type { KnownLoad, LoadReader } from './loads.ts';
import { loadQueryOf } from './query.ts';
import type { Planned, Planning } from './planning.ts';
import { isOurs } from './status-writer.ts';
import type { Outcome, Refusal, Snapshot } from './types.ts';

export interface FlowReconcilerOptions {
  /** From the caches; undefined: there is no such Service, or it is not ours. */
  snapshot(key: string): Snapshot | undefined;
  /** The same for a Service whose namespace is not ours. */
  foreign(key: string): Snapshot | undefined;
  /** Whether enough is known to decide anything; where it is not, everything stays as it is. */
  known(): boolean;
  client: Pick<Client, 'patch'>;
  loads: LoadReader;
  planning: Planning;
  clock: Pick<Clock, 'now' | 'monotonic'>;
  /** In [0, 1): spreads the Services over their interval. */
  random: () => number;
  /** What is wrong with a spec; undefined for nothing. */
  checkSpec(spec: unknown): string | undefined;
  /** Told of every turn of a Service that asks for a plan. */
  onOutcome(outcome: Outcome, signal: AbortSignal): Promise<void>;
  /** The Service no longer asks for anything; undefined: it is gone. */
  onForgotten(key: string, snapshot: Snapshot | undefined, signal: AbortSignal): Promise<void>;
  /** EndpointSlices were written. */
  onWrite?(cause: 'plan' | 'reassert' | 'takeback' | 'conflict', slices: number): void;
  /** A plan that a FlowPolicy's status still holds, for slices that lost theirs. */
  rememberedPlan(snapshot: Snapshot): HintsInForce | undefined;
}

/** What is kept of a Service between its turns. */
interface Memory {
  state: LoopState | undefined;
  /** Of `proportional`, which has no state. */
  plan: HintsInForce | undefined;
  /** Why its plan is not all that a search could have found. */
  limited: PlanLimit | undefined;
  strategy: PlannedStrategy;
}

const DONE: Result = { kind: 'done' };
/** After a conflict the watch brings the newer slice; a safety resync. */
const CONFLICT_RETRY_MS = 1_000;
/** Plans without load are looked at this often even if nothing happens. */
const QUIET_MS = 60_000;

/** More than clocks are corrected by in passing. */
const SET_BACK_SECONDS = 60;

/** As the settings reconciler waits (ADR 0009). */
const LEAVE_AFTER_MS = 300_000;

const specOf = ({ policy }: Snapshot): FlowPolicySpec => policy?.spec ?? {};

const fingerprintOf = ({ spread, endpoints }: HintsInForce): string =>
  spread ? 'spread' : endpoints.map(({ name, forZones }) => `${name}=${forZones.join('+')}`).join(' ');

/** What the Pods of the endpoints say of their CPU. */
const cpuOf = ({ slices, podCpu }: Snapshot): Map<string, PodCpu> => {
  const cpu = new Map<string, PodCpu>();
  for (const { pod } of endpointsOf(slices)) {
    const said = podCpu(pod);
    if (said !== undefined) cpu.set(pod, said);
  }
  return cpu;
};

/** It stays what it was while no plan is made. */
const limitOf = (before: PlanLimit | undefined, { timedOut, cutShort, turn }: Planned): PlanLimit | undefined => {
  if (timedOut) return 'PlanTimedOut';
  if (cutShort) return 'PlanCutShort';
  return turn.decision === undefined || turn.decision.changed || before === 'PlanTimedOut' ? undefined : before;
};

const sooner = (result: Result, afterMs: number | undefined): Result => {
  if (afterMs === undefined) return result;
  return { kind: 'requeue', afterMs: result.kind === 'requeue' ? Math.min(result.afterMs, afterMs) : afterMs };
};

export const createFlowReconciler = (options: FlowReconcilerOptions): Reconciler => {
  const { client, loads, planning, clock, random, onOutcome, onForgotten } = options;
  const memories = new Map<string, Memory>();
  const guard = createPlanGuard(clock);
  const labels = createLabelWriter(client, clock);
  /** Since when this process sees that the namespace of a Service is not ours, monotonic milliseconds. */
  const leaving = new Map<string, number>();
  /** Services that this process released: admission may give them the label again that their annotation asks for. */
  const released = new Set<string>();
  let latest = 0;

  /** The loop's time never goes back, but where the clock was ahead and is set right: it would stand still until then. */
  const timeOf = (): number => {
    const now = clock.now() / 1_000;
    return (latest = now < latest - SET_BACK_SECONDS ? now : Math.max(latest, now));
  };

  const forget = async (key: string, snapshot: Snapshot | undefined, signal: AbortSignal): Promise<void> => {
    memories.delete(key);
    loads.forget(key);
    guard.forget(key);
    planning.forget(key);
    await onForgotten(key, snapshot, signal);
  };

  const count = (cause: 'plan' | 'reassert' | 'takeback', { written, conflicts }: SliceWrites): void => {
    if (written > 0) options.onWrite?.(cause, written);
    if (conflicts > 0) options.onWrite?.('conflict', conflicts);
  };

  /** Takes back what is on the slices; the next strategy, or nobody, has them then. */
  const release = async (slices: readonly FlowSlice[], signal: AbortSignal): Promise<Result> => {
    const writes = await writeSlices(slices, takeBackPatch, client, signal);
    count('takeback', writes);
    return writes.conflicts > 0 ? { kind: 'requeue', afterMs: CONFLICT_RETRY_MS } : DONE;
  };

  const memoryOf = (key: string, strategy: PlannedStrategy): Memory => {
    const known = memories.get(key);
    if (known?.strategy === strategy) return known;
    const fresh: Memory = { state: undefined, plan: undefined, limited: undefined, strategy };
    memories.set(key, fresh);
    return fresh;
  };

  const jobOf = (
    memory: Memory,
    snapshot: Snapshot,
    load: KnownLoad | undefined,
    remembered: HintsInForce | undefined,
  ): PlanJob => {
    const { slices, zones } = snapshot;
    const spec = specOf(snapshot);
    if (memory.strategy === 'proportional') return { kind: 'weight', spec, slices, zones, planned: memory.plan };
    const time = timeOf();
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
      proposed: memory.plan,
      ...(remembered === undefined ? {} : { remembered }),
    };
  };

  /** Brings the plan to the slices; undefined where there is nothing left to do. */
  const carryOut = async (
    key: string,
    plan: HintsInForce,
    writable: readonly FlowSlice[],
    signal: AbortSignal,
  ): Promise<{ retryMs: number | undefined; inForce: boolean }> => {
    const fingerprint = fingerprintOf(plan);
    if (!writable.some((slice) => differs(slice, plan))) {
      guard.confirmed(key, fingerprint);
      return { retryMs: undefined, inForce: true };
    }
    const permit = guard.admit(key, fingerprint);
    if (permit.kind === 'wait') return { retryMs: permit.afterMs, inForce: false };
    const writes = await writeSlices(writable, (slice) => patchFor(slice, plan), client, signal);
    count(permit.again ? 'reassert' : 'plan', writes);
    if (writes.written > 0) guard.written(key, fingerprint);
    const lost = writes.conflicts > 0;
    return { retryMs: lost ? CONFLICT_RETRY_MS : undefined, inForce: !lost };
  };

  const planned = async (
    key: string,
    snapshot: Snapshot,
    { strategy, writable }: Extract<Ask, { kind: 'planned' }>,
    signal: AbortSignal,
  ): Promise<Result> => {
    const first = !memories.has(key);
    const memory = memoryOf(key, strategy);
    const settings = settingsFromSpec(specOf(snapshot));
    const load = strategy === 'load-aware' ? await loads.read(key, settings, loadQueryOf(snapshot), signal) : undefined;
    const job = jobOf(memory, snapshot, load, first ? options.rememberedPlan(snapshot) : undefined);
    const answer = await planning.ask(key, job);
    signal.throwIfAborted();
    // It takes a while; the turn goes on when it is there.
    if (answer === undefined) return { kind: 'requeue', afterMs: QUIET_MS };
    const { turn, bounds } = answer;
    memory.state = turn.state;
    memory.plan = turn.plan;
    memory.limited = limitOf(memory.limited, answer);
    const { limited } = memory;
    const enforce = settings.mode === 'Enforce';
    const done = enforce ? await carryOut(key, turn.plan, writable, signal) : { retryMs: undefined, inForce: false };
    // Slices that somebody else wrote, without the label: proxies look at them too.
    const others = snapshot.slices.some((slice) => !writable.includes(slice) && differs(slice, turn.plan));
    const time = timeOf();
    const losing = enforce && guard.fighting(key);
    const { retryMs } = done;
    const inForce = done.inForce && !others;
    await onOutcome(
      { key, strategy, snapshot, settings, time, refused: undefined, turn, bounds, limited, load, inForce, losing },
      signal,
    );
    const dueMs = load?.dueInMs ?? QUIET_MS;
    // Services that began together do not stay together.
    const next = first ? dueMs * random() : dueMs;
    return { kind: 'requeue', afterMs: Math.max(1, Math.min(next, retryMs ?? Infinity)) };
  };

  const refuse = async (
    key: string,
    snapshot: Snapshot,
    strategy: PlannedStrategy,
    refused: Refusal,
    signal: AbortSignal,
  ): Promise<Result> => {
    const { reason } = refused;
    // It takes the EndpointSlice controller a moment; nobody has to know.
    if (reason === 'WaitingForSlices') return DONE;
    memoryOf(key, strategy).state = undefined;
    // A spec that is wrong says nothing that could be relied on.
    const settings = settingsFromSpec(reason === 'InvalidPolicy' ? {} : specOf(snapshot));
    const rest = { turn: undefined, load: undefined, inForce: false, losing: false };
    await onOutcome({ key, strategy, snapshot, settings, time: timeOf(), refused, ...rest }, signal);
    return reason === 'ConflictingMode' ? release(snapshot.slices, signal) : DONE;
  };

  /** Whether something of ours stands in a namespace that is not ours: whoever wrote it, the leader of now releases it. */
  const isLeftBehind = (key: string, { service, slices, policy }: Snapshot): boolean =>
    memories.has(key) ||
    slices.some(({ mark }) => mark !== undefined) ||
    (policy !== undefined && isOurs(policy)) ||
    (!released.has(key) && takeBackLabel(service).kind === 'patch');

  /** A Service in a namespace that is not ours is released after a while, in which the namespace's labels may come back. */
  const leave = async (key: string, left: Snapshot, signal: AbortSignal): Promise<Result> => {
    const since = leaving.get(key) ?? clock.monotonic();
    leaving.set(key, since);
    const afterMs = since + LEAVE_AFTER_MS - clock.monotonic();
    if (afterMs > 0) return { kind: 'requeue', afterMs };
    const plan = takeBackLabel(left.service);
    if (plan.kind === 'patch' && !(await writeService(left.service, plan, client, signal)))
      return { kind: 'requeue', afterMs: CONFLICT_RETRY_MS };
    const result = await release(left.slices, signal);
    if (result.kind === 'requeue') return result;
    released.add(key);
    leaving.delete(key);
    labels.forget(key);
    await forget(key, left, signal);
    return DONE;
  };

  const answer = async (
    key: string,
    snapshot: Snapshot,
    ask: Ask,
    wrong: string | undefined,
    signal: AbortSignal,
  ): Promise<Result> => {
    if (ask.kind !== 'none' && wrong !== undefined)
      return refuse(key, snapshot, ask.strategy, { reason: 'InvalidPolicy', message: wrong }, signal);
    if (ask.kind === 'planned') return planned(key, snapshot, ask, signal);
    if (ask.kind === 'refused') return refuse(key, snapshot, ask.strategy, ask, signal);
    await forget(key, snapshot, signal);
    return release(snapshot.slices, signal);
  };

  return {
    async reconcile(key, signal) {
      if (!options.known()) return { kind: 'requeue', afterMs: QUIET_MS };
      const snapshot = options.snapshot(key);
      if (snapshot === undefined) {
        const left = options.foreign(key);
        if (left !== undefined && isLeftBehind(key, left)) return leave(key, left, signal);
        if (left === undefined) released.delete(key);
        leaving.delete(key);
        labels.forget(key);
        await forget(key, undefined, signal);
        return DONE;
      }
      leaving.delete(key);
      released.delete(key);
      const { service, slices } = snapshot;
      const wrong = options.checkSpec(specOf(snapshot));
      const observeOnly = wrong === undefined && specOf(snapshot).mode === 'Observe';
      // The watch tells of the new label, and the slices follow.
      const labelInMs = await labels.write(key, service, labelPlan(service, observeOnly), signal);
      const ask = askOf({ service, slices, observeOnly });
      return sooner(await answer(key, snapshot, ask, wrong, signal), labelInMs);
    },
  };
};
