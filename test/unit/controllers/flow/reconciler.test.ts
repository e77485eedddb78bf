// What the loop does while it knows too little, and when the wall clock jumps: nothing is reverted, and no time is stood still for.
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { Node } from '../../../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../../../pkg/apis/meta.ts';
import { LABEL_STRATEGY } from '../../../../pkg/apis/names.ts';
import { type FlowCaches, createSnapshots } from '../../../../pkg/controllers/flow/caches.ts';
import { type LoadReader, createLoadReader } from '../../../../pkg/controllers/flow/loads.ts';
import type { Planning } from '../../../../pkg/controllers/flow/planning.ts';
import { type FlowReconcilerOptions, createFlowReconciler } from '../../../../pkg/controllers/flow/reconciler.ts';
import type { PlanJob } from '../../../../pkg/flow/assemble/job.ts';
import { type FlowSlice, createSliceProjection } from '../../../../pkg/flow/assemble/slice.ts';
import type { LoopState } from '../../../../pkg/flow/loop/types.ts';
import type { CacheState } from '../../../../pkg/kubernetes/cache.ts';
import { node, service, slice } from '../../../fixtures/core.ts';
import { type FakeClock, createFakeClock } from '../../../fixtures/fake-clock.ts';
import type { Client, Clock, Reconciler } from '../../../../pkg/kubernetes/types.ts';
import type { LoadReading, LoadSource } from '../../../../pkg/metrics/types.ts';

const { signal } = new AbortController();

/** Nothing is foreign, refused or remembered; no jitter, no listener. */
const plainOptions = (clock: Clock) =>
  ({
    foreign: () => undefined,
    known: () => true,
    clock,
    random: () => 0,
    checkSpec: () => undefined,
    onOutcome: () => Promise.resolve(),
    onForgotten: () => Promise.resolve(),
    rememberedPlan: () => undefined,
  }) satisfies Partial<FlowReconcilerOptions>;

describe('the loop in trouble', () => {
  const KEY = 'shop/web';
  const HOUR_MS = 3_600_000;
  type Load = Extract<PlanJob, { kind: 'load' }>;

  const one: FlowSlice = {
    metadata: { namespace: 'shop', name: 'web-1', resourceVersion: '1' },
    service: 'web',
    strategy: 'load-aware',
    mark: 'zones',
    annotated: true,
    addressType: 'IPv4',
    rebuilt: true,
    endpoints: [{ pod: 'web-0', address: '192.0.2.1', zone: 'a', ready: true, forZones: ['a', 'b'], hinted: true }],
  };

  let clock: FakeClock;
  let jobs: Load[];
  let patches: number;
  let forgotten: number;
  let nodes: Node[];
  let namespaces: { state: CacheState; labels: Record<string, string> };
  let reconciler: Reconciler;

  const make = (namespaceSelector = {}): void => {
    const cache = <T extends KubernetesObject>(state: () => CacheState, list: () => T[]) => ({
      get state() {
        return state();
      },
      list,
      get: () => (state() === 'synced' ? list()[0] : undefined),
      byIndex: list,
      onChange: () => undefined,
    });
    const synced = (): CacheState => 'synced';
    const web = service({ metadata: { namespace: 'shop', name: 'web', labels: { [LABEL_STRATEGY]: 'load-aware' } } });
    const policy = { metadata: { namespace: 'shop', name: 'web' }, spec: { mode: 'Observe' } };
    const caches = {
      services: cache(synced, () => [web]),
      slices: cache(synced, () => [one]),
      pods: cache(synced, () => []),
      nodes: cache(synced, () => nodes),
      policies: cache(synced, () => [policy]),
      namespaces: cache(
        () => namespaces.state,
        () => [{ metadata: { name: 'shop', labels: namespaces.labels } }],
      ),
    } as unknown as FlowCaches;
    const snapshots = createSnapshots(caches, { namespaceSelector, excludedNamespaces: [] });
    const client = { patch: () => Promise.reject(new Error(`patch ${(patches += 1)}`)) } as unknown as Client;
    const planning: Pick<Planning, 'ask' | 'forget'> = {
      ask(_key, job) {
        jobs.push(job as Load);
        const state = { freshAt: (job as Load).time } as LoopState;
        const plan = { spread: false, endpoints: [] };
        const turn = { plan, state, decision: undefined, observation: undefined, withoutCapacity: [] };
        return Promise.resolve({ turn, bounds: undefined, cutShort: false, timedOut: false });
      },
      forget: () => undefined,
    };
    const loads: LoadReader = {
      read: () => Promise.resolve({ source: 's', load: undefined, problem: undefined, dueInMs: 1_000 }),
      onLate: () => undefined,
      forget: () => undefined,
    };
    reconciler = createFlowReconciler({
      ...plainOptions(clock),
      snapshot: (key) => snapshots.snapshot(key),
      foreign: (key) => snapshots.foreign(key),
      known: () => snapshots.known(),
      client,
      loads,
      planning: planning as Planning,
      onForgotten: () => Promise.resolve(void (forgotten += 1)),
    });
  };
  const turn = () => reconciler.reconcile(KEY, signal);
  const seconds = (ms: number): number => Math.round((ms - Date.UTC(2026, 0, 1)) / 1_000);
  const planTime = (): number => seconds((jobs.at(-1)?.time ?? NaN) * 1_000);

  beforeEach(() => {
    clock = createFakeClock();
    [jobs, patches, forgotten] = [[], 0, 0];
    nodes = [node({ zone: 'a' }), node({ zone: 'b' })];
    namespaces = { state: 'synced', labels: { team: 'shop' } };
    make();
  });

  it('decides nothing while no Node is known, and looks again in a minute', async () => {
    nodes = [];
    expect(await turn()).to.deep.equal({ kind: 'requeue', afterMs: 60_000 });
    expect([jobs.length, patches, forgotten]).to.deep.equal([0, 0, 0]);
  });

  it('goes on at once when a clock that was an hour ahead is set right, without what it saw of the future', async () => {
    await turn();
    clock.setWall(clock.now() + HOUR_MS);
    await turn();
    expect(planTime(), 'ahead').to.equal(3_600);
    expect(jobs.at(-1)?.state, 'what was known stays known').not.to.equal(undefined);
    clock.setWall(clock.now() - HOUR_MS);
    await clock.advance(10_000);
    await turn();
    expect(planTime(), 'set right').to.equal(10);
    expect(jobs.at(-1)?.state).to.equal(undefined);
    await clock.advance(10_000);
    await turn();
    expect(planTime()).to.equal(20);
    expect(jobs.at(-1)?.state).to.deep.equal({ freshAt: jobs.at(-2)?.time });
  });

  it('takes a clock that goes back by some seconds for one that stands still', async () => {
    await clock.advance(30_000);
    await turn();
    clock.setWall(clock.now() - 20_000);
    await turn();
    expect(planTime()).to.equal(30);
    expect(jobs.at(-1)?.state).not.to.equal(undefined);
  });
});

const labels = { [LABEL_STRATEGY]: 'load-aware' };
const project = createSliceProjection();
const sliceOf = (): FlowSlice => project(slice({ metadata: { labels } }));

describe('a Service whose load is read slowly', () => {
  let clock: FakeClock;
  let slices: FlowSlice[];
  let plans: number;
  let answer: ((reading: LoadReading) => void) | undefined;
  let turn: () => Promise<unknown>;
  let late: string[];

  beforeEach(() => {
    clock = createFakeClock();
    slices = [sliceOf()];
    plans = 0;
    late = [];
    const source: LoadSource = {
      name: 'slow',
      read: () => new Promise((resolve) => (answer = resolve)),
    };
    const loads = createLoadReader({ sources: new Map([['slow', source]]), clock, lifetime: signal });
    loads.onLate((key) => late.push(key));
    const planning: Planning = {
      ask() {
        plans += 1;
        return Promise.resolve(undefined);
      },
      onReady: () => undefined,
      forget: () => undefined,
      close: () => undefined,
    };
    const zones = { zones: ['eu-1a'], weights: { 'eu-1a': 1 } };
    const asking = service({ metadata: { labels } });
    const reconciler = createFlowReconciler({
      ...plainOptions(clock),
      snapshot: () => ({
        service: asking,
        slices,
        policy: undefined,
        zones,
        podCpu: () => undefined,
      }),
      client: { patch: () => Promise.reject(new Error('nothing is to be written')) },
      loads,
      planning,
    });
    turn = async () => {
      const result = reconciler.reconcile('default/server', signal);
      await clock.advance(1_000);
      return result;
    };
  });

  it('is planned at first sight, and then not again by the load of before', async () => {
    await turn();
    expect(plans, 'without load').to.equal(1);
    await turn();
    expect(plans, 'while it is read').to.equal(1);
    answer?.({ kind: 'pods', samples: [], problems: [] });
    await clock.advance(1);
    expect(late).to.deep.equal(['default/server']);
    await turn();
    expect(plans, 'by what was read').to.equal(2);
  });
});
