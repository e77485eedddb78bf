// Which stored slices keep their hints.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { endpointConditions, splitByValidity } from '../../../../pkg/upstream/controller/proportional.ts';
import { aSlice, at } from '../support.ts';

const zones = new Map(['a', 'b'].map((zone) => [zone, { minimum: 1, desired: 2, maximum: 2 }]));
const hinted = (zone: string, index: number) => at(zone, index, { hints: [zone] });

describe('splitByValidity', () => {
  for (const [name, endpoints, valid] of [
    ['each hinted within the maximum', [hinted('a', 1), hinted('b', 2)], true],
    ['hinted across zones', [at('a', 1, { hints: ['b'] })], true],
    ['no endpoints', [], true],
    ['a ready endpoint without hint', [hinted('a', 1), at('b', 2)], false],
    ['an empty list of hints', [at('a', 1, { hints: [] })], false],
    ['a zone without allocation', [at('a', 1, { hints: ['gone'] })], false],
    ['above the maximum', [hinted('a', 1), hinted('a', 2), hinted('a', 3)], false],
    ['every zone of an endpoint counts', [at('a', 1, { hints: ['a', 'b'] }), hinted('a', 2), hinted('a', 3)], false],
    ['unready without hint', [hinted('a', 1), at('b', 2, { conditions: { ready: false } })], true],
    ['ready not said, without hint', [hinted('a', 1), at('b', 2, { conditions: {} })], true],
  ] as const) {
    it(`${name}: ${valid ? 'valid' : 'invalid'}`, () =>
      expect(splitByValidity([aSlice(endpoints)], zones).valid).to.have.length(valid ? 1 : 0));
  }

  it('counts the valid slices before, and only those', () => {
    const full = aSlice([hinted('a', 1), hinted('a', 2)], 's1');
    const tooMuch = aSlice([hinted('a', 3), hinted('b', 4)], 's2');
    const fits = aSlice([hinted('b', 5), hinted('b', 6)], 's3');
    const { valid, invalid, counts } = splitByValidity([full, tooMuch, fits], zones);
    expect(valid).to.deep.equal([full, fits]);
    expect(invalid).to.deep.equal([tooMuch]);
    expect(Object.fromEntries(counts)).to.deep.equal({ a: 2, b: 2 });
  });
});

describe('endpointConditions', () => {
  for (const { pod, deleting, publish, expected } of [
    { pod: true, deleting: false, publish: false, expected: [true, true, false] },
    { pod: true, deleting: false, publish: true, expected: [true, true, false] },
    { pod: false, deleting: false, publish: false, expected: [false, false, false] },
    { pod: false, deleting: false, publish: true, expected: [true, false, false] },
    { pod: true, deleting: true, publish: false, expected: [false, true, true] },
    { pod: false, deleting: true, publish: false, expected: [false, false, true] },
    { pod: true, deleting: true, publish: true, expected: [true, true, true] },
  ]) {
    it(`Pod ready ${pod}, deleting ${deleting}, publishNotReady ${publish}`, () => {
      const [ready, serving, terminating] = expected;
      expect(endpointConditions({ ready: pod, deleting, publishNotReady: publish })).to.deep.equal({
        ready,
        serving,
        terminating,
      });
    });
  }
});
