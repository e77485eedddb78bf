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
  const INVALID = `In [31mvalid${'x'.repeat(88)}`;
  const untyped = { kind: 'Status', reason: 7, message: { a: 1 }, details: { retryAfterSeconds: '5' } };
  /** `says`: what the message says behind the request. */
  const cases: readonly (readonly [name: string, status: number, body: unknown, reason: string, says: string])[] = [
    [
      'quotes a Status',
      404,
      status(404, 'NotFound', 'services "b" not found'),
      'NotFound',
      '404 NotFound: services "b" not found',
    ],
    ['derives the reason where the Status has none', 410, status(410), 'Gone', '410 Gone'],
    [
      'says a Status in one line, without orders to a terminal, and its reason as a word',
      422,
      status(422, `In\u001b[31mvalid${'x'.repeat(500)}`, 'one\ntwo\u009b3J'),
      INVALID,
      `422 ${INVALID}: one two 3J`,
    ],
    ['does not quote what is no Status', 502, { message: 'a proxy says: token abc' }, 'Unknown', '502 Unknown'],
    ['takes a body that was not JSON', 503, undefined, 'ServiceUnavailable', '503 ServiceUnavailable'],
    ['takes a Status whose fields are not strings', 500, untyped, 'InternalError', '500 InternalError'],
  ];
  for (const [name, code, body, reason, says] of cases) {
    it(name, () => {
      const error = apiErrorOf(request, code, body);
      const message = `${request.method} ${request.path}: ${says}`;
      expect(error).to.include({ name: 'ApiError', code: 'ApiError', status: code, reason, message, ...request });
      expect(error.retryAfterMs).to.equal(undefined);
    });
  }

  describe('retryAfterMs', () => {
    const refused = status(429, 'TooManyRequests', '', { retryAfterSeconds: 9 });
    it('comes from the header first', () =>
      expect(apiErrorOf(request, 429, refused, 2_000)).to.have.property('retryAfterMs', 2_000));
    it('comes from the Status otherwise', () =>
      expect(apiErrorOf(request, 429, refused)).to.have.property('retryAfterMs', 9_000));
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
  const invalid = 'EndpointSlice "a" is invalid: endpoints[0].hints.forZones: Too many: 9: must have at most 8 items';
  const cases: readonly (readonly [name: string, of: ReturnType<typeof status>, stale: boolean])[] = [
    ['a conflict', status(409, 'Conflict'), true],
    ['a patch that does not apply any more', status(422, 'Invalid', rejected), true],
    ['an object that is not valid', status(422, 'Invalid', invalid), false],
    ['an object that is there already', status(409, 'AlreadyExists'), false],
    ['the same words for another status', status(400, 'BadRequest', rejected), false],
  ];
  for (const [name, of, stale] of cases) {
    it(`is ${stale ? '' : 'not '}${name}`, () => {
      expect(isStalePatch(apiErrorOf(request, of.code, of))).to.equal(stale);
    });
  }
});
