import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { type VersionState, stepVersion } from '../../../../pkg/controllers/settings/version.ts';

const v = (minor: number) => ({ major: 1, minor });
const STABLE = 300;

/** Plays answers (minor at time). */
const play = (answers: readonly [time: number, minor: number][]): (number | undefined)[] => {
  let state: VersionState = {};
  return answers.map(([time, minor]) => {
    state = stepVersion(state, v(minor), time, STABLE);
    return state.current?.minor;
  });
};

describe('stepVersion', () => {
  const cases: [name: string, minorAt: Record<number, number>, current: number[]][] = [
    ['takes the first answer at once', { 0: 30 }, [30]],
    ['lets a newer one wait until it is stable', { 0: 30, 10: 31, 200: 31, 310: 31 }, [30, 30, 30, 31]],
    ['follows a downgrade at once', { 0: 31, 1: 30 }, [31, 30]],
    [
      'starts anew when the old one answers in between',
      { 0: 30, 10: 31, 300: 30, 310: 31, 600: 31, 610: 31 },
      [30, 30, 30, 30, 30, 31],
    ],
    ['starts anew for a still newer one', { 0: 30, 10: 31, 200: 32, 320: 32, 500: 32 }, [30, 30, 30, 30, 32]],
  ];
  for (const [name, minorAt, current] of cases) {
    const answers = Object.entries(minorAt).map(([time, minor]): [number, number] => [Number(time), minor]);
    it(name, () => expect(play(answers)).to.deep.equal(current));
  }

  it('never goes up without the whole time, never stays above an answer', () => {
    const answer = fc.record({ gap: fc.integer({ min: 0, max: 400 }), minor: fc.integer({ min: 26, max: 36 }) });
    fc.assert(
      fc.property(fc.array(answer, { minLength: 1, maxLength: 40 }), (list) => {
        let time = 0;
        const answers = list.map(({ gap, minor }): [number, number] => [(time += gap), minor]);
        play(answers).forEach((current, index) => {
          const [at, minor] = answers[index]!;
          expect(current).to.be.at.most(minor);
          const before = answers.slice(0, index);
          if (index > 0 && current === minor && play(before).at(-1)! < minor) {
            const since = before.filter(([t]) => t > at - STABLE);
            expect(
              since.every(([, m]) => m === minor),
              'the same answer for the whole time',
            ).to.equal(true);
          }
        });
      }),
    );
  });
});
