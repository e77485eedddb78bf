// Tests of writing status: at once where it says something else, seldom for figures, and a policy where there is none.
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { FlowPolicy, FlowPolicyStatus } from '../../../../pkg/apis/flow-policy.ts';
import { createStatusWriter, isOwnPolicy } from '../../../../pkg/controllers/flow/write.ts';
import type { StatusWriter, StatusWriterOptions } from '../../../../pkg/controllers/flow/write.ts';
import { ApiError } from '../../../../pkg/kubernetes/errors.ts';
import { service } from '../../../fixtures/core.ts';
import { createFakeClock } from '../../../fixtures/fake-clock.ts';
import type { FakeClock } from '../../../fixtures/fake-clock.ts';
import { recordingLogger } from '../../../fixtures/recording-logger.ts';
import type { RecordingLogger } from '../../../fixtures/recording-logger.ts';

const WEB = service({ metadata: { name: 'web', namespace: 'shop', uid: 'u' } });
const policy: FlowPolicy = { apiVersion: 'x', kind: 'FlowPolicy', metadata: { name: 'web', namespace: 'shop' } };
const signal = new AbortController().signal;
const status = (inZonePercent: number, reason = 'Steady'): FlowPolicyStatus => ({
  inZonePercent,
  conditions: [{ type: 'Stable', status: 'True', reason, message: '', lastTransitionTime: '' }],
});
const refusal = (code: number, reason: string): ApiError =>
  new ApiError({ status: code, method: 'PATCH', path: '/', reason });

describe('the writer of status', () => {
  let clock: FakeClock;
  let log: RecordingLogger;
  /** `verb` and what was sent. */
  let sent: [string, unknown][];
  let fail: ApiError | undefined;

  const answer = <T>(verb: string, body: T): Promise<T> => {
    if (fail !== undefined) return Promise.reject(fail);
    sent.push([verb, body]);
    return Promise.resolve(body);
  };
  const open = (more: Partial<StatusWriterOptions> = {}): StatusWriter =>
    createStatusWriter({
      client: {
        create: (_resource, object) => answer('create', object),
        patch: (_resource, ref, type, patch, options) =>
          answer(`patch ${type} ${options?.subresource} ${ref.namespace}/${ref.name}`, patch) as never,
        delete: async (_resource, _ref, options) => void (await answer('delete', options)),
      },
      clock,
      minIntervalMs: 60_000,
      create: true,
      available: () => true,
      logger: log,
      ...more,
    });
  const subject = (found: FlowPolicy | undefined = policy) => ({ key: 'shop/web', service: WEB, policy: found });

  beforeEach(() => {
    clock = createFakeClock();
    log = recordingLogger();
    sent = [];
    fail = undefined;
  });

  it('writes figures a minute apart, and another reason at once', async () => {
    const writer = open();
    await writer.write(subject(), status(90), signal);
    expect(await writer.write(subject(), status(50), signal), 'figures, too early').to.equal(false);
    expect(await writer.write(subject(), status(50, 'Overloaded'), signal), 'a reason').to.equal(true);
    await clock.advance(60_000);
    expect(await writer.write(subject(), status(90, 'Overloaded'), signal), 'figures, a minute later').to.equal(true);
  });

  it('writes again to a policy that was deleted and made anew', async () => {
    const writer = open();
    await writer.write(subject(), status(90), signal);
    expect(await writer.write({ ...subject(), policy: undefined }, status(90), signal)).to.equal(true);
  });

  const quiet: { name: string; more: Partial<StatusWriterOptions>; found?: FlowPolicy }[] = [
    { name: 'where it shall create none', more: { create: false } },
    { name: 'while the definition is not installed', more: { available: () => false }, found: policy },
  ];
  for (const { name, more, found } of quiet) {
    it(`writes nothing ${name}`, async () => {
      const given = { key: 'shop/web', service: WEB, policy: found };
      expect(await open(more).write(given, status(90), signal)).to.equal(false);
      expect(sent).to.deep.equal([]);
    });
  }

  const failures: { name: string; error: ApiError; warns: number }[] = [
    { name: 'a policy that goes away', error: refusal(404, 'NotFound'), warns: 0 },
    { name: 'missing rights', error: refusal(403, 'Forbidden'), warns: 0 },
    { name: 'an API server in trouble', error: refusal(500, 'InternalError'), warns: 1 },
  ];
  for (const { name, error, warns } of failures) {
    it(`survives ${name}, and tries again`, async () => {
      const writer = open();
      fail = error;
      expect(await writer.write(subject(), status(90), signal)).to.equal(false);
      expect(log.entries.filter(({ level }) => level === 'warn')).to.have.length(warns);
      fail = undefined;
      expect(await writer.write(subject(), status(90), signal)).to.equal(true);
    });
  }

  it('treats a policy as its own only while its spec is empty', () => {
    const labels = { 'app.kubernetes.io/managed-by': 'flow-controller' };
    const ours = { ...policy, metadata: { ...policy.metadata, labels } };
    expect([isOwnPolicy(ours), isOwnPolicy({ ...ours, spec: { mode: 'Observe' } }), isOwnPolicy(policy)]).to.deep.equal(
      [true, false, false],
    );
  });
});
