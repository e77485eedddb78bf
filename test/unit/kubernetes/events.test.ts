// The event recorder: repeats become counts, floods and failures are dropped, and the caller never notices.
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import type { Event } from '../../../pkg/apis/core.ts';
import { EVENTS } from '../../../pkg/apis/resources.ts';
import { type EventRecorderOptions, createEventRecorder, eventName } from '../../../pkg/kubernetes/events.ts';
import type { EventInput, EventRecorder } from '../../../pkg/kubernetes/types.ts';
import { type FakeClock, createFakeClock } from '../../fixtures/fake-clock.ts';
import { type Before, type MemoryServer, createMemoryServer } from '../../fixtures/memory-client.ts';
import { type RecordingLogger, recordingLogger } from '../../fixtures/recording-logger.ts';

const event = (more: Partial<EventInput> = {}): EventInput => ({
  regarding: { apiVersion: 'v1', kind: 'Service', namespace: 'shoot--a', name: 'etcd-main', uid: 'u1' },
  type: 'Warning',
  reason: 'SingleZone',
  message: 'seed spans one zone only',
  ...more,
});

describe('createEventRecorder', () => {
  let clock: FakeClock;
  let server: MemoryServer;
  let logger: RecordingLogger;
  let stop: AbortController;
  let dropped: string[];

  beforeEach(() => {
    clock = createFakeClock();
    server = createMemoryServer();
    logger = recordingLogger();
    stop = new AbortController();
    dropped = [];
  });

  afterEach(async () => {
    stop.abort();
    await clock.settle();
    expect(clock.pending, 'timers left behind').to.equal(0);
  });

  const create = (before?: Before, options: Partial<EventRecorderOptions> = {}): EventRecorder =>
    createEventRecorder(
      {
        client: server.client(before),
        component: 'settings-reconciler',
        instance: 'pod-1',
        clock,
        logger,
        onDropped: (reason) => dropped.push(reason),
        ...options,
      },
      stop.signal,
    );

  const stored = () => server.all<Event>(EVENTS);

  it('writes a core/v1 Event beside its object', async () => {
    const recorder = create();
    recorder.record(event());
    await recorder.flush();
    const [written, ...more] = stored();
    expect(more).to.deep.equal([]);
    expect(written?.metadata?.name).to.match(/^etcd-main\.[0-9a-f]{16}$/);
    expect({ ...written, metadata: { namespace: written?.metadata?.namespace } }).to.deep.equal({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { namespace: 'shoot--a' },
      involvedObject: event().regarding,
      type: 'Warning',
      reason: 'SingleZone',
      message: 'seed spans one zone only',
      source: { component: 'settings-reconciler' },
      reportingComponent: 'settings-reconciler',
      reportingInstance: 'pod-1',
      firstTimestamp: '2026-01-01T00:00:00Z',
      lastTimestamp: '2026-01-01T00:00:00Z',
      count: 1,
    });
  });

  it('counts repeats on the same Event', async () => {
    const recorder = create();
    for (let repeat = 0; repeat < 3; repeat += 1) {
      recorder.record(event());
      await clock.advance(60_000);
    }
    expect(stored()).to.have.length(1);
    expect(stored()[0]).to.include({
      count: 3,
      firstTimestamp: '2026-01-01T00:00:00Z',
      lastTimestamp: '2026-01-01T00:02:00Z',
    });
    expect(server.calls.map(({ verb }) => verb)).to.deep.equal(['create', 'patch', 'patch']);
  });

  for (const [name, other] of [
    ['message', { message: 'another' }],
    ['reason', { reason: 'NotHighlyAvailable' }],
    ['type', { type: 'Normal' as const }],
    ['object', { regarding: { ...event().regarding, name: 'etcd-events' } }],
    ['uid', { regarding: { ...event().regarding, uid: 'u2' } }],
  ] as const) {
    it(`keeps events that differ in ${name} apart`, async () => {
      const recorder = create();
      recorder.record(event());
      recorder.record(event(other));
      await recorder.flush();
      expect(stored().map(({ count }) => count)).to.deep.equal([1, 1]);
    });
  }

  describe('floods', () => {
    it('of one object are cut at 25 and then at one in five minutes, others go on', async () => {
      const recorder = create();
      for (let index = 0; index < 40; index += 1) recorder.record(event({ message: `m${index}` }));
      recorder.record(event({ regarding: { ...event().regarding, name: 'other' } }));
      await recorder.flush();
      expect(stored()).to.have.length(26);
      expect(dropped).to.deep.equal(Array.from({ length: 15 }, () => 'Flood'));
      await clock.advance(300_001);
      recorder.record(event({ message: 'later' }));
      recorder.record(event({ message: 'too soon' }));
      await recorder.flush();
      expect(stored()).to.have.length(27);
    });

    it('of many objects are cut at the size of the queue', async () => {
      const recorder = create(undefined, { queueSize: 10 });
      for (let index = 0; index < 25; index += 1)
        recorder.record(event({ regarding: { ...event().regarding, name: `s${index}` } }));
      await recorder.flush();
      expect(stored()).to.have.length(10);
      expect(dropped).to.deep.equal(Array.from({ length: 15 }, () => 'QueueFull'));
    });
  });

  describe('failures', () => {
    it('of the connection are tried again four times, two seconds apart', async () => {
      let tries = 0;
      const recorder = create(() => {
        tries += 1;
        if (tries < 4) throw new Error('connection refused');
      });
      recorder.record(event());
      await clock.advance(5_999);
      expect(tries).to.equal(3);
      await clock.advance(1);
      expect(stored()).to.have.length(1);
      expect(dropped).to.deep.equal([]);
    });
  });

  it('drops what waits and takes nothing new once stopped', async () => {
    const recorder = create(
      (_call, signal) =>
        new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted')))),
    );
    recorder.record(event());
    recorder.record(event({ message: 'second' }));
    await clock.settle();
    stop.abort();
    await recorder.flush();
    recorder.record(event({ message: 'third' }));
    expect(stored()).to.deep.equal([]);
    expect(dropped).to.deep.equal(['Stopped', 'Stopped', 'Stopped']);
  });
});

describe('eventName', () => {
  for (const [name, expected] of [
    ['etcd-main', 'etcd-main.000000000000000a'],
    ['system:Foo_Reader', 'system-foo-reader.000000000000000a'],
    ['.-odd-.', 'odd.000000000000000a'],
    ['***', 'event.000000000000000a'],
    ['a'.repeat(300), `${'a'.repeat(236)}.000000000000000a`],
  ] as const) {
    it(`makes ${expected.slice(0, 40)} of ${name.slice(0, 20)}`, () => {
      const made = eventName(event({ regarding: { apiVersion: 'v1', kind: 'X', name } }), 10n);
      expect(made).to.equal(expected);
      expect(made.length).to.be.at.most(253);
    });
  }
});
