import { expect } from 'chai';
import { describe, it } from 'mocha';
import { createTurns } from '../../../pkg/webhook/body.ts';

describe('turns of large reviews', () => {
  /** Each task takes the milliseconds that it is called by; what is waited for is played at once, until nothing is. */
  const play = (tasks: readonly number[], leaving?: number): string[] => {
    const said: string[] = [];
    const waits: (() => void)[] = [];
    let now = 0;
    const takeTurn = createTurns(
      () => now,
      (next, milliseconds) => {
        said.push(`rest ${milliseconds}`);
        waits.push(next);
      },
    );
    const leave = tasks.map((milliseconds) =>
      takeTurn(() => {
        said.push(`ran ${milliseconds}`);
        now += milliseconds;
      }),
    );
    if (leaving !== undefined) leave[leaving]?.();
    for (let next = waits.shift(); next !== undefined; next = waits.shift()) next();
    takeTurn(() => said.push('free'));
    return said.slice(0, -1);
  };

  const cases = [
    { name: 'a lone one runs at once', tasks: [4], says: ['ran 4', 'rest 0', 'free'] },
    { name: 'the next has a turn of its own', tasks: [4, 3], says: ['ran 4', 'rest 0', 'ran 3', 'rest 0', 'free'] },
    {
      name: 'one that took long is followed by a rest',
      tasks: [11, 3],
      says: ['ran 11', 'rest 44', 'ran 3', 'rest 0', 'free'],
    },
    {
      name: 'one that left does not run',
      tasks: [4, 3, 2],
      leaving: 1,
      says: ['ran 4', 'rest 0', 'ran 2', 'rest 0', 'free'],
    },
  ];
  for (const { name, tasks, leaving, says } of cases) it(name, () => expect(play(tasks, leaving)).to.deep.equal(says));
});
