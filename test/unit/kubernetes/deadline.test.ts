// A signal that ends with the caller's or with time, and leaves nothing on either.
import { getEventListeners } from 'node:events';
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import { createDeadline } from '../../../pkg/kubernetes/wait.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';
import type { FakeClock } from '../../fixtures/fake-clock.ts';

describe('createDeadline', () => {
  let clock: FakeClock;
  let caller: AbortController;
  beforeEach(() => {
    clock = createFakeClock();
    caller = new AbortController();
  });

  it('expires', async () => {
    const deadline = createDeadline(clock, 1_000, caller.signal);
    await clock.advance(999);
    expect([deadline.signal.aborted, deadline.expired]).to.deep.equal([false, false]);
    await clock.advance(1);
    expect([deadline.signal.aborted, deadline.expired]).to.deep.equal([true, true]);
  });
  it('follows the caller, and has not expired then', async () => {
    const deadline = createDeadline(clock, 1_000, caller.signal);
    caller.abort(new Error('stop'));
    expect(deadline.signal.reason).to.have.property('message', 'stop');
    await clock.advance(1_000);
    expect(deadline.expired).to.equal(false);
  });
  it('is aborted from the start with a caller that is', () => {
    caller.abort();
    const deadline = createDeadline(clock, 1_000, caller.signal);
    expect(deadline.signal.aborted).to.equal(true);
    deadline.dispose();
  });
  it('knows by the clock that time is up before its timer has a turn', () => {
    let now = 0;
    const frozen = { ...clock, monotonic: () => now, setTimeout: () => ({ cancel: () => undefined }) };
    const deadline = createDeadline(frozen, 1_000);
    now = 999;
    expect([deadline.check(), deadline.signal.aborted]).to.deep.equal([false, false]);
    deadline.restart(500);
    now = 1_498;
    expect(deadline.check()).to.equal(false);
    now = 1_499;
    expect([deadline.check(), deadline.signal.aborted, deadline.expired]).to.deep.equal([true, true, true]);
  });
  it('does not expire once disposed', () => {
    let now = 0;
    const deadline = createDeadline({ ...clock, monotonic: () => now }, 1_000);
    deadline.dispose();
    now = 2_000;
    expect(deadline.check()).to.equal(false);
  });
  it('starts anew', async () => {
    const deadline = createDeadline(clock, 1_000);
    await clock.advance(900);
    deadline.restart(500);
    await clock.advance(499);
    expect(deadline.expired).to.equal(false);
    await clock.advance(1);
    expect(deadline.expired).to.equal(true);
  });
  it('leaves neither timer nor listener once disposed', () => {
    for (let count = 0; count < 100; count += 1) createDeadline(clock, 1_000, caller.signal).dispose();
    expect(clock.pending).to.equal(0);
    expect(getEventListeners(caller.signal, 'abort')).to.have.length(0);
  });
});
