// The real clock's promises that the fake one cannot show: it moves, it cancels, it holds delays beyond Node's limit.
import { getEventListeners } from 'node:events';
import { expect } from 'chai';
import { describe, it, beforeEach } from 'mocha';
import { abortable, createDeadline, sleep, systemClock } from '../../../pkg/kubernetes/wait.ts';
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
  it('resolves when its time has come', async () => {
    const clock = createFakeClock();
    const controller = new AbortController();
    let awake = false;
    const sleeping = sleep(clock, 100, controller.signal).then(() => (awake = true));
    await clock.advance(99);
    expect(awake).to.equal(false);
    await clock.advance(1);
    await sleeping;
    expect(getEventListeners(controller.signal, 'abort')).to.have.length(0);
  });
  it('rejects with the reason of the signal, and leaves no timer', async () => {
    const clock = createFakeClock();
    const controller = new AbortController();
    const sleeping = rejection(sleep(clock, 100, controller.signal));
    const reason = new Error('stop');
    controller.abort(reason);
    expect(await sleeping).to.equal(reason);
    expect(clock.pending).to.equal(0);
  });
  it('does not begin with an aborted signal', async () => {
    const clock = createFakeClock();
    const reason = new Error('stop');
    expect(await rejection(sleep(clock, 100, AbortSignal.abort(reason)))).to.equal(reason);
    expect(clock.pending).to.equal(0);
  });
});

describe('abortable', () => {
  let controller: AbortController;
  const reason = new Error('stop');
  beforeEach(() => {
    controller = new AbortController();
  });

  it('resolves as the promise does, and leaves no listener', async () => {
    expect(await abortable(Promise.resolve(7), controller.signal)).to.equal(7);
    expect(getEventListeners(controller.signal, 'abort')).to.have.length(0);
  });
  it('rejects as the promise does, and leaves no listener', async () => {
    const error = new Error('broken');
    expect(await rejection(abortable(Promise.reject(error), controller.signal))).to.equal(error);
    expect(getEventListeners(controller.signal, 'abort')).to.have.length(0);
  });
  it('rejects with the reason when the promise never settles', async () => {
    const waiting = rejection(abortable(new Promise(() => undefined), controller.signal));
    controller.abort(reason);
    expect(await waiting).to.equal(reason);
  });
  it('rejects at once when aborted before', async () => {
    controller.abort(reason);
    expect(await rejection(abortable(new Promise(() => undefined), controller.signal))).to.equal(reason);
  });
  it('hands over for release what comes too late', async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const released = new Promise<string>((release) => {
      abortable(promise, controller.signal, release).catch(() => undefined);
    });
    controller.abort(reason);
    resolve('late');
    expect(await released).to.equal('late');
  });
  it('swallows what fails too late', async () => {
    const { promise, reject } = Promise.withResolvers<string>();
    const waiting = rejection(abortable(promise, controller.signal));
    controller.abort(reason);
    reject(new Error('late'));
    expect(await waiting).to.equal(reason);
  });
});

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
