// The thread that plans, as it really is: what is hard to plan does not keep this one from its turns.
import { expect } from 'chai';
import { afterEach, describe, it } from 'mocha';
import { openInline, openWorker } from '../../../../pkg/controllers/flow/plan-thread.ts';
import type { PlanReply, PlanThread } from '../../../../pkg/controllers/flow/planning.ts';
import { answerJob } from '../../../../pkg/flow/assemble/job.ts';
import type { PlanJob } from '../../../../pkg/flow/assemble/job.ts';
import { flowEndpoint, flowSlice } from '../../flow/assemble/support.ts';
import { hostileProblem } from '../../flow/factories.ts';

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

  const ask = (open: typeof openInline, job: PlanJob): Promise<PlanReply> =>
    new Promise((resolve, reject) => {
      thread = open({ replied: resolve, failed: reject });
      thread.post({ id: 1, job });
    });

  it('answers what is answered without it', async () => {
    const job = hostileJob(40);
    const inline = await ask(openInline, job);
    const worker = await ask((events) => openWorker(MAIN, events), job);
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
    expect(
      await turnsDuring((events) => openWorker(MAIN, events)),
      'turns of the main thread, planning beside it',
    ).to.be.at.least(50);
  }).timeout(30_000);
});
