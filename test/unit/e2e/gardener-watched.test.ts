// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { bareMs } from '../../e2e/gardener/watched.ts';

/** Versions a second apart: a value, or nothing. */
const versions = (...values: string[]) => values.map((object, index) => ({ atMs: index * 1_000, object }));
const bare = (...values: string[]): number => bareMs(versions(...values), (value) => value === '', 10_000);

describe('time that a watched object stood bare', () => {
  for (const { name, values, ms } of [
    { name: 'is nothing before the first value', values: ['', '', 'x'], ms: 0 },
    { name: 'is nothing where no value ever came', values: ['', ''], ms: 0 },
    { name: 'ends with the version that has a value again', values: ['x', '', 'x'], ms: 1_000 },
    { name: 'adds up, over several versions in a row too', values: ['x', '', '', 'x', '', 'x'], ms: 3_000 },
    { name: 'goes on to the end where the last version is bare', values: ['x', ''], ms: 9_000 },
  ]) {
    it(name, () => expect(bare(...values)).to.equal(ms));
  }
});
