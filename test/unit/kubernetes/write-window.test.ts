// SPDX-License-Identifier: Apache-2.0
// Tests of how many writes are on their way at once, on a fake clock: the API server is a number of milliseconds for each answer.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { ApiError } from '../../../pkg/kubernetes/errors.ts';
import { createWriteWindow } from '../../../pkg/kubernetes/write-window.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';

/** Sends `count` writes; each takes what `answer` says for the number that are on their way. Resolves with the most at once. */
const send = async (
  window: ReturnType<typeof createWriteWindow>,
  clock: ReturnType<typeof createFakeClock>,
  count: number,
  answer: (running: number) => number | Error,
): Promise<number> => {
  let running = 0;
  let most = 0;
  const one = async (): Promise<void> => {
    running += 1;
    most = Math.max(most, running);
    const took = answer(running);
    await new Promise<void>((resolve) => clock.setTimeout(resolve, took instanceof Error ? 1 : took));
    running -= 1;
    if (took instanceof Error) throw took;
  };
  const all = Promise.allSettled(Array.from({ length: count }, () => window.run(one)));
  let done = false;
  void all.then(() => (done = true));
  while (!done) await clock.advance(1);
  return most;
};

describe('writes on their way at once', () => {
  it('become more while the API server answers as fast as ever, up to the bound', async () => {
    const clock = createFakeClock();
    const window = createWriteWindow({ clock, initial: 4, max: 16 });
    expect(await send(window, clock, 400, () => 5)).to.equal(16);
  });

  it('stay below what makes answers slow', async () => {
    const clock = createFakeClock();
    const window = createWriteWindow({ clock });
    const most = await send(window, clock, 600, (running) => (running > 12 ? 900 : 5));
    expect(most).to.be.within(12, 14);
    expect(window.size).to.be.at.most(13);
  });

  it('are halved once for all answers to what was sent before', async () => {
    const clock = createFakeClock();
    const window = createWriteWindow({ clock, initial: 8 });
    await send(window, clock, 1, () => 5);
    await send(window, clock, 8, () => 1_000);
    expect(window.size).to.equal(4);
  });

  it('are as many as in the beginning where answers are slow whatever is sent, and fewer where a 429 was waited out', async () => {
    const clock = createFakeClock();
    const window = createWriteWindow({ clock, initial: 8 });
    await send(window, clock, 200, () => 5);
    expect(window.size).to.be.above(8);
    await send(window, clock, 200, () => 400);
    expect(window.size).to.equal(8);
    await send(window, clock, 100, () => 1_000);
    expect(window.size).to.equal(1);
  });

  it('are as many as before after conflicts, which are answers as well', async () => {
    const clock = createFakeClock();
    const window = createWriteWindow({ clock, initial: 4, max: 4 });
    const conflict = new ApiError({ status: 409, method: 'PATCH', path: '/', reason: 'Conflict' });
    await send(window, clock, 20, () => conflict);
    expect(window.size).to.equal(4);
  });

  it('are one at least, and each rejects as its write did', async () => {
    const clock = createFakeClock();
    const window = createWriteWindow({ clock });
    await send(window, clock, 40, () => new Error('no'));
    expect(window.size).to.equal(1);
    const refused = await window.run(() => Promise.reject(new Error('refused'))).catch((error: unknown) => error);
    expect(String(refused)).to.contain('refused');
    expect(await window.run(() => Promise.resolve('stored'))).to.equal('stored');
  });
});
