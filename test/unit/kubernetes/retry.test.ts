// Which refusals are tried again, and when.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { ApiError, ConnectionError } from '../../../pkg/kubernetes/errors.ts';
import { DEFAULT_RETRY, parseRetryAfter, retryDelay } from '../../../pkg/kubernetes/exchange.ts';

const NOW = Date.UTC(2026, 0, 1);

describe('parseRetryAfter', () => {
  const cases: Array<{ name: string; header: string | undefined; expected: number | undefined }> = [
    { name: 'seconds', header: '3', expected: 3_000 },
    { name: 'zero', header: '0', expected: 0 },
    { name: 'a fraction', header: '0.5', expected: 500 },
    { name: 'a date in the future', header: 'Thu, 01 Jan 2026 00:00:07 GMT', expected: 7_000 },
    { name: 'a date in the past', header: 'Wed, 31 Dec 2025 23:59:00 GMT', expected: 0 },
    { name: 'nothing', header: undefined, expected: undefined },
    { name: 'blank', header: ' ', expected: undefined },
    { name: 'a negative number', header: '-1', expected: undefined },
    { name: 'infinity', header: 'Infinity', expected: undefined },
    { name: 'words', header: 'soon', expected: undefined },
  ];
  for (const { name, header, expected } of cases) {
    it(`reads ${name}`, () => expect(parseRetryAfter(header, NOW)).to.equal(expected));
  }
});

describe('retryDelay', () => {
  const refusal = (method: string, status: number, retryAfterMs?: number) =>
    new ApiError({ method, path: '/x', status, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });
  const cases: Array<{ name: string; error: unknown; attempt?: number; expected: number | undefined }> = [
    { name: '429 on a read waits as asked', error: refusal('GET', 429, 2_000), expected: 2_000 },
    { name: '429 on a write too: it was not executed', error: refusal('POST', 429, 2_000), expected: 2_000 },
    { name: '429 without a time waits a second', error: refusal('PATCH', 429), expected: 1_000 },
    { name: '503 on a read waits as asked', error: refusal('GET', 503, 3_000), expected: 3_000 },
    { name: '503 on a read without a time is final', error: refusal('GET', 503), expected: undefined },
    {
      name: '503 on a write is final: it may have been executed',
      error: refusal('PUT', 503, 1_000),
      expected: undefined,
    },
    { name: '500 is final', error: refusal('GET', 500, 1_000), expected: undefined },
    { name: '409 is final', error: refusal('PUT', 409), expected: undefined },
    {
      name: 'a connection error is final',
      error: new ConnectionError({ method: 'GET', path: '/x', reason: 'Cut', message: '' }),
      expected: undefined,
    },
    { name: 'more than the longest wait is final', error: refusal('GET', 429, 10_001), expected: undefined },
    { name: 'the last attempt still waits', error: refusal('GET', 429, 1), attempt: 3, expected: 1 },
    { name: 'then it is final', error: refusal('GET', 429, 1), attempt: 4, expected: undefined },
  ];
  for (const { name, error, attempt = 0, expected } of cases) {
    it(name, () => expect(retryDelay(error, attempt, DEFAULT_RETRY, () => 0)).to.equal(expected));
  }
  it('never waits less than asked, and spreads by a quarter', () => {
    expect(retryDelay(refusal('GET', 429, 1_000), 0, DEFAULT_RETRY, () => 0.999)).to.be.closeTo(1_250, 1);
  });
});
