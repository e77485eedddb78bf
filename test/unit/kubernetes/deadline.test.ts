// SPDX-License-Identifier: Apache-2.0
// A signal that ends with the caller's or with time, and leaves nothing on either.
import { getEventListeners } from 'node:events';
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import { createDeadline } from '../../../pkg/kubernetes/deadline.ts';
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
