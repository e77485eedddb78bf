// What is said and kept of a failed request, and what never is.
import { inspect } from 'node:util';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import {
  ApiError,
  apiErrorOf,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isGone,
  isNotFound,
  isServiceUnavailable,
  isStalePatch,
  isTooManyRequests,
} from '../../../pkg/kubernetes/errors.ts';

const request = { method: 'GET', path: '/api/v1/namespaces/a/services/b' };

const status = (code: number, reason?: string, message?: string, details?: object) => ({
  kind: 'Status',
  status: 'Failure',
  code,
  ...(reason === undefined ? {} : { reason }),
  ...(message === undefined ? {} : { message }),
  ...(details === undefined ? {} : { details }),
});

describe('apiErrorOf', () => {
  const cases: Array<{ name: string; status: number; body: unknown; message: string; reason: string }> = [
    {
      name: 'quotes a Status',
      status: 404,
      body: status(404, 'NotFound', 'services "b" not found'),
      reason: 'NotFound',
      message: 'GET /api/v1/namespaces/a/services/b: 404 NotFound: services "b" not found',
    },
    {
      name: 'derives the reason where the Status has none',
      status: 410,
      body: status(410),
      reason: 'Gone',
      message: 'GET /api/v1/namespaces/a/services/b: 410 Gone',
    },
    {
      name: 'says a Status in one line, without orders to a terminal, and its reason as a word',
      status: 422,
      body: status(422, `In\u001b[31mvalid${'x'.repeat(500)}`, 'one\ntwo\u009b3J'),
      reason: `In [31mvalid${'x'.repeat(88)}`,
      message: `GET /api/v1/namespaces/a/services/b: 422 In [31mvalid${'x'.repeat(88)}: one two 3J`,
    },
    {
      name: 'does not quote what is no Status',
      status: 502,
      body: { message: 'a proxy says: token abc' },
      reason: 'Unknown',
      message: 'GET /api/v1/namespaces/a/services/b: 502 Unknown',
    },
    {
      name: 'takes a body that was not JSON',
      status: 503,
      body: undefined,
      reason: 'ServiceUnavailable',
      message: 'GET /api/v1/namespaces/a/services/b: 503 ServiceUnavailable',
    },
    {
      name: 'takes a Status whose fields are not strings',
      status: 500,
      body: { kind: 'Status', reason: 7, message: { a: 1 }, details: { retryAfterSeconds: '5' } },
      reason: 'InternalError',
      message: 'GET /api/v1/namespaces/a/services/b: 500 InternalError',
    },
  ];
  for (const { name, status: code, body, message, reason } of cases) {
    it(name, () => {
      const error = apiErrorOf(request, code, body);
      expect(error).to.include({ name: 'ApiError', code: 'ApiError', status: code, reason, message, ...request });
      expect(error.retryAfterMs).to.equal(undefined);
    });
  }

  describe('retryAfterMs', () => {
    it('comes from the header first', () => {
      expect(
        apiErrorOf(request, 429, status(429, 'TooManyRequests', '', { retryAfterSeconds: 9 }), 2_000),
      ).to.have.property('retryAfterMs', 2_000);
    });
    it('comes from the Status otherwise', () => {
      expect(apiErrorOf(request, 429, status(429, 'TooManyRequests', '', { retryAfterSeconds: 9 }))).to.have.property(
        'retryAfterMs',
        9_000,
      );
    });
  });

  describe('Secrets', () => {
    const quoting = 'error decoding: ...|"password":"aHVudGVyMg=="|...';
    for (const path of ['/api/v1/namespaces/a/secrets', '/api/v1/namespaces/a/secrets/b', '/api/v1/secrets?limit=1']) {
      for (const code of [400, 422]) {
        it(`leaves the message of a ${code} at ${path} out`, () => {
          const error = apiErrorOf({ method: 'POST', path }, code, status(code, 'BadRequest', quoting));
          expect(inspect(error, { depth: 10 })).not.to.contain('aHVudGVyMg==');
          expect(error.reason).to.equal('BadRequest');
        });
      }
    }
    it('means Secrets, not what is named like them', () => {
      const path = '/api/v1/namespaces/a/services/secretsauce';
      expect(apiErrorOf({ method: 'PUT', path }, 422, status(422, 'Invalid', 'spec.ports')).message).to.contain(
        'spec.ports',
      );
    });
  });
});

describe('predicates', () => {
  const predicates = {
    isForbidden,
    isNotFound,
    isConflict,
    isAlreadyExists,
    isGone,
    isTooManyRequests,
    isServiceUnavailable,
  };
  const cases: Array<{ status: number; reason: string; only: keyof typeof predicates | undefined }> = [
    { status: 401, reason: 'Unauthorized', only: undefined },
    { status: 403, reason: 'Forbidden', only: 'isForbidden' },
    { status: 404, reason: 'NotFound', only: 'isNotFound' },
    { status: 409, reason: 'Conflict', only: 'isConflict' },
    { status: 409, reason: 'AlreadyExists', only: 'isAlreadyExists' },
    { status: 410, reason: 'Expired', only: 'isGone' },
    { status: 422, reason: 'Invalid', only: undefined },
    { status: 429, reason: 'TooManyRequests', only: 'isTooManyRequests' },
    { status: 503, reason: 'ServiceUnavailable', only: 'isServiceUnavailable' },
    { status: 500, reason: 'InternalError', only: undefined },
  ];
  for (const { status: code, reason, only } of cases) {
    it(`${code} ${reason} is ${only ?? 'none of them'}`, () => {
      const error = new ApiError({ ...request, status: code, reason });
      const holding = Object.entries(predicates)
        .filter(([, holds]) => holds(error))
        .map(([name]) => name);
      expect(holding).to.deep.equal(only === undefined ? [] : [only]);
    });
  }
});

describe('isStalePatch', () => {
  const rejected = 'the server rejected our request due to an error in our request';
  const cases: { name: string; status: number; reason: string; message?: string; stale: boolean }[] = [
    { name: 'a conflict', status: 409, reason: 'Conflict', stale: true },
    { name: 'a patch that does not apply any more', status: 422, reason: 'Invalid', message: rejected, stale: true },
    {
      name: 'an object that is not valid',
      status: 422,
      reason: 'Invalid',
      message: 'EndpointSlice "a" is invalid: endpoints[0].hints.forZones: Too many: 9: must have at most 8 items',
      stale: false,
    },
    { name: 'an object that is there already', status: 409, reason: 'AlreadyExists', stale: false },
    { name: 'the same words for another status', status: 400, reason: 'BadRequest', message: rejected, stale: false },
  ];
  for (const { name, status: code, reason, message, stale } of cases) {
    it(`is ${stale ? '' : 'not '}${name}`, () => {
      expect(isStalePatch(apiErrorOf(request, code, status(code, reason, message)))).to.equal(stale);
    });
  }
});
