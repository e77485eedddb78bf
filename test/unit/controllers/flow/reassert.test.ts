// SPDX-License-Identifier: Apache-2.0
// Tests of asserting a plan again: at once, then less and less often, and quiet forgives.
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import { createReassertGuard } from '../../../../pkg/controllers/flow/reassert.ts';
import type { ReassertGuard } from '../../../../pkg/controllers/flow/reassert.ts';
import { createFakeClock } from '../../../fixtures/fake-clock.ts';
import type { FakeClock } from '../../../fixtures/fake-clock.ts';

describe('the guard of plans', () => {
  let clock: FakeClock;
  let guard: ReassertGuard;
  beforeEach(() => {
    clock = createFakeClock();
    guard = createReassertGuard({ clock });
  });

  /** Milliseconds until the plan may be written again. */
  const waits = (plan = 'p'): number => {
    const permit = guard.admit('web', plan);
    return permit.kind === 'wait' ? permit.afterMs : 0;
  };
  const lose = (plan = 'p'): void => guard.written('web', plan);

  it('lets a new plan be written at once, and the first loss be mended at once', () => {
    expect(guard.admit('web', 'p')).to.deep.equal({ kind: 'write', again: false });
    lose();
    expect(guard.admit('web', 'p')).to.deep.equal({ kind: 'write', again: true });
  });

  it('doubles the wait with every loss, up to five minutes', async () => {
    lose();
    const seen: number[] = [];
    for (let loss = 0; loss < 11; loss += 1) {
      lose();
      seen.push(waits());
      await clock.advance(waits());
    }
    expect(seen).to.deep.equal([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].map((seconds) => seconds * 1_000));
  });

  it('is losing from the third loss on, until the plan held for a minute', async () => {
    lose();
    for (const losing of [false, false, true]) {
      lose();
      expect(guard.losing('web')).to.equal(losing);
    }
    guard.confirmed('web', 'p');
    expect(guard.losing('web'), 'confirmed a moment ago').to.equal(true);
    await clock.advance(60_000);
    guard.confirmed('web', 'p');
    expect(guard.losing('web')).to.equal(false);
    expect(waits()).to.equal(0);
  });

  it('does not hold back another plan, and remembers that it was losing', () => {
    for (let loss = 0; loss < 5; loss += 1) lose();
    expect(waits()).to.be.greaterThan(0);
    expect(waits('other')).to.equal(0);
    lose('other');
    expect(guard.losing('web')).to.equal(true);
  });

  it('takes a plan that it finds on the slices for asserted', () => {
    guard.confirmed('web', 'p');
    expect(guard.admit('web', 'p')).to.deep.equal({ kind: 'write', again: true });
    expect(guard.losing('web')).to.equal(false);
  });

  it('forgets', () => {
    for (let loss = 0; loss < 5; loss += 1) lose();
    guard.forget('web');
    expect([guard.losing('web'), waits()]).to.deep.equal([false, 0]);
  });
});
