// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { DEPLOYMENTS } from '../../../pkg/apis/resources.ts';
import { isDeploymentRemoved } from '../../../pkg/kubernetes/deployment-removed.ts';
import { ApiError } from '../../../pkg/kubernetes/errors.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';
import { createMemoryServer } from '../../fixtures/memory-client.ts';
import type { Before } from '../../fixtures/memory-client.ts';
import { recordingLogger } from '../../fixtures/recording-logger.ts';

const ref = { namespace: 'own', name: 'webhook' };
const deletionTimestamp = '2026-01-01T00:00:00Z';
const setup = (object?: object, before?: Before) => {
  const server = createMemoryServer();
  if (object !== undefined) server.put(DEPLOYMENTS, object);
  const clock = createFakeClock();
  const logger = recordingLogger();
  const removed = isDeploymentRemoved({
    client: server.client(before),
    deployment: ref,
    clock,
    timeoutMs: 3_000,
    logger,
  });
  return { clock, logger, removed };
};
const failing =
  (status: number): Before =>
  () => {
    throw new ApiError({ method: 'GET', path: '/x', status });
  };

describe('whether the Deployment is removed', () => {
  const cases: { name: string; object?: object; before?: Before; removed: boolean }[] = [
    { name: 'is there', object: { metadata: ref, spec: { replicas: 2 } }, removed: false },
    { name: 'leaves the number of replicas to the server', object: { metadata: ref, spec: {} }, removed: false },
    { name: 'is gone', removed: true },
    {
      name: 'is being deleted',
      object: { metadata: { ...ref, deletionTimestamp }, spec: { replicas: 2 } },
      removed: true,
    },
    { name: 'is scaled to nothing', object: { metadata: ref, spec: { replicas: 0 } }, removed: true },
    { name: 'is not ours to read', before: failing(403), removed: false },
    { name: 'cannot be read', before: failing(500), removed: false },
  ];
  for (const { name, object, before, removed } of cases) {
    it(`${removed ? 'it is' : 'it is not'} where it ${name}`, async () => {
      const run = setup(object, before);
      expect(await run.removed).to.equal(removed);
      expect(run.logger.entries).to.have.lengthOf(before === undefined ? 0 : 1);
      expect(run.clock.pending).to.equal(0);
    });
  }

  it('does not wait for an answer that does not come', async () => {
    const { clock, removed } = setup(
      { metadata: ref },
      (_call, signal) =>
        new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted')))),
    );
    await clock.advance(3_000);
    expect(await removed).to.equal(false);
  });
});
