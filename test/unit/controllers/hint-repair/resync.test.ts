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
  let touched: { name: string; at: number; patch: unknown }[];
  let events: EventInput[];
  let repair: ReturnType<typeof createResync>;
  beforeEach(() => {
    clock = createFakeClock();
    slices = ['a', 'b', 'c'].map((name) => named(name));
    works = true;
    bare = new Set();
    failure = undefined;
    touched = [];
    events = [];
    const patch = (_resource: unknown, { name, namespace = '' }: ObjectRef, _type: unknown, body: unknown) => {
      touched.push({ name, at: clock.monotonic(), patch: body });
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
    expect(touched.map(({ name }) => name)).to.deep.equal(['a', 'c', 'b', 'd']);
    expect(await run(), 'it did not change since').to.deep.equal({ kind: 'done' });
    expect(touched).to.have.length(4);
    slices = slices.map((one) => (one.metadata?.name === 'a' ? named('a', false, 'evil', 'changed') : one));
    await run();
    expect(touched.at(-1)?.name, 'after a change').to.equal('a');
  });
});

const consider = { [LABEL_CONSIDER]: 'true' };
const strategy = (value: string) => ({ [LABEL_STRATEGY]: value });
const hint = (zone: string) => ({ hints: { forZones: [{ name: zone }] } });
const custom = { [LABEL_SLICE_MANAGED_BY]: 'example.com' };

const unready = (zone?: string): Endpoint =>
  endpoint({ zone: 'a', conditions: { ready: false }, ...(zone === undefined ? {} : hint(zone)) });

const cases: { name: string; labels: Record<string, string>; endpoints: Endpoint[] | null; touch: boolean }[] = [
  { name: "Gardener's label, no hint", labels: consider, endpoints: [endpoint({ zone: 'a' })], touch: true },
  { name: 'same-zone, no hint', labels: strategy('same-zone'), endpoints: [endpoint({ zone: 'a' })], touch: true },
  { name: 'same-node, no hint', labels: strategy('same-node'), endpoints: [endpoint({ zone: 'a' })], touch: true },
  {
    name: 'one of two lacks its hint',
    labels: consider,
    endpoints: [endpoint({ zone: 'a', ...hint('a') }), endpoint({ zone: 'b' })],
    touch: true,
  },
  {
    name: 'a hint for another zone',
    labels: consider,
    endpoints: [endpoint({ zone: 'a', ...hint('b') })],
    touch: true,
  },
  ...['same-zone', 'same-node'].flatMap((name) => [
    { name: `${name}: not ready, no hint`, labels: strategy(name), endpoints: [unready()], touch: true },
    {
      name: `${name}: not ready, of another writer, no hint`,
      labels: { ...strategy(name), ...custom },
      endpoints: [unready()],
      touch: false,
    },
  ]),
  ...['same-zone', 'same-node', 'load-aware', 'proportional'].flatMap((name) => [
    { name: `${name}: not ready, for clients`, labels: strategy(name), endpoints: [unready('b')], touch: true },
    { name: `${name}: not ready, for none`, labels: strategy(name), endpoints: [unready('not-ready.b')], touch: false },
    { name: `${name}: not ready, nowhere`, labels: strategy(name), endpoints: [unready(NOWHERE)], touch: false },
    {
      name: `${name}: not ready, of another writer, for none`,
      labels: { ...strategy(name), ...custom },
      endpoints: [unready('not-ready.b')],
      touch: true,
    },
  ]),
  { name: 'load-aware: not ready, no hint', labels: strategy('load-aware'), endpoints: [unready()], touch: false },
  { name: 'hinted', labels: consider, endpoints: [endpoint({ zone: 'a', ...hint('a') })], touch: false },
  { name: 'no zone, no hint to expect', labels: consider, endpoints: [endpoint({ zone: '' })], touch: false },
  { name: 'a zone that is none', labels: consider, endpoints: [endpoint({ zone: 'x y' })], touch: false },
  { name: 'no label', labels: {}, endpoints: [endpoint({ zone: 'a' })], touch: false },
  {
    name: 'label switched off',
    labels: { [LABEL_CONSIDER]: 'false' },
    endpoints: [endpoint({ zone: 'a' })],
    touch: false,
  },
  {
    name: "planned: the flow controller's",
    labels: strategy('load-aware'),
    endpoints: [endpoint({ zone: 'a' })],
    touch: false,
  },
  {
    name: 'planned wins over the old label',
    labels: { ...consider, ...strategy('proportional') },
    endpoints: [endpoint({ zone: 'a' })],
    touch: false,
  },
  { name: 'no endpoints', labels: consider, endpoints: null, touch: false },
];

describe('needsResync', () => {
  for (const { name, labels, endpoints, touch } of cases) {
    it(`${name}: ${touch ? 'touch' : 'leave'}`, () =>
      expect(needsResync(slice({ metadata: { labels }, endpoints }))).to.equal(touch));
  }

  it('leaves slices that are being deleted', () => {
    const deletionTimestamp = '2026-01-01T00:00:00Z';
    expect(needsResync(slice({ metadata: { labels: consider, deletionTimestamp }, endpoints: [endpoint()] }))).to.equal(
      false,
    );
  });
});

describe('holdsPlan', () => {
  const planned: { name: string; labels: Record<string, string>; endpoints: Endpoint[] | null; plan: boolean }[] = [
    { name: 'load-aware', labels: strategy('load-aware'), endpoints: [endpoint({ ...hint('a') })], plan: true },
    { name: 'proportional', labels: strategy('proportional'), endpoints: [endpoint({ ...hint('a') })], plan: true },
    {
      name: 'one hinted endpoint of two',
      labels: strategy('load-aware'),
      endpoints: [endpoint(), endpoint({ ...hint('a') })],
      plan: true,
    },
    { name: 'spread', labels: strategy('load-aware'), endpoints: [endpoint()], plan: false },
    { name: 'empty hints', labels: strategy('load-aware'), endpoints: [endpoint({ hints: {} })], plan: false },
    { name: 'no endpoints', labels: strategy('load-aware'), endpoints: null, plan: false },
    { name: 'same-zone', labels: strategy('same-zone'), endpoints: [endpoint({ ...hint('a') })], plan: false },
    { name: 'hints of somebody else', labels: {}, endpoints: [endpoint({ ...hint('a') })], plan: false },
  ];
  for (const { name, labels, endpoints, plan } of planned)
    it(`${name}: ${plan}`, () => expect(holdsPlan(slice({ metadata: { labels }, endpoints }))).to.equal(plan));

  it('does not hold in a slice that is being deleted', () => {
    const metadata = { labels: strategy('load-aware'), deletionTimestamp: '2026-01-01T00:00:00Z' };
    expect(holdsPlan(slice({ metadata, endpoints: [endpoint({ ...hint('a') })] }))).to.equal(false);
  });
});
