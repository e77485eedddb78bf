import { expect } from 'chai';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { followVersion, stepVersion } from '../../../../pkg/controllers/settings/version.ts';
import type { FollowedVersion, VersionState } from '../../../../pkg/controllers/settings/version.ts';
import { UnsupportedVersionError, formatVersion } from '../../../../pkg/routing/version.ts';
import { type FakeClock, createFakeClock } from '../../../fixtures/fake-clock.ts';
import { type RecordingLogger, recordingLogger } from '../../../fixtures/recording-logger.ts';

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
  const cases: { name: string; answers: [number, number][]; current: number[] }[] = [
    { name: 'takes the first answer at once', answers: [[0, 30]], current: [30] },
    {
      name: 'lets a newer one wait until it is stable',
      answers: [
        [0, 30],
        [10, 31],
        [200, 31],
        [310, 31],
      ],
      current: [30, 30, 30, 31],
    },
    {
      name: 'follows a downgrade at once',
      answers: [
        [0, 31],
        [1, 30],
      ],
      current: [31, 30],
    },
    {
      name: 'starts anew when the old one answers in between',
      answers: [
        [0, 30],
        [10, 31],
        [300, 30],
        [310, 31],
        [600, 31],
        [610, 31],
      ],
      current: [30, 30, 30, 30, 30, 31],
    },
    {
      name: 'starts anew for a still newer one',
      answers: [
        [0, 30],
        [10, 31],
        [200, 32],
        [320, 32],
        [500, 32],
      ],
      current: [30, 30, 30, 30, 32],
    },
  ];
  for (const { name, answers, current } of cases) it(name, () => expect(play(answers)).to.deep.equal(current));

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

describe('version tracker', () => {
  let clock: FakeClock;
  let log: RecordingLogger;
  let answer: unknown;
  let reads: number;
  let changes: string[];
  let stop: AbortController;
  beforeEach(() => {
    clock = createFakeClock();
    log = recordingLogger();
    answer = { major: '1', minor: '32' };
    reads = 0;
    changes = [];
    stop = new AbortController();
  });
  afterEach(() => stop.abort());

  const create = (override?: string): FollowedVersion => {
    const tracker = followVersion({
      client: {
        raw: <T>() => {
          reads += 1;
          return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer as T);
        },
      },
      clock,
      logger: log,
      config: {
        kubernetesVersion: { rereadSeconds: 60, stableSeconds: 120, ...(override === undefined ? {} : { override }) },
      },
    });
    tracker.onChange((version) => changes.push(formatVersion(version)));
    return tracker;
  };

  it('reads, rereads, and takes a newer version when it is stable', async () => {
    const tracker = create();
    await tracker.read(stop.signal);
    expect(changes).to.deep.equal(['1.32']);
    const running = tracker.run(stop.signal);
    answer = { major: '1', minor: '34+' };
    await clock.advance(120_000);
    expect(changes, 'not stable yet').to.deep.equal(['1.32']);
    await clock.advance(60_000);
    expect(changes).to.deep.equal(['1.32', '1.34']);
    answer = { major: '1', minor: '32' };
    await clock.advance(60_000);
    expect(changes, 'down at once').to.deep.equal(['1.32', '1.34', '1.32']);
    stop.abort();
    await running;
    expect(clock.pending, 'timers left').to.equal(0);
  });

  it('reads soon after a poke, once for many', async () => {
    const tracker = create();
    await tracker.read(stop.signal);
    void tracker.run(stop.signal);
    await clock.settle();
    tracker.poke();
    tracker.poke();
    await clock.advance(1_000);
    expect(reads).to.equal(2);
    await clock.advance(59_000);
    expect(reads, 'the next turn counts from there').to.equal(2);
    await clock.advance(1_000);
    expect(reads).to.equal(3);
  });

  it('asks every few seconds until there is an answer', async () => {
    answer = new Error('refused');
    void create().run(stop.signal);
    await clock.advance(5_000);
    expect(reads).to.equal(1);
    answer = { major: '1', minor: '34' };
    await clock.advance(5_000);
    expect(changes).to.deep.equal(['1.34']);
    await clock.advance(59_000);
    expect(reads).to.equal(2);
  });

  const unreadable = [
    { name: 'the server cannot be reached', value: new Error('refused') },
    { name: 'the answer is no version', value: { major: 'x' } },
    { name: 'the version is too old', value: { major: '1', minor: '20' } },
  ];
  for (const { name, value } of unreadable) {
    it(`keeps what it knows, and says so, when ${name}`, async () => {
      const tracker = create();
      await tracker.read(stop.signal);
      answer = value;
      await tracker.read(stop.signal);
      expect(tracker.current).to.deep.equal({ major: 1, minor: 32 });
      expect(log.entries.at(-1)).to.deep.include({ level: 'warn', message: "cannot read the API server's version" });
    });
  }

  it('asks no API server when the version is given', async () => {
    const tracker = create('v1.30.4');
    await tracker.read(stop.signal);
    await tracker.run(stop.signal);
    expect(tracker.current).to.deep.equal({ major: 1, minor: 30 });
    expect(reads).to.equal(0);
    expect(() => create('1.20')).to.throw(UnsupportedVersionError);
  });

  it('warns once about a version newer than any examined', async () => {
    answer = { major: '1', minor: '99' };
    const tracker = create();
    await tracker.read(stop.signal);
    await tracker.read(stop.signal);
    expect(log.entries.filter(({ level }) => level === 'warn')).to.have.length(1);
  });
});
