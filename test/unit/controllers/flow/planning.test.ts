// Planning in turns, within a deadline: a thread that the test plays, on a clock that it moves.
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import { createPlanning } from '../../../../pkg/controllers/flow/planning.ts';
import type {
  Planned,
  Planning,
  PlanOutcome,
  PlanRequest,
  PlanThreadEvents,
} from '../../../../pkg/controllers/flow/planning.ts';
import type { PlanAnswer, PlanJob } from '../../../../pkg/flow/assemble/job.ts';
import { createFakeClock } from '../../../fixtures/fake-clock.ts';
import type { FakeClock } from '../../../fixtures/fake-clock.ts';

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

describe('planning', () => {
  let clock: FakeClock;
  let planning: Planning;
  /** Threads that were opened, and what each was sent. */
  let threads: { events: PlanThreadEvents; requests: PlanRequest[]; ended: boolean }[];
  let ready: string[];
  let outcomes: [string, PlanOutcome][];

  beforeEach(() => {
    clock = createFakeClock();
    threads = [];
    ready = [];
    outcomes = [];
    planning = createPlanning({
      open: (events) => {
        const thread = { events, requests: [] as PlanRequest[], ended: false };
        threads.push(thread);
        return { post: (request) => void thread.requests.push(request), end: () => void (thread.ended = true) };
      },
      clock,
      deadlineMs: 1_000,
      patienceMs: 50,
      onPlanned: (key, outcome) => void outcomes.push([key, outcome]),
    });
    planning.onReady((key) => void ready.push(key));
  });

  const last = (): PlanRequest => threads.at(-1)!.requests.at(-1)!;
  const reply = (cutShort = false): void => threads.at(-1)!.events.replied({ id: last().id, answer: answer(cutShort) });
  /** Asks, and lets the turn go on when its patience is over. */
  const late = async (key: string, spec: PlanJob['spec'] = {}): Promise<Planned | undefined> => {
    const asked = planning.ask(key, job(spec));
    await clock.advance(60);
    return asked;
  };

  it('lets the turn go on without an answer that takes long, and calls for another turn when it is there', async () => {
    expect(await late('shop/web')).to.equal(undefined);
    reply(true);
    expect(ready).to.deep.equal(['shop/web']);
    expect(await planning.ask('shop/web', job())).to.deep.equal({ ...answer(true), timedOut: false });
    expect(threads[0]!.requests).to.have.lengthOf(1);
  });

  it('does not wait at all for a Service whose last answer was late, until one is not', async () => {
    await late('shop/web');
    reply();
    await planning.ask('shop/web', job());
    expect(await planning.ask('shop/web', job()), 'asked again').to.equal(undefined);
    expect(clock.pending, 'the deadline alone').to.equal(1);
  });

  it('plans one Service after the other, those of a namespace that used least first', async () => {
    for (let index = 0; index < 5; index += 1) await late(`hostile/s${index}`);
    await late('shop/web');
    await clock.advance(500);
    const order: string[] = [];
    for (let served = 0; served < 6; served += 1) {
      reply();
      order.push(ready.at(-1)!);
      await clock.advance(500);
    }
    expect(order.slice(0, 2)).to.deep.equal(['hostile/s0', 'shop/web']);
  });

  it('ends a thread that is over its deadline, and asks a new one with the least effort, once', async () => {
    await late('shop/web');
    await clock.advance(1_000);
    expect(threads.map(({ ended }) => ended)).to.deep.equal([true, false]);
    expect(last().effort).to.equal(0);
    reply();
    expect(await planning.ask('shop/web', job())).to.deep.equal({ ...answer(), timedOut: true });
    expect(outcomes).to.deep.equal([['shop/web', 'timed-out']]);
  });

  it('spares a Service that was over the deadline a search for five minutes', async () => {
    await late('shop/web');
    await clock.advance(1_000);
    reply();
    await planning.ask('shop/web', job());
    for (const [afterMs, effort] of [
      [0, 0],
      [310_000, undefined],
    ] as const) {
      await clock.advance(afterMs);
      await planning.ask('shop/web', job());
      expect(last().effort, `${afterMs} ms later`).to.equal(effort);
      reply();
      await planning.ask('shop/web', job());
    }
  });

  it('gives up on a question that even the least effort does not answer, goes on with others, and asks it again later', async () => {
    await late('shop/web');
    await clock.advance(2_000);
    expect(await planning.ask('shop/web', job()).catch((error: Error) => error.message)).to.match(/within 1000 ms/);
    const other = planning.ask('shop/api', job());
    reply();
    expect(await other).to.deep.equal({ ...answer(), timedOut: false });
    expect(await late('shop/web')).to.equal(undefined);
    expect([threads.length, last().effort]).to.deep.equal([3, 0]);
  });

  it('survives a thread that dies: its question is asked once more with the least effort', async () => {
    await late('shop/web');
    threads[0]!.events.failed(new Error('out of memory'));
    expect(threads).to.have.lengthOf(2);
    threads[0]!.events.replied({ id: 1, answer: answer() });
    expect(ready, 'a dead thread says nothing').to.deep.equal([]);
    reply();
    expect(ready).to.deep.equal(['shop/web']);
  });

  it('ends its thread and its timers when it is closed', async () => {
    await late('shop/web');
    planning.close();
    expect([threads[0]!.ended, clock.pending]).to.deep.equal([true, 0]);
  });
});
