import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Endpoint } from '../../../../pkg/apis/core.ts';
import { LABEL_CONSIDER, LABEL_SLICE_MANAGED_BY, LABEL_STRATEGY, NOWHERE } from '../../../../pkg/apis/names.ts';
import { holdsPlan, needsResync } from '../../../../pkg/controllers/hint-repair/resync.ts';
import { endpoint, slice } from '../../../fixtures/core.ts';

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
  for (const { name, labels, endpoints, plan } of planned) {
    it(`${name}: ${plan}`, () => expect(holdsPlan(slice({ metadata: { labels }, endpoints }))).to.equal(plan));
  }

  it('does not hold in a slice that is being deleted', () => {
    const metadata = { labels: strategy('load-aware'), deletionTimestamp: '2026-01-01T00:00:00Z' };
    expect(holdsPlan(slice({ metadata, endpoints: [endpoint({ ...hint('a') })] }))).to.equal(false);
  });
});
