import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { Service } from '../../../../pkg/apis/core.ts';
import { endpoint, service, slice } from '../../../fixtures/core.ts';
import { type FakeClock, createFakeClock } from '../../../fixtures/fake-clock.ts';
import type { KubernetesObject, ObjectRef } from '../../../../pkg/apis/meta.ts';
import type { Resource } from '../../../../pkg/apis/resources.ts';
import type { Result, Client, EventInput } from '../../../../pkg/kubernetes/types.ts';
import { createServiceResync } from '../../../../pkg/controllers/node-groups/controller.ts';
import { type FlowSlice, createSliceProjection } from '../../../../pkg/flow/assemble/slice.ts';
import { recordingLogger } from '../../../fixtures/recording-logger.ts';

interface Patched {
  readonly patch: { metadata: { annotations?: object } };
}

/** Keeps what is patched; nothing is changed. */
const fakeClient = (): Pick<Client, 'patch'> & { readonly patched: Patched[] } => {
  const patched: Patched[] = [];
  return {
    patched,
    patch<T extends KubernetesObject>(_resource: Resource, { name }: ObjectRef, _type: string, patch: unknown) {
      patched.push({ patch: patch as Patched['patch'] });
      return Promise.resolve({ metadata: { name, resourceVersion: '100' } } as T);
    },
  };
};

/** Keeps events as `type reason kind/name: message`. */
const eventLog = (): { lines: string[]; record(event: EventInput): void } => {
  const lines: string[] = [];
  return {
    lines,
    record: ({ regarding, type, reason, message }) =>
      void lines.push(`${type} ${reason} ${regarding.kind}/${regarding.name}: ${message}`),
  };
};

const never: AbortSignal = new AbortController().signal;

const KEY = 'default/server';

const project = createSliceProjection();
const at = (nodeName: string, zone: string) => endpoint({ nodeName, zone });
const stored = (zone: string): FlowSlice[] => [project(slice({ endpoints: [at('n1', zone)] }))];

describe('writes that make endpoints follow a zone', () => {
  let clock: FakeClock;
  let client: ReturnType<typeof fakeClient>;
  let slices: FlowSlice[];
  let zone: string | undefined;
  let found: Service | undefined;
  let outcomes: string[];
  let events: ReturnType<typeof eventLog>;
  let resync: ReturnType<typeof createServiceResync>;
  beforeEach(() => {
    clock = createFakeClock();
    client = fakeClient();
    slices = stored('eu-1a');
    zone = 'north';
    found = service({ metadata: { uid: 'u' } });
    outcomes = [];
    events = eventLog();
    resync = createServiceResync({
      client,
      clock,
      touchesPerSecond: 2,
      service: () => found,
      slices: () => slices,
      zoneOf: (name) => ({ n1: zone, n2: '' })[name],
      events,
      logger: recordingLogger(),
      onTouch: (outcome) => void outcomes.push(outcome),
    });
  });

  const { nodeName: _none, ...floating } = endpoint({ zone: 'south' });
  const labels = { 'endpointslice.kubernetes.io/managed-by': 'me' };
  const cases: [name: string, given: Parameters<typeof slice>[0], behind: string | undefined][] = [
    ['another zone', { endpoints: [at('n1', 'south')] }, 'n1'],
    ['no zone yet', { endpoints: [at('n1', '')] }, 'n1'],
    ['a zone still', { endpoints: [at('n2', 'south')] }, 'n2'],
    ['all by name, once', { endpoints: [at('n2', 'x'), at('n1', 'x'), at('n1', 'y')] }, 'n1, n2'],
    ['the same zone', { endpoints: [at('n1', 'north'), at('n2', '')] }, undefined],
    ['a Node that is gone', { endpoints: [at('n9', 'south')] }, undefined],
    ['endpoints on no Node', { endpoints: [floating] }, undefined],
    ['no endpoints', { endpoints: null }, undefined],
    ['a slice of another controller', { endpoints: [at('n1', 'south')], metadata: { labels } }, undefined],
  ];
  for (const [name, given, behind] of cases)
    it(`are for endpoints that are behind: ${name}`, async () => {
      slices = [project(slice(given))];
      expect(resync.concerns(KEY)).to.equal(behind !== undefined);
      await run();
      expect(events.lines.map((line) => / for Node (.*) than/.exec(line)?.[1])).to.deep.equal(
        behind === undefined ? [] : [behind],
      );
    });

  const turn = async (key = KEY): Promise<Result> => {
    const result = resync.reconcile(key, never);
    await clock.advance(0);
    return await result;
  };
  /** Follows the requeues for as long as there are any. */
  const run = async (turns = 20): Promise<number[]> => {
    const delays: number[] = [];
    for (let result = await turn(); result.kind === 'requeue' && delays.length < turns; result = await turn()) {
      delays.push(result.afterMs);
      await clock.advance(result.afterMs);
    }
    return delays;
  };

  it('wait a moment first: the control plane may follow by itself', async () => {
    expect(resync.concerns(KEY)).to.equal(true);
    expect(await turn()).to.deep.equal({ kind: 'requeue', afterMs: 500 });
    slices = stored('north');
    await clock.advance(500);
    expect(await turn()).to.deep.equal({ kind: 'done' });
    expect([client.patched, outcomes]).to.deep.equal([[], ['followed']]);
    expect(resync.concerns(KEY)).to.equal(false);
  });

  it('come less and less often, end, and say so once', async () => {
    expect(await run()).to.deep.equal([500, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000]);
    expect(client.patched).to.have.length(6);
    expect(events.lines).to.have.length(1);
    expect(events.lines[0]).to.match(/^Warning ZoneNotFollowing Service\/server: .*default\/server .*Node n1 /);
    await clock.advance(3_600_000);
    expect(await turn()).to.deep.equal({ kind: 'done' });
    expect([client.patched.length, events.lines.length]).to.deep.equal([6, 1]);
    expect(outcomes.at(-1)).to.equal('gaveUp');
  });

  it('are no more than the rate allows, over all Services', async () => {
    const keys = ['a', 'b', 'c'].map((name) => `default/${name}`);
    for (const key of keys) await turn(key);
    await clock.advance(500);
    const started = clock.monotonic();
    const all = (async () => {
      for (const key of keys) await resync.reconcile(key, never);
    })();
    await clock.advance(10_000);
    await all;
    const times = client.patched.map(
      ({ patch }) => Date.parse(Object.values(patch.metadata.annotations ?? {})[0] as string) % 60_000,
    );
    expect(times.map((time) => time - times[0]!)).to.deep.equal([0, 500, 1_000]);
    expect(clock.monotonic() - started).to.equal(10_000);
  });
});
