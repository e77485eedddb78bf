// The waits between failures.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { DEFAULT_INFORMER_BACKOFF, informerDelay } from '../../../pkg/kubernetes/informer.ts';

describe('informerDelay', () => {
  const cases = [
    { name: 'begins at 0.8 s', failures: 1, random: 0, asked: undefined, expected: 800 },
    { name: 'doubles', failures: 4, random: 0, asked: undefined, expected: 6_400 },
    { name: 'ends at 30 s', failures: 7, random: 0, asked: undefined, expected: 30_000 },
    { name: 'stays finite after a day of failures', failures: 5_000, random: 0, asked: undefined, expected: 30_000 },
    { name: 'is spread up to the double', failures: 1, random: 0.5, asked: undefined, expected: 1_200 },
    { name: 'is never below what the server asks', failures: 1, random: 0, asked: 7_000, expected: 7_000 },
    { name: 'may be above it', failures: 6, random: 0, asked: 7_000, expected: 25_600 },
    { name: 'ends where the server asks for a day', failures: 1, random: 0, asked: 86_400_000, expected: 30_000 },
    {
      name: 'is at most a minute, whatever happens',
      failures: 5_000,
      random: 0.999_9,
      asked: 86_400_000,
      expected: 59_997,
    },
  ];
  for (const { name, failures, random, asked, expected } of cases) {
    it(name, () => expect(informerDelay(failures, DEFAULT_INFORMER_BACKOFF, () => random, asked)).to.equal(expected));
  }
});
