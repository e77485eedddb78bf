// The real clock's promises that the fake one cannot show: it moves, it cancels, it holds delays beyond Node's limit.
import { getEventListeners } from 'node:events';
import { expect } from 'chai';
import { describe, it, beforeEach } from 'mocha';
import { createDeadline, sleep, systemClock } from '../../../pkg/kubernetes/wait.ts';
import { rejection } from '../../fixtures/eventually.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';
import type { FakeClock } from '../../fixtures/fake-clock.ts';

describe('systemClock', () => {
  it('calls back once and not before its time', async () => {
    const before = systemClock.monotonic();
    let calls = 0;
    await new Promise<void>((resolve) => {
      systemClock.setTimeout(() => {
        calls += 1;
        resolve();
      }, 5);
    });
    expect(calls).to.equal(1);
    // Node rounds timers down by less than a millisecond.
    expect(systemClock.monotonic() - before).to.be.at.least(4);
  });

  it('does not fire a delay beyond 2^31 ms at once, as a bare Node timer would', async () => {
    let called = false;
    const timer = systemClock.setTimeout(() => (called = true), 2 ** 31 + 1);
    await new Promise<void>((resolve) => systemClock.setTimeout(resolve, 20));
    timer.cancel();
    expect(called).to.equal(false);
  });
});

describe('sleep', () => {
  it('rejects with the reason of the signal, and leaves no timer', async () => {
    const clock = createFakeClock();
    const controller = new AbortController();
    const sleeping = rejection(sleep(clock, 100, controller.signal));
    const reason = new Error('stop');
    controller.abort(reason);
    expect(await sleeping).to.equal(reason);
    expect(clock.pending).to.equal(0);
  });
});

describe('createDeadline', () => {
  let clock: FakeClock;
  let caller: AbortController;
  beforeEach(() => {
    clock = createFakeClock();
    caller = new AbortController();
  });

  it('follows the caller, and has not expired then', async () => {
    const deadline = createDeadline(clock, 1_000, caller.signal);
    caller.abort(new Error('stop'));
    expect(deadline.signal.reason).to.have.property('message', 'stop');
    await clock.advance(1_000);
    expect(deadline.expired).to.equal(false);
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
  it('leaves neither timer nor listener once disposed', () => {
    for (let count = 0; count < 100; count += 1) createDeadline(clock, 1_000, caller.signal).dispose();
    expect(clock.pending).to.equal(0);
    expect(getEventListeners(caller.signal, 'abort')).to.have.length(0);
  });
});
