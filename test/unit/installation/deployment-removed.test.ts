import { expect } from 'chai';
import { describe, it } from 'mocha';
import { DEPLOYMENTS } from '../../../pkg/apis/resources.ts';
import { watchDeployment } from '../../../pkg/installation/deployment-removed.ts';
import { ApiError } from '../../../pkg/kubernetes/errors.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';
import { createMemoryServer } from '../../fixtures/memory-client.ts';
import type { Before } from '../../fixtures/memory-client.ts';
import { recordingLogger } from '../../fixtures/recording-logger.ts';

const ref = { namespace: 'own', name: 'webhook' };
const deletionTimestamp = '2026-01-01T00:00:00Z';
const THERE = { metadata: ref, spec: { replicas: 2 } };

interface World {
  /** What there is when the watch begins; undefined: nothing. */
  first: object | undefined;
  /** What there is when it is asked. */
  now: object | undefined;
  /** Goes before the answer, from then on. */
  before?: Before | undefined;
}

const setup = async ({ first, now, before }: World) => {
  const server = createMemoryServer();
  if (first !== undefined) server.put(DEPLOYMENTS, first);
  const clock = createFakeClock();
  const logger = recordingLogger();
  const faults: { now?: Before | undefined } = {};
  const client = server.client((...call) => faults.now?.(...call));
  const watch = watchDeployment({ client, deployment: ref, clock, timeoutMs: 3_000, logger });
  await eventually(
    () => clock.pending === 0,
    () => 'the first look has not ended',
  );
  server.remove(DEPLOYMENTS, ref);
  if (now !== undefined) server.put(DEPLOYMENTS, now);
  faults.now = before;
  return { clock, logger, removed: watch.removed() };
};
const failing =
  (status: number): Before =>
  () => {
    throw new ApiError({ method: 'GET', path: '/x', status });
  };

describe('whether the Deployment is removed', () => {
  const leaving = { metadata: { ...ref, deletionTimestamp }, spec: { replicas: 2 } };
  const cases: { name: string; first?: object | undefined; now?: object; before?: Before; removed: boolean }[] = [
    { name: 'is there', now: THERE, removed: false },
    { name: 'leaves the number of replicas to the server', now: { metadata: ref, spec: {} }, removed: false },
    { name: 'is gone', removed: true },
    { name: 'is being deleted', now: leaving, removed: true },
    { name: 'was on its way out from the start, and is gone', first: leaving, removed: true },
    { name: 'is scaled to nothing', now: { metadata: ref, spec: { replicas: 0 } }, removed: true },
    { name: 'never was there: this process belongs to none', first: undefined, removed: false },
    { name: 'was made later, and is being deleted', first: undefined, now: leaving, removed: true },
    { name: 'is not ours to read', before: failing(403), removed: false },
    { name: 'cannot be read', before: failing(500), removed: false },
  ];
  for (const { name, removed, now, before, ...rest } of cases) {
    it(`${removed ? 'it is' : 'it is not'} where it ${name}`, async () => {
      const first = 'first' in rest ? rest.first : THERE;
      const run = await setup({ first, now, before });
      expect(await run.removed).to.equal(removed);
      expect(run.logger.entries).to.have.lengthOf(before === undefined ? 0 : 1);
      expect(run.clock.pending).to.equal(0);
    });
  }

  it('does not wait for an answer that does not come', async () => {
    const silent: Before = (_call, signal) =>
      new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted'))));
    const { clock, removed } = await setup({ first: THERE, now: THERE, before: silent });
    await eventually(
      () => clock.pending === 1,
      () => 'no second look',
    );
    await clock.advance(3_000);
    expect(await removed).to.equal(false);
  });
});
