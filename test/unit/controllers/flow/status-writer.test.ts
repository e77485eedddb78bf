// Tests of what the loops report: status at once where it says something else, seldom for figures; events, and a policy where there is none.
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { FlowPolicy, FlowPolicyStatus, FlowPolicyCondition } from '../../../../pkg/apis/flow-policy.ts';
import { ApiError } from '../../../../pkg/kubernetes/errors.ts';
import { service } from '../../../fixtures/core.ts';
import { type FakeClock, createFakeClock } from '../../../fixtures/fake-clock.ts';
import { type RecordingLogger, recordingLogger } from '../../../fixtures/recording-logger.ts';
import type { Outcome, Snapshot } from '../../../../pkg/controllers/flow/memory.ts';
import { type Turn, turnByLoad } from '../../../../pkg/flow/assemble/turn.ts';
import { settingsFromSpec } from '../../../../pkg/flow/loop/from-spec.ts';
import type { Following } from '../../../../pkg/diagnosis/models/routes.ts';
import type { EventInput } from '../../../../pkg/kubernetes/types.ts';
import { flowEndpoint, flowSlice } from '../../flow/assemble/support.ts';
import { createFlowReporter } from '../../../../pkg/controllers/flow/reporter.ts';

describe('the reporter of loops', () => {
  const KEY = 'shop/web';
  const signal = new AbortController().signal;
  const settings = settingsFromSpec({ upDwell: '1s', planInterval: '1s' });
  const zones = { zones: ['a', 'b'], weights: { a: 1, b: 1 } };
  const slices = [flowSlice(['a', 'b'].map((zone) => flowEndpoint(zone, { forZones: [zone] })))];
  const podCpu = () => ({ requests: 1, limits: null });

  const policy: FlowPolicy = {
    apiVersion: 'x',
    kind: 'FlowPolicy',
    metadata: { name: 'web', namespace: 'shop', generation: 1 },
  };

  const snapshot = (more: Partial<Snapshot> = {}): Snapshot => ({
    service: service({ metadata: { name: 'web', namespace: 'shop', uid: 'u' } }),
    slices,
    policy,
    zones,
    podCpu,
    ...more,
  });

  /** Turns of a Service whose zone a has this load. */
  const turns = (loads: readonly number[]): Turn[] => {
    const all: Turn[] = [];
    for (const [index, cores] of loads.entries()) {
      const time = index * 10;
      const samples = [
        { pod: 'a1', load: cores, sampledAt: time, window: 5 },
        { pod: 'b1', load: 0.1, sampledAt: time, window: 5 },
      ];
      const { state } = all.at(-1) ?? {};
      all.push(turnByLoad({ settings, time, slices, zones, podCpu, load: { kind: 'pods', samples }, state }));
    }
    return all;
  };

  let clock: FakeClock;
  let log: RecordingLogger;
  let events: EventInput[];
  let written: FlowPolicyStatus[];
  let removed: string[];
  let changes: [string, number][];
  let reporter: ReturnType<typeof createFlowReporter>;
  let following: Following;
  let fail: ApiError | undefined;

  const outcome = (more: Partial<Outcome> = {}): Outcome => ({
    key: KEY,
    strategy: 'load-aware',
    snapshot: snapshot(),
    settings,
    time: 0,
    refused: undefined,
    turn: undefined,
    load: { source: 'metrics.k8s.io', load: undefined, problem: undefined, dueInMs: 0 },
    inForce: true,
    losing: false,
    ...more,
  });
  const report = (more: Partial<Outcome>): Promise<void> => reporter.report(outcome(more), signal);
  const told = (): string[] => events.map(({ type, reason }) => `${type} ${reason}`);

  const answer = (done: unknown): Promise<never> =>
    fail === undefined ? Promise.resolve(done as never) : Promise.reject(fail);
  const open = (more: Partial<Parameters<typeof createFlowReporter>[0]> = {}) =>
    createFlowReporter({
      client: {
        create: (_resource, object) => answer(object),
        patch: (_resource, _ref, _type, patch) =>
          answer(fail ?? written.push((patch as [{ value: FlowPolicyStatus }])[0].value)),
        delete: (_resource, { name }) => answer(removed.push(name)),
      },
      status: { create: true, minIntervalSeconds: 60 },
      available: () => true,
      events: { record: (event) => void events.push(event) },
      counters: { changed: (reason, endpoints) => void changes.push([reason, endpoints]) },
      following: () => following,
      clock,
      logger: log,
      ...more,
    });

  beforeEach(() => {
    [events, written, removed, changes] = [[], [], [], []];
    [clock, log, fail] = [createFakeClock(), recordingLogger(), undefined];
    following = { kind: 'followed' };
    reporter = open();
  });

  it('writes figures a minute apart, and another reason at once', async () => {
    const [low, high] = [0.3, 0.6].map((load) => turns([load, load]).at(-1));
    await report({ turn: low });
    await report({ turn: high });
    expect(written, 'figures, too early').to.have.lengthOf(1);
    await report({ turn: high, inForce: false });
    expect(written, 'a reason').to.have.lengthOf(2);
    await clock.advance(60_000);
    await report({ turn: low, inForce: false });
    expect(written, 'figures, a minute later').to.have.lengthOf(3);
  });

  for (const [name, more, found] of [
    ['where it is to create none', { status: { create: false, minIntervalSeconds: 60 } }, undefined],
    ['while the definition is not installed', { available: () => false }, policy],
  ] as const) {
    it(`writes no status ${name}`, async () => {
      await open(more).report(outcome({ snapshot: snapshot({ policy: found }) }), signal);
      expect(written).to.deep.equal([]);
    });
  }

  for (const [name, status, reason, warns] of [
    ['a policy that goes away', 404, 'NotFound', 0],
    ['missing rights', 403, 'Forbidden', 0],
    ['an API server in trouble', 500, 'InternalError', 1],
  ] as const) {
    it(`survives ${name}, and writes the status again`, async () => {
      const [turn] = turns([0.3]);
      fail = new ApiError({ status, method: 'PATCH', path: '/', reason });
      await report({ turn });
      expect(log.entries.filter(({ level }) => level === 'warn')).to.have.length(warns);
      fail = undefined;
      await report({ turn });
      expect(written).to.have.lengthOf(1);
    });
  }

  it('warns of a data plane that ignores the plan, and says when it follows', async () => {
    const [first, second] = turns([0.3, 0.3]);
    following = { kind: 'ignored', reason: 'HintsNotFollowed', message: 'Cilium on Node n ignores hints' };
    await report({ turn: first });
    expect(told()).to.deep.equal(['Warning HintsNotFollowed']);
    expect(written.at(-1)?.conditions?.[1]).to.include({ status: 'False', reason: 'HintsNotFollowed' });
    following = { kind: 'followed' };
    await report({ turn: second });
    expect(told()).to.deep.equal(['Warning HintsNotFollowed', 'Normal PlanInForce']);
  });

  it('reports a change of the plan, once, with how many endpoints have other hints', async () => {
    const all = turns([0.85, 0.85, 0.85, 0.85]);
    for (const [index, turn] of all.entries())
      await report({ turn, time: index * 10 + 7, bounds: { lp: 0.9, integrality: 0.8 } });
    const change = events.find(({ reason }) => reason === 'PlanChanged');
    expect(change?.regarding).to.deep.equal({
      apiVersion: 'v1',
      kind: 'Service',
      namespace: 'shop',
      name: 'web',
      uid: 'u',
    });
    expect(change?.message).to.match(/^Overloaded: b1 serves a, b/);
    expect(changes).to.deep.equal([['Overloaded', 1]]);
    expect(written.at(-1)?.lastChanges).to.have.length(1);
    expect(written.at(-1)?.lastChanges?.[0]?.sampleAgeSeconds, 'samples ended 7 s before').to.equal(7);
    expect(written.at(-1)?.bounds).to.deep.equal({ lpPercent: 90, integralityPercent: 80 });
  });

  it('leaves a status that was fresh as it is while a new process waits for samples', async () => {
    const [turn] = turns([0.3]);
    const waiting = turnByLoad({ settings, time: 0, slices, zones, podCpu, load: undefined, state: undefined });
    const conditions = [
      ['Observed', 'MetricsFresh'],
      ['Effective', 'PlanInForce'],
    ].map(([type, reason]) => ({ type, status: 'True', reason, message: '', lastTransitionTime: '' }));
    const status = { observedGeneration: 1, conditions: conditions as FlowPolicyCondition[] };
    const before = { snapshot: snapshot({ policy: { ...policy, status } }) };
    await report({ ...before, turn: waiting });
    expect(written, 'as the process before left it').to.have.lengthOf(0);
    await report({ ...before, turn: waiting, inForce: false, losing: true });
    expect(written, 'something else is new').to.have.lengthOf(1);
    await report({ ...before, turn });
    await report({ ...before, turn: waiting });
    expect(written.at(-1)?.conditions?.[0]?.reason, 'lost within one process').to.equal('WaitingForMetrics');
  });

  const released: { name: string; policy: FlowPolicy; removes: string[]; writes: number }[] = [
    {
      name: 'ours goes',
      policy: {
        ...policy,
        metadata: { ...policy.metadata, labels: { 'app.kubernetes.io/managed-by': 'flow-controller' } },
      },
      removes: ['web'],
      writes: 0,
    },
    { name: 'without status stays as it is', policy, removes: [], writes: 0 },
    {
      name: 'with a status says that nobody asks',
      policy: {
        ...policy,
        status: {
          conditions: [{ type: 'Stable', status: 'True', reason: 'Steady', message: '', lastTransitionTime: '' }],
        },
      },
      removes: [],
      writes: 1,
    },
  ];
  for (const { name, policy: found, removes, writes } of released) {
    it(`of a Service that opts out: a policy ${name}`, async () => {
      await reporter.released(KEY, snapshot({ policy: found }), signal);
      expect(removed).to.deep.equal(removes);
      expect(written.map(({ conditions }) => conditions?.map(({ reason }) => reason))).to.deep.equal(
        Array.from({ length: writes }, () => ['NotRequested', 'NotRequested', 'NotRequested']),
      );
    });
  }
});
