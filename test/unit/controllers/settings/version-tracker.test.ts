import { expect } from 'chai';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, it } from 'mocha';
import {
  INITIAL_VERSION,
  type VersionState,
  type VersionTracker,
  acceptCandidate,
  createVersionTracker,
  resumeVersion,
  stepVersion,
} from '../../../../pkg/controllers/settings/version.ts';
import { formatVersion } from '../../../../pkg/routing/version.ts';
import { createFakeClock } from '../../../fixtures/fake-clock.ts';
import type { FakeClock } from '../../../fixtures/fake-clock.ts';
import { recordingLogger } from '../../../fixtures/recording-logger.ts';
import type { RecordingLogger } from '../../../fixtures/recording-logger.ts';
import type { Service } from '../../../../pkg/apis/core.ts';
import { STRATEGIES } from '../../../../pkg/apis/names.ts';
import { acceptsSettingsOf, carriedVersion } from '../../../../pkg/controllers/settings/version.ts';
import { ApiError } from '../../../../pkg/kubernetes/errors.ts';
import type { Client, WriteOptions } from '../../../../pkg/kubernetes/types.ts';
import {
  mechanismOf,
  planSettings,
  routingSettings,
  strategySettings,
  withOldProxies,
} from '../../../../pkg/routing/plan.ts';
import type { RoutingSettings } from '../../../../pkg/routing/types.ts';
import { service } from '../../../fixtures/core.ts';

const v = (minor: number) => ({ major: 1, minor });
const STABLE = 300;

/** Plays answers (minor at time) and accepts every candidate that is ready. */
const play = (answers: readonly [time: number, minor: number][]): (number | undefined)[] => {
  let state: VersionState = INITIAL_VERSION;
  return answers.map(([time, minor]) => {
    const step = stepVersion(state, v(minor), time, STABLE);
    state = step.ready === undefined ? step.state : acceptCandidate(step.ready);
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

  describe('after a restart, while objects carry settings of 1.33', () => {
    const carried = v(33);
    const resumed: { name: string; minor: number; state: VersionState }[] = [
      {
        name: 'waits for a newer answer',
        minor: 34,
        state: { current: carried, candidate: { version: v(34), since: 7 } },
      },
      { name: 'takes the same version', minor: 33, state: { current: v(33) } },
      { name: 'takes an older one at once', minor: 31, state: { current: v(31) } },
    ];
    for (const { name, minor, state } of resumed) {
      it(`${name}, whether it was heard before or after`, () => {
        expect(resumeVersion({ current: v(minor) }, carried, 7)).to.deep.equal(state);
        expect(stepVersion(resumeVersion({}, carried, 0), v(minor), 7, STABLE).state).to.deep.equal(state);
      });
    }

    it('takes the newer one when it has been stable from then on', () => {
      const { state } = stepVersion(resumeVersion({}, carried, 0), v(34), 7, STABLE);
      expect(stepVersion(state, v(34), 7 + STABLE - 1, STABLE).ready).to.equal(undefined);
      expect(stepVersion(state, v(34), 7 + STABLE, STABLE).ready).to.deep.equal(v(34));
    });
  });

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
});

/** A Service as the reconciler leaves it. */
const settled = (want: RoutingSettings, object: Service = service()): Service => {
  const plan = planSettings({ object, want });
  if (plan.kind === 'unchanged') throw new Error('nothing was planned');
  const { metadata, spec } = plan.patch as Service;
  return service({ metadata: metadata ?? {}, spec: spec ?? {} });
};

const SUBJECT = { namespace: 'a', name: 'b' };
const apiError = new ApiError({ status: 422, method: 'PATCH', path: '/x' });

const trial = async (respond: () => object, subject: typeof SUBJECT | undefined = SUBJECT, minor = 34) => {
  const calls: { patch: unknown; options: WriteOptions | undefined }[] = [];
  const patch = (_resource: unknown, _ref: unknown, _type: unknown, body: unknown, options?: WriteOptions) => {
    calls.push({ patch: body, options });
    return Promise.resolve().then(respond);
  };
  const client = { patch: patch as unknown as Client['patch'] };
  const options = { client, subject, version: { major: 1, minor }, logger: recordingLogger() };
  return { accepted: await acceptsSettingsOf(options, new AbortController().signal), calls };
};

describe('carriedVersion', () => {
  const newest: Record<number, number | undefined> = { 24: 26, 26: 26, 27: 30, 30: 30, 31: 31, 32: 33, 33: 33 };
  for (let minor = 24; minor <= 36; minor += 1) {
    it(`of settings written on 1.${minor} is the newest version with the same mechanism`, () => {
      const found = carriedVersion([settled(routingSettings(v(minor)))]);
      if (minor >= 34) expect(found).to.equal(undefined);
      else expect(mechanismOf(found!)).to.equal(mechanismOf(v(minor)));
      if (minor in newest) expect(found?.minor).to.equal(newest[minor]);
    });

    for (const strategy of STRATEGIES) {
      it(`never claims less than 1.${minor} for the strategy ${strategy} there, with old proxies or without`, () => {
        const settings = strategySettings(v(minor), strategy);
        for (const want of [settings, withOldProxies(settings)]) {
          const found = carriedVersion([settled(want)]);
          if (found !== undefined) expect(found.minor).to.be.at.least(minor);
        }
      });
    }
  }

  it('is the newest of many: an interrupted pass goes on', () => {
    const [old, young] = [settled(routingSettings(v(30))), settled(routingSettings(v(33)))];
    expect(carriedVersion([old, young, old])).to.deep.equal(v(33));
    expect(carriedVersion([old, settled(routingSettings(v(34)))])).to.equal(undefined);
  });

  const silent: { name: string; services: Service[] }[] = [
    { name: 'there are no Services', services: [] },
    { name: 'nothing was applied', services: [service({ spec: { trafficDistribution: 'PreferClose' } })] },
    {
      name: 'the record is malformed',
      services: [service({ metadata: { annotations: { 'topology.extensions.gardener.cloud/applied': '{' } } })],
    },
  ];
  for (const { name, services } of silent) {
    it(`is unknown when ${name}`, () => expect(carriedVersion(services)).to.equal(undefined));
  }
});

describe('acceptsSettingsOf', () => {
  it('sends the new value as a dry run and accepts it when it comes back', async () => {
    const { accepted, calls } = await trial(() => ({ spec: { trafficDistribution: 'PreferSameZone' } }));
    expect(accepted).to.equal(true);
    expect(calls).to.deep.equal([
      { patch: { spec: { trafficDistribution: 'PreferSameZone' } }, options: { dryRun: true } },
    ]);
  });

  const refused = [
    {
      name: 'the value is refused',
      respond: () => {
        throw apiError;
      },
    },
    { name: 'the field is dropped', respond: () => ({ spec: {} }) },
    { name: 'an older value comes back', respond: () => ({ spec: { trafficDistribution: 'PreferClose' } }) },
  ];
  for (const { name, respond } of refused) {
    it(`says no when ${name}`, async () => expect((await trial(respond)).accepted).to.equal(false));
  }
});
