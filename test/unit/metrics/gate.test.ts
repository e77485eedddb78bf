// How many tasks run at a time, in which order the others follow, and what an abort frees.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { createGate } from '../../../pkg/metrics/shared-reads.ts';

const never = new AbortController().signal;
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
