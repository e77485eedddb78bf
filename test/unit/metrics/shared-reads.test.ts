// Who shares a request, who shares an answer, and when neither is remembered any more.
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import { createGate, createSharedReads } from '../../../pkg/metrics/shared-reads.ts';
import { rejection } from '../../fixtures/eventually.ts';
import { type FakeClock, createFakeClock } from '../../fixtures/fake-clock.ts';

const never = new AbortController().signal;

interface Request {
  readonly previous: string | undefined;
  readonly signal: AbortSignal;
  answer(value: string): void;
  fail(message: string): void;
}

describe('shared reads', () => {
  let clock: FakeClock;
  let reads: ReturnType<typeof createSharedReads<string>>;
  let requests: Request[];

  const load = (previous: string | undefined, signal: AbortSignal): Promise<string> => {
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
});

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Tasks that end when told to, and a record of those that began. */
const tasks = () => {
  const begun: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<string>>();
  return {
    begun,
    task: (name: string) => (): Promise<string> => {
      begun.push(name);
      const end = Promise.withResolvers<string>();
      ends.set(name, end);
      return end.promise;
    },
    end: (name: string): void => ends.get(name)!.resolve(name),
    fail: (name: string): void => ends.get(name)!.reject(new Error(name)),
  };
};

describe('gate', () => {
  it('runs so many at a time, and the others in the order they came', async () => {
    const gate = createGate(2);
    const { begun, task, end } = tasks();
    const results = ['a', 'b', 'c', 'd'].map((name) => gate.run(task(name), never));
    await turn();
    expect(begun).to.deep.equal(['a', 'b']);
    end('b');
    await turn();
    expect(begun).to.deep.equal(['a', 'b', 'c']);
    end('a');
    await turn();
    expect(begun).to.deep.equal(['a', 'b', 'c', 'd']);
    end('c');
    end('d');
    expect(await Promise.all(results)).to.deep.equal(['a', 'b', 'c', 'd']);
  });

  // The place is handed over some microtasks before the task begins: an abort may come at any of them.
  for (let microtasks = 0; microtasks < 12; microtasks += 1) {
    it(`loses no place to a task that gives up ${microtasks} microtasks after its turn may have come`, async () => {
      const gate = createGate(1);
      const { task, end } = tasks();
      const first = gate.run(task('a'), never);
      const controller = new AbortController();
      let outcome = '';
      const second = gate
        .run(() => Promise.resolve('b'), controller.signal)
        .then(
          () => (outcome = 'ran'),
          () => (outcome = 'gave up'),
        );
      await turn();
      end('a');
      for (let count = 0; count < microtasks; count += 1) await Promise.resolve();
      controller.abort(new Error('gave up'));
      await Promise.all([first, second]);
      expect(outcome).to.be.oneOf(['ran', 'gave up']);
      expect(await gate.run(() => Promise.resolve('c'), never), 'the place is free').to.equal('c');
      const held = gate.run(task('d'), never);
      let began = false;
      const other = gate.run(async () => (began = true), never);
      await turn();
      expect(began, 'there is one place, not two').to.equal(false);
      end('d');
      await Promise.all([held, other]);
    });
  }
});
