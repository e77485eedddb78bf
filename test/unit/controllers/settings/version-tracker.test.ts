// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { createVersionTracker } from '../../../../pkg/controllers/settings/version-tracker.ts';
import type { VersionTracker } from '../../../../pkg/controllers/settings/version-tracker.ts';
import { UnsupportedVersionError, formatVersion } from '../../../../pkg/routing/version.ts';
import { createFakeClock } from '../../../fixtures/fake-clock.ts';
import type { FakeClock } from '../../../fixtures/fake-clock.ts';
import { recordingLogger } from '../../../fixtures/recording-logger.ts';
import type { RecordingLogger } from '../../../fixtures/recording-logger.ts';

describe('version tracker', () => {
  let clock: FakeClock;
  let log: RecordingLogger;
  let answer: unknown;
  let reads: number;
  let accepts: boolean;
  let changes: string[];
  let stop: AbortController;
  beforeEach(() => {
    clock = createFakeClock();
    log = recordingLogger();
    answer = { major: '1', minor: '32' };
    reads = 0;
    accepts = true;
    changes = [];
    stop = new AbortController();
  });
  afterEach(() => stop.abort());

  const create = (override?: string): VersionTracker => {
    const tracker = createVersionTracker({
      client: {
        raw: <T>() => {
          reads += 1;
          return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer as T);
        },
      },
      clock,
      logger: log,
      ...(override === undefined ? {} : { override }),
      rereadMs: 60_000,
      stableMs: 120_000,
      trial: () => Promise.resolve(accepts),
    });
    tracker.onChange((version) => changes.push(formatVersion(version)));
    return tracker;
  };

  it('reads, rereads, and takes a newer version when it is stable and accepted', async () => {
    const tracker = create();
    await tracker.read(stop.signal);
    expect(changes).to.deep.equal(['1.32']);
    const running = tracker.run(stop.signal);
    answer = { major: '1', minor: '34+' };
    accepts = false;
    await clock.advance(240_000);
    expect(changes, 'refused').to.deep.equal(['1.32']);
    accepts = true;
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

  it('holds a newer first answer back while objects carry the settings of an older version', async () => {
    answer = { major: '1', minor: '34' };
    const tracker = create();
    await tracker.read(stop.signal);
    tracker.resume({ major: 1, minor: 33 });
    expect(tracker.current).to.deep.equal({ major: 1, minor: 33 });
    void tracker.run(stop.signal);
    await clock.settle();
    accepts = false;
    await clock.advance(180_000);
    expect(tracker.current, 'stable, but the trial write is refused').to.deep.equal({ major: 1, minor: 33 });
    accepts = true;
    await clock.advance(60_000);
    expect(tracker.current).to.deep.equal({ major: 1, minor: 34 });
    expect(changes).to.deep.equal(['1.34', '1.33', '1.34']);
  });

  it('resumes nothing where nothing is carried or the version is given', async () => {
    answer = { major: '1', minor: '34' };
    const tracker = create();
    await tracker.read(stop.signal);
    tracker.resume(undefined);
    expect(tracker.current).to.deep.equal({ major: 1, minor: 34 });
    const given = create('v1.36.0');
    given.resume({ major: 1, minor: 33 });
    expect(given.current).to.deep.equal({ major: 1, minor: 36 });
  });

  it('asks nobody when the version is given', async () => {
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
