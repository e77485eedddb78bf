// Planning in turns, within a deadline: a thread that the test plays, on a clock that it moves.
import { expect } from 'chai';
import { beforeEach, describe, it, afterEach } from 'mocha';
import {
  type PlanReply,
  type PlanRequest,
  type PlanThread,
  type Planned,
  type Planning,
  createPlanning,
  openWorker,
} from '../../../../pkg/controllers/flow/planning.ts';
import { type PlanAnswer, type PlanJob, answerJob } from '../../../../pkg/flow/assemble/job.ts';
import { type FakeClock, createFakeClock } from '../../../fixtures/fake-clock.ts';
import { openInline } from '../../../fixtures/inline-thread.ts';
import { flowEndpoint, flowSlice } from '../../flow/assemble/support.ts';
import { hostileProblem } from '../../flow/factories.ts';

describe('planning', () => {
  const job = (spec: PlanJob['spec'] = {}): PlanJob => ({
    kind: 'weight',
    spec,
    slices: [],
    zones: { zones: [], weights: {} },
    planned: undefined,
  });

  const answer = (cutShort = false): PlanAnswer => ({
    turn: {
      plan: { spread: true, endpoints: [] },
      state: undefined,
      decision: undefined,
      observation: undefined,
      withoutCapacity: [],
    },
    bounds: undefined,
    cutShort,
  });

  let clock: FakeClock;
  let planning: Planning;
  /** Threads that were opened, and what each was sent. */
  let threads: { requests: PlanRequest[]; asked: PromiseWithResolvers<PlanReply>; ended: boolean }[];
  let ready: string[];
  let outcomes: string[];

  beforeEach(() => {
    clock = createFakeClock();
    threads = [];
    ready = [];
    outcomes = [];
    planning = createPlanning({
      open() {
        const thread = { requests: [] as PlanRequest[], asked: Promise.withResolvers<PlanReply>(), ended: false };
        threads.push(thread);
        return {
          plan(request) {
            thread.requests.push(request);
            thread.asked = Promise.withResolvers();
            return thread.asked.promise;
          },
          end() {
            thread.ended = true;
            thread.asked.reject(new Error('ended'));
          },
        };
      },
      clock,
      deadlineMs: 1_000,
      onReady: (key) => void ready.push(key),
      onPlanned: (outcome) => void outcomes.push(outcome),
    });
  });

  const last = (): PlanRequest => threads.at(-1)!.requests.at(-1)!;
  const reply = async (cutShort = false): Promise<void> => {
    threads.at(-1)!.asked.resolve({ answer: answer(cutShort) });
    await clock.advance(0);
  };
  /** Asks, and lets the turn go on when its patience is over. */
  const late = async (key: string, spec: PlanJob['spec'] = {}): Promise<Planned | undefined> => {
    const asked = planning.ask(key, job(spec));
    await clock.advance(60);
    return asked;
  };

  it('plans one Service after the other, namespaces in turn', async () => {
    for (let index = 0; index < 5; index += 1) await late(`hostile/s${index}`);
    await late('shop/web');
    await clock.advance(500);
    const order: string[] = [];
    for (let served = 0; served < 6; served += 1) {
      await reply();
      order.push(ready.at(-1)!);
      await clock.advance(500);
    }
    // The next of its namespace was there before another namespace was.
    expect(order.slice(0, 3)).to.deep.equal(['hostile/s0', 'hostile/s1', 'shop/web']);
  });

  it('ends a thread that is over its deadline, and asks a new one with the least effort, once', async () => {
    await late('shop/web');
    await clock.advance(1_000);
    expect(threads.map(({ ended }) => ended)).to.deep.equal([true, false]);
    expect(last().effort).to.equal(0);
    await reply();
    expect(await planning.ask('shop/web', job())).to.deep.equal({ ...answer(), timedOut: true });
    expect(outcomes).to.deep.equal(['timed-out']);
  });

  it('gives up on a question that even the least effort does not answer, goes on with others, and asks it again later', async () => {
    await late('shop/web');
    await clock.advance(2_000);
    expect(await planning.ask('shop/web', job()).catch((error: Error) => error.message)).to.match(/within 1000 ms/);
    const other = planning.ask('shop/api', job());
    await reply();
    expect(await other).to.deep.equal({ ...answer(), timedOut: false });
    expect(await late('shop/web')).to.equal(undefined);
    expect([threads.length, last().effort]).to.deep.equal([3, undefined]);
  });

  it('survives a thread that dies: its question is asked once more with the least effort', async () => {
    await late('shop/web');
    threads[0]!.asked.reject(new Error('out of memory'));
    await clock.advance(0);
    expect([threads.length, last().effort, ready.length]).to.deep.equal([2, 0, 0]);
    await reply();
    expect(ready).to.deep.equal(['shop/web']);
  });

  it('ends its thread and its timers when it is closed', async () => {
    await late('shop/web');
    planning.close();
    await clock.advance(0);
    expect([threads[0]!.ended, clock.pending]).to.deep.equal([true, 0]);
  });
});

const MAIN = new URL('../../../../cmd/flow-controller/main.ts', import.meta.url);

/** A Service whose Pods all request different amounts of CPU, and are asked for as much as can just be placed. */
const hostileJob = (endpoints: number): PlanJob => {
  const input = hostileProblem({ zones: 3, endpoints, seed: 5, load: 0.66, largest: 4 });
  const sharers = new Map<string, number>();
  for (const { zone } of input.endpoints) sharers.set(zone, (sharers.get(zone) ?? 0) + 1);
  const cpu = new Map(input.endpoints.map((one) => [one.name, { requests: one.capacity, limits: null }]));
  const samples = input.endpoints.map(({ name, zone, capacity }) => ({
    pod: name,
    load: Math.min(capacity, input.demand[zone]! / sharers.get(zone)!),
    sampledAt: 60,
    window: 15,
  }));
  const first: PlanJob = {
    kind: 'load',
    spec: {},
    slices: [flowSlice(input.endpoints.map(({ name, zone }) => flowEndpoint(zone, { pod: name, forZones: [zone] })))],
    zones: { zones: Object.keys(input.demand), weights: input.demand },
    time: 0,
    cpu,
    load: undefined,
    state: undefined,
    proposed: undefined,
  };
  return { ...first, time: 60, load: { kind: 'pods', samples }, state: answerJob(first).turn.state };
};

describe('the thread that plans', () => {
  let thread: PlanThread | undefined;
  afterEach(() => thread?.end());

  const inWorker = (): PlanThread => openWorker(MAIN, () => undefined);
  const ask = (open: typeof openInline, job: PlanJob): Promise<PlanReply> => (thread = open()).plan({ job });

  it('answers what is answered without it', async () => {
    const job = hostileJob(40);
    const inline = await ask(openInline, job);
    const worker = await ask(inWorker, job);
    expect(worker).to.deep.equal(inline);
    expect('answer' in worker && worker.answer.turn.decision?.reason).to.equal('Saturated');
  }).timeout(30_000);

  it('leaves the main thread its turns while it plans, which planning in the main thread does not', async () => {
    const job = hostileJob(300);
    const turnsDuring = async (open: typeof openInline): Promise<number> => {
      let turns = 0;
      let answered = false;
      const asked = ask(open, job).finally(() => (answered = true));
      const count = (): void => {
        turns += 1;
        if (!answered) setImmediate(count);
      };
      setImmediate(count);
      await asked;
      return turns;
    };
    expect(await turnsDuring(openInline), 'turns of the main thread, planning in it').to.be.at.most(2);
    expect(await turnsDuring(inWorker), 'turns of the main thread, planning beside it').to.be.at.least(50);
  }).timeout(30_000);
});
