// The real clock's promises that the fake one cannot show: it moves, it cancels, it holds delays beyond Node's limit.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { systemClock } from '../../../pkg/kubernetes/wait.ts';

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
