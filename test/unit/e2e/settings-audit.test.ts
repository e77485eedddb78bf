// How the suites about settings read the answers of the API server's audit log.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { type AuditEvent, isAccepted, isBrokenOff } from '../../e2e/settings-audit.ts';

describe('an answer in the audit log', () => {
  const answered = (responseStatus: AuditEvent['responseStatus']): AuditEvent => ({
    requestURI: '/api/v1/namespaces/shop/services/web',
    stage: 'ResponseComplete',
    verb: 'patch',
    requestReceivedTimestamp: '2026-11-21T22:00:41.185189Z',
    stageTimestamp: '2026-11-21T22:00:41.185189Z',
    user: { username: 'somebody' },
    ...(responseStatus === undefined ? {} : { responseStatus }),
  });

  // The messages are those of kube-apiserver 1.36 for a body that ends early, a connection that is closed, and a stream that is reset.
  for (const { code, message, broken } of [
    { code: 500, message: 'request declared a Content-Length of 40 but only wrote 5 bytes', broken: true },
    { code: 500, message: 'client disconnected', broken: true },
    { code: 500, message: 'stream error: stream ID 1; CANCEL', broken: true },
    {
      code: 504,
      message: 'Timeout: request did not complete within requested timeout - context canceled',
      broken: true,
    },
    { code: 500, message: 'failed calling webhook "x": context deadline exceeded', broken: false },
    { code: 409, message: 'the object has been modified; client disconnected', broken: false },
    { code: 200, message: 'client disconnected', broken: false },
  ]) {
    it(`${code} ${message}: ${broken ? '' : 'not '}broken off by its client`, () => {
      expect(isBrokenOff(answered({ code, message }))).to.equal(broken);
    });
  }

  for (const { code, accepted } of [
    { code: 200, accepted: true },
    { code: 201, accepted: true },
    { code: 304, accepted: false },
    { code: 409, accepted: false },
    { code: 500, accepted: false },
  ]) {
    it(`${code} is ${accepted ? '' : 'not '}accepted`, () => {
      expect(isAccepted(answered({ code }))).to.equal(accepted);
    });
  }

  it('that never came is neither accepted nor broken off', () => {
    expect([isAccepted, isBrokenOff].map((judge) => judge(answered(undefined)))).to.deep.equal([false, false]);
  });
});
