// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { WINDOW_SECONDS, counting, fits } from '../../../pkg/flow/fan-out-budget.ts';
import type { Sent } from '../../../pkg/flow/fan-out-budget.ts';

const LIMIT = 100;
const sent = (...entries: [at: number, bytes: number][]): Sent[] => entries.map(([at, bytes]) => ({ at, bytes }));

describe('a fan-out budget', () => {
  const cases: { name: string; sent: Sent[]; bytes: number; time: number; fits: boolean }[] = [
    { name: 'has room while nothing was sent', sent: [], bytes: 100, time: 0, fits: true },
    { name: 'has room up to the limit', sent: sent([0, 60]), bytes: 40, time: 1, fits: true },
    { name: 'has none above it', sent: sent([0, 60]), bytes: 41, time: 1, fits: false },
    { name: 'forgets what was sent a minute ago', sent: sent([0, 100]), bytes: 100, time: 60, fits: true },
    { name: 'remembers it until then', sent: sent([0, 100]), bytes: 1, time: 59.9, fits: false },
    { name: 'lets a plan above the limit wait for others', sent: sent([0, 1]), bytes: 300, time: 1, fits: false },
    { name: 'lets it go alone', sent: sent([0, 100]), bytes: 300, time: 60, fits: true },
    { name: 'counts it for as many minutes as it needs', sent: sent([0, 300]), bytes: 1, time: 179, fits: false },
    { name: 'and no longer', sent: sent([0, 300]), bytes: 100, time: 180, fits: true },
    { name: 'counts nothing for more than an hour', sent: sent([0, 1e9]), bytes: 100, time: 3_600, fits: true },
    { name: 'has room for what is not written', sent: sent([0, 500]), bytes: 0, time: 1, fits: true },
  ];
  for (const { name, sent: before, bytes, time, fits: expected } of cases)
    it(name, () => expect(fits(before, LIMIT, bytes, time)).to.equal(expected));

  it('is kept in every minute, by all writes that waited for it', () => {
    const steps = fc.array(
      fc.record({ wait: fc.double({ min: 0, max: 40, noNaN: true }), bytes: fc.integer({ min: 1, max: 3 * LIMIT }) }),
      { maxLength: 80 },
    );
    fc.assert(
      fc.property(steps, (wanted) => {
        let [time, log]: [number, Sent[]] = [0, []];
        const written: Sent[] = [];
        for (const { wait, bytes } of wanted) {
          time += wait;
          if (!fits(log, LIMIT, bytes, time)) continue;
          written.push({ at: time, bytes });
          log = [...counting(log, LIMIT, time), { at: time, bytes }];
        }
        for (const [index, { at }] of written.entries()) {
          const minute = written.slice(index).filter((one) => one.at < at + WINDOW_SECONDS);
          const sum = minute.reduce((total, { bytes }) => total + bytes, 0);
          expect(sum <= LIMIT || minute.length === 1, `${sum} from ${at} on`).to.equal(true);
        }
        const all = written.reduce((total, { bytes }) => total + bytes, 0);
        const last = Math.max(LIMIT, written.at(-1)?.bytes ?? 0);
        expect(all, 'in the long run').to.be.at.most((LIMIT * time) / WINDOW_SECONDS + LIMIT + last + 1e-6);
      }),
    );
  });
});
