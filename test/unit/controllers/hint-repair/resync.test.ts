import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import type { EndpointSlice, Endpoint } from '../../../../pkg/apis/core.ts';
import type { ObjectRef } from '../../../../pkg/apis/meta.ts';
import { LABEL_CONSIDER, LABEL_SLICE_MANAGED_BY, LABEL_STRATEGY, NOWHERE } from '../../../../pkg/apis/names.ts';
import { createResync, holdsPlan, needsResync } from '../../../../pkg/controllers/hint-repair/resync.ts';
import type { Client, EventInput } from '../../../../pkg/kubernetes/types.ts';
import { endpoint, slice } from '../../../fixtures/core.ts';
import { type FakeClock, createFakeClock } from '../../../fixtures/fake-clock.ts';
import { recordingLogger } from '../../../fixtures/recording-logger.ts';

const { signal } = new AbortController();

const named = (name: string, hinted = false, namespace = 'n', resourceVersion = '1'): EndpointSlice =>
  slice({
    metadata: { name, namespace, resourceVersion, labels: { [LABEL_CONSIDER]: 'true' } },
    endpoints: [endpoint({ zone: 'a', ...(hinted ? { hints: { forZones: [{ name: 'a' }] } } : {}) })],
  });

describe('hint repair', () => {
  let clock: FakeClock;
  let slices: EndpointSlice[];
  let works: boolean;
  /** `namespace/name` of slices that admission leaves as they are. */
  let bare: Set<string>;
  let failure: Error | undefined;
  let writes: { name: string; at: number; patch: unknown }[];
  let events: EventInput[];
  let repair: ReturnType<typeof createResync>;
  beforeEach(() => {
    clock = createFakeClock();
    slices = ['a', 'b', 'c'].map((name) => named(name));
    works = true;
    bare = new Set();
    failure = undefined;
    writes = [];
    events = [];
    const patch = (_resource: unknown, { name, namespace = '' }: ObjectRef, _type: unknown, body: unknown) => {
      writes.push({ name, at: clock.monotonic(), patch: body });
      if (failure !== undefined) return Promise.reject(failure);
      const stored = named(name, works && !bare.has(`${namespace}/${name}`), namespace, '2');
      const is = ({ metadata }: EndpointSlice): boolean => metadata?.name === name && metadata.namespace === namespace;
      slices = slices.map((item) => (is(item) ? stored : item));
      return Promise.resolve(stored);
    };
    repair = createResync({
      client: { patch: patch as unknown as Client['patch'] },
      slices: () => slices,
      clock,
      writesPerSecond: 20,
      backoffMs: 60_000,
      events: { record: (event) => void events.push(event) },
      regarding: { apiVersion: 'v1', kind: 'Namespace', name: 'own' },
      logger: recordingLogger(),
    });
  });

  const run = async () => {
    const result = repair.reconcile('slices', signal);
    await clock.advance(1_000);
    return await result;
  };

  it('backs off further each time up to an hour, reports once, and recovers', async () => {
    works = false;
    const delays: number[] = [];
    for (let turn = 0; turn < 8; turn += 1) {
      const result = await run();
      const delay = result.kind === 'requeue' ? result.afterMs : 0;
      delays.push(delay / 60_000);
      await clock.advance(delay);
    }
    expect(delays).to.deep.equal([1, 2, 4, 8, 16, 32, 60, 60]);
    expect(events).to.have.length(1);
    works = true;
    expect(await run()).to.deep.equal({ kind: 'done' });
    expect(repair.unavailable()).to.equal(false);
  });

  it('does not take one slice that stays bare for an outage: others elsewhere are hinted, and it is left alone', async () => {
    bare.add('evil/a');
    slices = [named('a', false, 'evil'), named('b', false, 'evil'), named('c'), named('d')];
    expect(await run()).to.deep.equal({ kind: 'done' });
    expect([repair.unavailable(), events]).to.deep.equal([false, []]);
    expect(writes.map(({ name }) => name)).to.deep.equal(['a', 'c', 'b', 'd']);
    expect(await run(), 'it did not change since').to.deep.equal({ kind: 'done' });
    expect(writes).to.have.length(4);
    slices = slices.map((one) => (one.metadata?.name === 'a' ? named('a', false, 'evil', 'changed') : one));
    await run();
    expect(writes.at(-1)?.name, 'after a change').to.equal('a');
  });
});

const consider = { [LABEL_CONSIDER]: 'true' };
const strategy = (value: string) => ({ [LABEL_STRATEGY]: value });
const hint = (zone: string) => ({ hints: { forZones: [{ name: zone }] } });
const custom = { [LABEL_SLICE_MANAGED_BY]: 'example.com' };

const unready = (zone?: string): Endpoint =>
  endpoint({ zone: 'a', conditions: { ready: false }, ...(zone === undefined ? {} : hint(zone)) });

const bare = endpoint({ zone: 'a' });
const hintedFor = (zone: string) => endpoint({ zone: 'a', ...hint(zone) });
type Case = readonly [name: string, labels: Record<string, string>, endpoints: Endpoint[] | null];

const touched: readonly Case[] = [
  ["Gardener's label, no hint", consider, [bare]],
  ['same-zone, no hint', strategy('same-zone'), [bare]],
  ['same-node, no hint', strategy('same-node'), [bare]],
  ['one of two lacks its hint', consider, [hintedFor('a'), endpoint({ zone: 'b' })]],
  ['a hint for another zone', consider, [hintedFor('b')]],
  ...['same-zone', 'same-node'].map((name): Case => [`${name}: not ready, no hint`, strategy(name), [unready()]]),
  ...['same-zone', 'same-node', 'load-aware', 'proportional'].flatMap((name): Case[] => [
    [`${name}: not ready, for clients`, strategy(name), [unready('b')]],
    [`${name}: not ready, of another writer, for none`, { ...strategy(name), ...custom }, [unready('not-ready.b')]],
  ]),
];

const left: readonly Case[] = [
  ...['same-zone', 'same-node'].map((name): Case => [
    `${name}: not ready, of another writer, no hint`,
    { ...strategy(name), ...custom },
    [unready()],
  ]),
  ...['same-zone', 'same-node', 'load-aware', 'proportional'].flatMap((name): Case[] => [
    [`${name}: not ready, for none`, strategy(name), [unready('not-ready.b')]],
    [`${name}: not ready, nowhere`, strategy(name), [unready(NOWHERE)]],
  ]),
  ['load-aware: not ready, no hint', strategy('load-aware'), [unready()]],
  ['hinted', consider, [hintedFor('a')]],
  ['no zone, no hint to expect', consider, [endpoint({ zone: '' })]],
  ['a zone that is none', consider, [endpoint({ zone: 'x y' })]],
  ['no label', {}, [bare]],
  ['label switched off', { [LABEL_CONSIDER]: 'false' }, [bare]],
  ["planned: the flow controller's", strategy('load-aware'), [bare]],
  ['planned wins over the old label', { ...consider, ...strategy('proportional') }, [bare]],
  ['no endpoints', consider, null],
];

describe('needsResync', () => {
  for (const [cases, touch] of [
    [touched, true],
    [left, false],
  ] as const)
    for (const [name, labels, endpoints] of cases)
      it(`${name}: ${touch ? 'touch' : 'leave'}`, () =>
        expect(needsResync(slice({ metadata: { labels }, endpoints }))).to.equal(touch));

  it('leaves slices that are being deleted', () => {
    const metadata = { labels: consider, deletionTimestamp: '2026-01-01T00:00:00Z' };
    expect(needsResync(slice({ metadata, endpoints: [endpoint()] }))).to.equal(false);
  });
});

describe('holdsPlan', () => {
  const hinted = endpoint({ ...hint('a') });
  const planned: readonly (readonly [...Case, plan: boolean])[] = [
    ['load-aware', strategy('load-aware'), [hinted], true],
    ['proportional', strategy('proportional'), [hinted], true],
    ['one hinted endpoint of two', strategy('load-aware'), [endpoint(), hinted], true],
    ['spread', strategy('load-aware'), [endpoint()], false],
    ['empty hints', strategy('load-aware'), [endpoint({ hints: {} })], false],
    ['no endpoints', strategy('load-aware'), null, false],
    ['same-zone', strategy('same-zone'), [hinted], false],
    ['hints of another writer', {}, [hinted], false],
  ];
  for (const [name, labels, endpoints, plan] of planned)
    it(`${name}: ${plan}`, () => expect(holdsPlan(slice({ metadata: { labels }, endpoints }))).to.equal(plan));

  it('does not hold in a slice that is being deleted', () => {
    const metadata = { labels: strategy('load-aware'), deletionTimestamp: '2026-01-01T00:00:00Z' };
    expect(holdsPlan(slice({ metadata, endpoints: [endpoint({ ...hint('a') })] }))).to.equal(false);
  });
});
