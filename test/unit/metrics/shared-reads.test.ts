// Who shares a request, who shares an answer, and when neither is remembered any more.
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import { createSharedReads } from '../../../pkg/metrics/shared-reads.ts';
import type { Load, SharedReads } from '../../../pkg/metrics/shared-reads.ts';
import { rejection } from '../../fixtures/eventually.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';
import type { FakeClock } from '../../fixtures/fake-clock.ts';

const never = new AbortController().signal;

interface Request {
  readonly previous: string | undefined;
  readonly signal: AbortSignal;
  answer(value: string): void;
  fail(message: string): void;
}

describe('shared reads', () => {
  let clock: FakeClock;
  let reads: SharedReads<string>;
  let requests: Request[];

  const load: Load<string> = (previous, signal) => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    requests.push({ previous, signal, answer: resolve, fail: (message) => reject(new Error(message)) });
    return promise;
  };
  const read = (key = 'k', maxAgeMs = 1_000, signal = never): Promise<string> =>
    reads.read(key, maxAgeMs, load, signal);

  beforeEach(() => {
    clock = createFakeClock();
    requests = [];
    reads = createSharedReads({ clock, concurrency: 2 });
  });

  it('sends one request for all who ask for the same at a time', async () => {
    const both = Promise.all([read(), read()]);
    await clock.settle();
    expect(requests).to.have.length(1);
    requests[0]!.answer('x');
    expect(await both).to.deep.equal(['x', 'x']);
  });

  it('sends no more at a time than it may', async () => {
    const all = Promise.all(['a', 'b', 'c'].map((key) => read(key)));
    await clock.settle();
    expect(requests).to.have.length(2);
    requests[0]!.answer('x');
    requests[1]!.answer('y');
    await clock.settle();
    expect(requests).to.have.length(3);
    requests[2]!.answer('z');
    expect(await all).to.deep.equal(['x', 'y', 'z']);
  });

  it('gives an answer again as long as its request began recently enough for who asks', async () => {
    const first = read();
    await clock.advance(400);
    requests[0]!.answer('x');
    expect(await first).to.equal('x');
    await clock.advance(599);
    expect(await read(), 'began 999 ms ago').to.equal('x');
    expect(requests).to.have.length(1);
    const impatient = read('k', 500);
    await clock.settle();
    expect(requests, 'too old for who wants 500 ms').to.have.length(2);
    requests[1]!.answer('y');
    expect(await impatient).to.equal('y');
    expect(await read(), 'and the newer one is for everybody').to.equal('y');
  });

  it('shows a request the answer before it, however old', async () => {
    const first = read();
    await clock.settle();
    expect(requests[0]!.previous).to.equal(undefined);
    requests[0]!.answer('x');
    await first;
    await clock.advance(50_000);
    const second = read();
    await clock.settle();
    expect(requests[1]!.previous).to.equal('x');
    requests[1]!.answer('y');
    await second;
  });

  it('keeps a request for those who still wait when one gives up', async () => {
    const controller = new AbortController();
    const first = rejection(read('k', 1_000, controller.signal));
    const second = read();
    await clock.settle();
    controller.abort(new Error('gave up'));
    expect(await first).to.have.property('message', 'gave up');
    expect(requests[0]!.signal.aborted).to.equal(false);
    requests[0]!.answer('x');
    expect(await second).to.equal('x');
  });

  it('ends a request without waiting callers, and does not remember what comes of it', async () => {
    const controller = new AbortController();
    const first = rejection(read('k', 1_000, controller.signal));
    await clock.settle();
    controller.abort(new Error('gave up'));
    await first;
    expect(requests[0]!.signal.aborted).to.equal(true);
    const second = read();
    await clock.settle();
    expect(requests, 'a new one').to.have.length(2);
    requests[1]!.answer('new');
    requests[0]!.answer('late');
    expect(await second).to.equal('new');
    await clock.settle();
    expect(await read()).to.equal('new');
  });

  it('lets the request of a late finisher leave the flight of its successor alone', async () => {
    const controller = new AbortController();
    const first = rejection(read('k', 0, controller.signal));
    await clock.settle();
    controller.abort(new Error('gave up'));
    await first;
    const second = read('k', 0);
    await clock.settle();
    requests[0]!.fail('late');
    await clock.settle();
    const third = read('k', 0);
    await clock.settle();
    expect(requests, 'the third shares with the second').to.have.length(2);
    requests[1]!.answer('x');
    expect(await Promise.all([second, third])).to.deep.equal(['x', 'x']);
  });
});
