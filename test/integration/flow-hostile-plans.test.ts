// The flow-controller beside a namespace whose plans are hard to make: its Lease is renewed and its probes are answered meanwhile.
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { serve } from '../../cmd/flow-controller/app.ts';
import { LABEL_STRATEGY } from '../../pkg/apis/names.ts';
import { LEASES } from '../../pkg/apis/resources.ts';
import { useRealNetwork } from '../fixtures/real-network.ts';
import { eventually } from './controller-bed.ts';
import { flowNode, flowPod, flowService, openFlowBed } from './flow-support.ts';
import type { FlowBed } from './flow-support.ts';

const ZONES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
const ENDPOINTS = 320;
const CONFIG = 'leaderElection: {leaseDurationSeconds: 60, renewDeadlineSeconds: 40, retryPeriodSeconds: 1}';
/** Seconds of the controller's clock; a plan's deadline is ten. */
const ROUNDS = 8;

/** `ends`: what comes of the question in the end. */
const PLANNERS: readonly { name: string; planner: URL; ends(bed: FlowBed): Promise<void> }[] = [
  {
    name: 'the thread that plans',
    planner: new URL('../../cmd/flow-controller/main.ts', import.meta.url),
    // In real time: the thread does not follow the clock of the test.
    ends: (bed) => eventually(() => expect(bed.policy('web')?.status?.plan, 'a plan').not.to.equal(undefined)),
  },
  {
    name: 'a thread that never answers',
    planner: new URL(
      `data:text/javascript,${encodeURIComponent(`
        import { parentPort } from 'node:worker_threads';
        parentPort.on('message', () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
      `)}`,
    ),
    ends: (bed) =>
      bed.until(() => {
        const errors = bed.log.entries.map(({ fields }) => String(fields['error']));
        expect(errors.join('\n'), 'errors in the log').to.contain('planning did not end within');
      }, 1_000),
  },
];

describe('the flow-controller beside a hostile namespace', function onSandbox() {
  this.timeout(60_000);
  useRealNetwork();
  let bed: FlowBed;
  let stop: AbortController;
  let ended: Promise<unknown>;
  beforeEach(async () => {
    bed = await openFlowBed();
    const pods = Array.from({ length: ENDPOINTS }, (_, index) =>
      flowPod(`web-${index}`, ZONES[index % ZONES.length] ?? '', { cpu: `${100 + index}m` }),
    );
    bed.sandbox.seed([...ZONES.map((zone) => flowNode(zone)), ...pods]);
    await bed.apply(flowService({ labels: { [LABEL_STRATEGY]: 'load-aware' } }));
    await bed.sandbox.settled();
    bed.plant.demand = Object.fromEntries(ZONES.map((zone, index) => [zone, index === 0 ? 20 : 5]));
  });
  afterEach(async () => {
    stop.abort();
    await ended;
    await bed.close();
  });

  const renewals = (): number =>
    bed.sandbox.requests.filter(({ verb, resource, status }) => {
      const writes = verb === 'update' || verb === 'patch';
      return writes && resource === 'leases' && status === 200;
    }).length;
  const probe = async (): Promise<number> => {
    const port = /health on port (\d+)/.exec(bed.printed.join('\n'))?.[1];
    const answer = await fetch(`http://127.0.0.1:${port}/healthz`);
    await answer.text();
    return answer.status;
  };

  for (const { name, planner, ends } of PLANNERS) {
    it(`renews its Lease and answers /healthz while ${name} has its Service`, async () => {
      stop = new AbortController();
      ended = serve({ ...(await bed.session(CONFIG)), planner }, stop.signal);
      await eventually(() => expect(bed.sandbox.list(LEASES), 'its Lease').to.have.length(1));
      const answers: number[] = [];
      bed.sandbox.clearRequests();
      for (let round = 1; round <= ROUNDS; round += 1) {
        bed.clock.skip(1_000);
        await eventually(() => expect(renewals(), `renewals in ${round} s`).to.be.at.least(round));
        answers.push(await probe());
      }
      expect(answers).to.deep.equal(Array(ROUNDS).fill(200));
      await ends(bed);
      expect(await probe(), 'afterwards').to.equal(200);
    });
  }
});
