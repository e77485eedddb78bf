// Waiting on a clock.
import { getEventListeners } from 'node:events';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { sleep } from '../../../pkg/kubernetes/wait.ts';
import { rejection } from '../../fixtures/eventually.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';

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
