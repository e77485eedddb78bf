// Tests of the new connections that a zone still gets while it is evacuated, from readings that the test makes.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { measuredFromNow } from '../../../../cmd/kubectl-topology/evacuation/follow.ts';
import { type Measured, stillSeen, stillSeenText } from '../../../../pkg/traffic/measured.ts';
import type { LiveTraffic } from '../../../../cmd/kubectl-topology/measured-flags.ts';
import { flow, measured } from '../../../fixtures/measured.ts';

const FLOWS = [
  flow('shop/web', 'a', 'a', 1, 2),
  flow('shop/db', 'b', 'a', 1, 0.5),
  flow('shop/web', 'a', 'b', 1, 40),
  flow('', 'b', 'a', 1, 3),
  flow('shop/unknown', 'b', 'a', 1, null),
];

/** Readings one after the other; the last one stays. */
const traffic = (...readings: Measured[]): LiveTraffic & { readonly taken: () => number } => {
  let taken = 0;
  return {
    intervalMs: 1,
    next: () => {
      const reading = readings[Math.min(taken, readings.length - 1)]!;
      taken += 1;
      return Promise.resolve(reading);
    },
    close: () => Promise.resolve(),
    taken: () => taken,
  };
};

describe('new connections that a zone still gets', () => {
  it('are those to its endpoints, from anywhere, through Services and past them', () =>
    expect(stillSeen(measured(FLOWS, { seconds: 2 }), 'a')).to.deep.equal({
      seconds: 2,
      throughServices: 2.5,
      pastServices: 3,
    }));

  const texts: readonly (readonly [number, number, string])[] = [
    [0, 0, 'new connections to a: 0 a second through Services, 0 past them (measured over 2 s)'],
    [2.5, 12.4, 'new connections to a: 2.5 a second through Services, 12 past them (measured over 2 s)'],
  ];
  for (const [throughServices, pastServices, want] of texts)
    it(`read: ${want}`, () => expect(stillSeenText({ seconds: 2, throughServices, pastServices }, 'a')).to.equal(want));

  it('in the end are of the time after it was done', async () => {
    const source = traffic(measured(FLOWS), measured([]));
    const { throughServices } = stillSeen(await measuredFromNow(source, new AbortController().signal), 'a');
    expect([throughServices, source.taken()]).to.deep.equal([0, 2]);
  });
});
