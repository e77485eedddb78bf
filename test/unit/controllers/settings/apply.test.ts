import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { KubernetesObject, ObjectRef } from '../../../../pkg/apis/meta.ts';
import type { Resource } from '../../../../pkg/apis/resources.ts';
import { applyObjects } from '../../../../pkg/controllers/settings/apply.ts';
import type { ApplyOptions, WriteCause } from '../../../../pkg/controllers/settings/apply.ts';
import { createRewriteGuard } from '../../../../pkg/kubernetes/rewrite-guard.ts';
import { ApiError, ConnectionError } from '../../../../pkg/kubernetes/errors.ts';
import type { Client } from '../../../../pkg/kubernetes/types.ts';
import { apiError } from '../../../fixtures/memory-client.ts';
import { recordingLogger } from '../../../fixtures/recording-logger.ts';
import { serviceDecision } from './support.ts';

interface Call {
  resource: string;
  ref: ObjectRef;
  type: string;
  patch: Record<string, unknown>;
}

describe('applyObjects', () => {
  let now: number;
  let calls: Call[];
  let answer: (call: Call) => KubernetesObject;
  let causes: WriteCause[];
  let options: ApplyOptions;
  const { signal } = new AbortController();

  beforeEach(() => {
    now = 0;
    calls = [];
    causes = [];
    answer = ({ patch }) => ({ ...patch, metadata: { name: 'x', resourceVersion: '6' } });
    const patch = (resource: Resource, ref: ObjectRef, type: string, body: unknown) => {
      const call = { resource: resource.plural, ref, type, patch: body as Record<string, unknown> };
      calls.push(call);
      return Promise.resolve(call).then(answer);
    };
    options = {
      client: { patch: patch as unknown as Client['patch'] },
      guard: createRewriteGuard({
        clock: { monotonic: () => now },
        delayMs: () => 60_000,
        fightAfter: 2,
        windowMs: 600_000,
      }),
      logger: recordingLogger(),
      onWrite: (cause) => causes.push(cause),
    };
  });

  it('repairs a minute apart and says when it may go on', async () => {
    const item = serviceDecision('a');
    for (const cause of ['change', 'repair']) {
      await applyObjects([item], options, signal);
      expect(causes.at(-1)).to.equal(cause);
    }
    now += 20_000;
    const held = await applyObjects([item, serviceDecision('b')], options, signal);
    expect(held.retryAfterMs).to.equal(40_000);
    expect(held.written.map(({ ref }) => ref.name)).to.deep.equal(['b']);
    now += 40_000;
    const { fighting } = await applyObjects([item], options, signal);
    expect(fighting.map(({ ref }) => ref.name)).to.deep.equal(['a']);
  });

  it('tries again soon after a conflict, and lets an object that is gone be', async () => {
    answer = ({ ref }) => {
      throw apiError(ref.name === 'gone' ? 404 : 409);
    };
    const result = await applyObjects([serviceDecision('gone'), serviceDecision('conflict')], options, signal);
    expect(result).to.deep.include({ written: [], retryAfterMs: 1_000, error: undefined });
  });

  it('writes the others when one is refused, and reports the first refusal', async () => {
    answer = ({ ref, patch }) => {
      if (ref.name === 'bad') throw apiError(403);
      return { ...patch, metadata: { name: ref.name } };
    };
    const { written, error } = await applyObjects([serviceDecision('bad'), serviceDecision('good')], options, signal);
    expect(written.map(({ ref }) => ref.name)).to.deep.equal(['good']);
    expect(error).to.be.instanceOf(ApiError);
  });

  it('stops at once when the server cannot be reached', async () => {
    answer = () => {
      throw new ConnectionError({ reason: 'Unreachable', message: 'refused', method: 'PATCH', path: '/x' });
    };
    const failure = await applyObjects([serviceDecision('a'), serviceDecision('b')], options, signal).catch(
      (error: unknown) => error,
    );
    expect(failure).to.be.instanceOf(ConnectionError);
    expect(calls).to.have.length(1);
  });
});
