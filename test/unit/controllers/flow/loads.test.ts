// Tests of reading load: each Service at its own interval, by the source that it names, and failures as words.
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import { type LoadReader, createLoadReader } from '../../../../pkg/controllers/flow/loads.ts';
import { settingsFromSpec } from '../../../../pkg/flow/loop/from-spec.ts';
import type { LoadQuery, LoadReading, LoadSource } from '../../../../pkg/metrics/types.ts';
import { type FakeClock, createFakeClock } from '../../../fixtures/fake-clock.ts';

const QUERY: LoadQuery = { namespace: 'shop', service: 'web', pods: new Set(['p']) };
const FIXED = settingsFromSpec({ metrics: { interval: '15s' } });
const DEFAULTS = settingsFromSpec({});
const never = new AbortController().signal;

describe('the reader of load', () => {
  let clock: FakeClock;
  let reader: LoadReader;
  let asked: LoadQuery[];
  let answer: () => Promise<LoadReading>;
  let outcomes: string[];
  let late: string[];

  const pods = (load: number, problems: string[] = [], sampledAt = load): LoadReading => ({
    kind: 'pods',
    samples: [{ pod: 'p', load, sampledAt, window: 15 }],
    problems,
  });
  const source = (name: string): LoadSource => ({
    name,
    read(query) {
      asked.push(query);
      return answer();
    },
  });
  const read = (settings = FIXED, signal = never) => reader.read('shop/web', settings, QUERY, signal);

  beforeEach(() => {
    clock = createFakeClock();
    asked = [];
    outcomes = [];
    late = [];
    answer = () => Promise.resolve(pods(1));
    reader = createLoadReader({
      sources: new Map(['one', 'two'].map((name) => [name, source(name)])),
      clock,
      lifetime: never,
      onRead: (name, outcome) => outcomes.push(`${name} ${outcome}`),
      onLate: (key) => late.push(key),
    });
  });

  describe('where the policy names no interval', () => {
    /** When the source was asked, seconds, while it has a new sample every fifteen seconds from the first on, at `phase`. */
    const askedAt = async (phase: number, until: number): Promise<number[]> => {
      const begin = clock.monotonic();
      const seconds = (): number => (clock.monotonic() - begin) / 1_000;
      const times: number[] = [];
      answer = () => {
        times.push(seconds());
        return Promise.resolve(pods(1, [], clock.now() / 1_000 - 10 - ((seconds() + 15 - phase) % 15)));
      };
      while (seconds() < until) await clock.advance((await read(DEFAULTS)).dueInMs);
      return times;
    };

    it('waits closely for a sample that is due, so that it is read within three seconds, once in an interval', async () => {
      const times = await askedAt(8, 248);
      const firstAfter = (sample: number): number => times.find((time) => time >= sample) ?? Infinity;
      for (const sample of [158, 173, 188, 203, 218, 233]) expect(firstAfter(sample) - sample).to.be.within(0, 3);
      expect(times.length, 'readings in sixteen intervals').to.be.at.most(22);
    });
  });

  it('goes on without a source that hangs, asks it once, and wants another turn when it has answered', async () => {
    await read();
    let tell: (reading: LoadReading) => void = () => undefined;
    answer = () => new Promise((resolve) => (tell = resolve));
    await clock.advance(15_000);
    const first = read();
    await clock.advance(200);
    expect(await first).to.deep.include({ load: pods(1), problem: undefined, dueInMs: 15_000 });
    const second = read();
    await clock.advance(200);
    expect(await second).to.deep.include({ load: pods(1) });
    expect(asked, 'one question').to.have.length(2);
    tell(pods(2));
    await clock.settle();
    expect(late).to.deep.equal(['shop/web']);
    expect(await read(), 'from the answer on').to.deep.include({ load: pods(2), dueInMs: 15_000 });
    expect(clock.pending).to.equal(0);
  });

  it('gives up on a source after ten seconds, and says so', async () => {
    reader = createLoadReader({
      sources: new Map([
        [
          'slow',
          {
            name: 'slow',
            read: (_query, signal) =>
              new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
          },
        ],
      ]),
      clock,
      lifetime: never,
      onLate: () => undefined,
    });
    const reading = read();
    await clock.advance(10_000);
    expect((await reading).problem).to.equal(undefined);
    expect((await read()).problem).to.deep.equal({ reason: 'Timeout', message: 'slow did not answer within 10000 ms' });
    expect(clock.pending).to.equal(0);
  });

  it('rejects when it is aborted', async () => {
    const stop = new AbortController();
    answer = () => {
      stop.abort(new Error('stopped'));
      return Promise.resolve(pods(1));
    };
    const rejected = await read(DEFAULTS, stop.signal).catch((error: unknown) => error);
    expect(rejected).to.be.instanceOf(Error).with.property('message', 'stopped');
  });
});
