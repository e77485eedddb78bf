// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import fc from 'fast-check';
import { beforeEach, describe, it } from 'mocha';
import { createDriftGuard } from '../../../../pkg/controllers/settings/drift.ts';
import type { DriftGuard } from '../../../../pkg/controllers/settings/drift.ts';

const MINUTE = 60_000;

describe('drift guard', () => {
  let now: number;
  let guard: DriftGuard;
  const create = (): DriftGuard =>
    createDriftGuard({
      clock: { monotonic: () => now },
      minIntervalMs: MINUTE,
      fightAfterRepairs: 3,
      fightWindowMs: 15 * MINUTE,
    });
  beforeEach(() => {
    now = 1_000;
    guard = create();
  });
  const repair = (key = 'k'): void => {
    expect(guard.admit(key, 'on')).to.deep.equal({ kind: 'write', repair: true });
    guard.written(key, 'on', true);
  };

  it('never holds back what is wanted for the first time, or anew', () => {
    expect(guard.admit('k', 'on')).to.deep.equal({ kind: 'write', repair: false });
    guard.written('k', 'on', false);
    repair();
    expect(guard.admit('k', 'off'), 'the setting was flipped').to.deep.equal({ kind: 'write', repair: false });
  });

  it('repairs at once, then a minute apart', () => {
    guard.written('k', 'on', false);
    repair();
    now += 20_000;
    expect(guard.admit('k', 'on')).to.deep.equal({ kind: 'wait', afterMs: 40_000 });
    now += 40_000;
    repair();
  });

  it('says how long a fight lasts in which nobody hits back', () => {
    guard.written('k', 'on', false);
    for (let time = 0; time < 4; time += 1) {
      expect(guard.peaceInMs('k'), `${time} repairs`).to.equal(time < 3 ? 0 : 12 * MINUTE);
      repair();
      now += MINUTE;
    }
    // The third from the end decides.
    const peace = guard.peaceInMs('k');
    now += peace - 1;
    expect(guard.fighting('k'), 'just before').to.equal(true);
    now += 1;
    expect([guard.fighting('k'), guard.peaceInMs('k')]).to.deep.equal([false, 0]);
    expect(guard.peaceInMs('never seen')).to.equal(0);
  });

  it('takes what was seen in place for a base: a difference later is drift', () => {
    guard.confirmed('k', 'on');
    repair();
    guard.confirmed('k', 'off');
    expect(guard.admit('k', 'on')).to.deep.equal({ kind: 'write', repair: false });
  });

  it('calls it a fight after enough repairs within the window, and peace after it', () => {
    guard.written('k', 'on', false);
    for (const fighting of [false, false, true]) {
      repair();
      expect(guard.fighting('k')).to.equal(fighting);
      now += MINUTE;
    }
    now += 13 * MINUTE;
    expect(guard.fighting('k')).to.equal(false);
    expect(guard.fighting('unknown')).to.equal(false);
  });

  it('keeps objects apart and forgets', () => {
    guard.written('a', 'on', false);
    guard.written('b', 'on', false);
    repair('a');
    repair('b');
    guard.forget('a');
    expect(guard.size).to.equal(1);
    expect(guard.admit('a', 'on')).to.deep.equal({ kind: 'write', repair: false });
  });

  it('never repairs the same object twice within a minute, whatever happens', () => {
    const step = fc.record({ ms: fc.integer({ min: 0, max: 90_000 }), confirmed: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        now = 0;
        guard = create();
        guard.written('k', 'on', false);
        let last = Number.NEGATIVE_INFINITY;
        for (const { ms, confirmed } of steps) {
          now += ms;
          if (confirmed) guard.confirmed('k', 'on');
          const permit = guard.admit('k', 'on');
          if (permit.kind === 'wait') {
            expect(last + MINUTE - now).to.equal(permit.afterMs);
            continue;
          }
          expect(now - last).to.be.at.least(MINUTE);
          guard.written('k', 'on', permit.repair);
          last = now;
        }
      }),
    );
  });
});
