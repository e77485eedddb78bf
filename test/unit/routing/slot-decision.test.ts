// The fate of a single setting, for every combination of what is there, what is wanted and what was claimed.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { HINTS_SLOT, MODE_SLOT, STRATEGY_SLOT, type SlotDecision, type SlotState, decideSlot, isSameDistribution, resolveModeClash, revertSlot, settingsOf, valueOf } from '../../../pkg/routing/slots.ts';
import { STRATEGY } from './support.ts';

const FIELD = { section: 'trafficDistribution' } as const;
const none = { current: undefined, want: undefined, claimed: undefined, removed: undefined };
type Outcome = Pick<SlotDecision, 'next' | 'claim' | 'removed' | 'foreign'>;
const outcome = ({ next, claim, removed, foreign }: SlotDecision): Outcome => ({ next, claim, removed, foreign });

const expected = (part: Partial<Outcome>): Outcome => ({
  next: undefined,
  claim: undefined,
  removed: undefined,
  foreign: false,
  ...part,
});

interface Case {
  name: string;
  state: Partial<SlotState>;
  result: Partial<Outcome>;
}

describe('decideSlot', () => {
  const cases: Case[] = [
    { name: 'empty, unwanted', state: {}, result: {} },
    { name: 'empty, wanted', state: { want: 'x' }, result: { next: 'x', claim: 'x' } },
    { name: 'empty, wanted and claimed: drift', state: { want: 'x', claimed: 'x' }, result: { next: 'x', claim: 'x' } },
    { name: 'equal and not ours', state: { current: 'x', want: 'x' }, result: { next: 'x' } },
    { name: 'equal and ours', state: { current: 'x', want: 'x', claimed: 'x' }, result: { next: 'x', claim: 'x' } },
    {
      name: 'equal, set by the owner over ours',
      state: { current: 'x', want: 'x', claimed: 'y' },
      result: { next: 'x' },
    },
    { name: 'other and not ours', state: { current: 'y', want: 'x' }, result: { next: 'y', foreign: true } },
    { name: 'other and ours', state: { current: 'y', want: 'x', claimed: 'y' }, result: { next: 'x', claim: 'x' } },
    {
      name: 'other, drifted from ours',
      state: { current: 'z', want: 'x', claimed: 'y' },
      result: { next: 'x', claim: 'x' },
    },
    { name: 'ours, unwanted', state: { current: 'x', claimed: 'x' }, result: {} },
    { name: 'drifted, unwanted', state: { current: 'y', claimed: 'x' }, result: { next: 'y', foreign: true } },
    { name: 'a claim without value, unwanted', state: { claimed: 'x' }, result: {} },
    {
      name: "another writer's label, unwanted, harms nobody",
      state: { slot: STRATEGY_SLOT, current: 'x' },
      result: { next: 'x' },
    },
    {
      name: 'auto is a plain value outside annotations',
      state: { current: 'auto', want: 'x' },
      result: { next: 'auto', foreign: true },
    },
    { name: "somebody's auto, unwanted", state: { slot: MODE_SLOT, current: 'Auto' }, result: { removed: 'Auto' } },
    {
      name: "another writer's auto, other wanted",
      state: { slot: MODE_SLOT, current: 'auto', want: 'a/b' },
      result: { next: 'a/b', claim: 'a/b', removed: 'auto' },
    },
    {
      name: "another writer's Auto, auto wanted",
      state: { slot: MODE_SLOT, current: 'Auto', want: 'auto' },
      result: { next: 'Auto' },
    },
    {
      name: 'our auto, other wanted: nothing to remember',
      state: { slot: MODE_SLOT, current: 'auto', want: 'a/b', claimed: 'auto' },
      result: { next: 'a/b', claim: 'a/b' },
    },
    {
      name: 'what was removed stays remembered',
      state: { slot: HINTS_SLOT, removed: 'auto' },
      result: { removed: 'auto' },
    },
    {
      name: "a user's heuristic over ours",
      state: { slot: MODE_SLOT, current: 'c/d', want: 'a/b', claimed: 'a/b' },
      result: { next: 'c/d', foreign: true },
    },
    {
      name: 'our heuristic, other wanted',
      state: { slot: MODE_SLOT, current: 'a/b', want: 'a/c', claimed: 'a/b' },
      result: { next: 'a/c', claim: 'a/c' },
    },
  ];
  for (const { name, state, result } of cases) {
    it(name, () => expect(outcome(decideSlot({ slot: FIELD, ...none, ...state }))).to.deep.equal(expected(result)));
  }
});

describe('isSameDistribution', () => {
  for (const [one, other, same] of [
    ['PreferClose', 'PreferSameZone', true],
    ['PreferSameZone', 'PreferClose', true],
    ['PreferSameNode', 'PreferSameZone', false],
    ['PreferClose', undefined, false],
    [undefined, undefined, true],
    ['Odd', 'Odd', true],
  ] as const) {
    it(`${one} and ${other}: ${same}`, () => expect(isSameDistribution(one, other)).to.equal(same));
  }
});

describe('revertSlot', () => {
  const cases: Case[] = [
    { name: 'empty', state: {}, result: {} },
    { name: 'ours', state: { current: 'x', claimed: 'x' }, result: {} },
    { name: "the owner's own, which is no warning", state: { current: 'x' }, result: { next: 'x' } },
    { name: 'the owner wrote another', state: { current: 'y', claimed: 'x' }, result: { next: 'y' } },
    {
      name: 'ours over what was removed',
      state: { slot: MODE_SLOT, current: 'a/b', claimed: 'a/b', removed: 'Auto' },
      result: { next: 'Auto' },
    },
    { name: 'only removed', state: { slot: MODE_SLOT, removed: 'Auto' }, result: { next: 'Auto' } },
    {
      name: "removed, another writer's there since",
      state: { slot: MODE_SLOT, current: 'c/d', removed: 'Auto' },
      result: { next: 'c/d' },
    },
  ];
  for (const { name, state, result } of cases) {
    it(name, () => expect(outcome(revertSlot({ slot: FIELD, ...none, ...state }))).to.deep.equal(expected(result)));
  }
});

describe('resolveModeClash', () => {
  const decided = (slot: SlotDecision['slot'], part: Partial<SlotDecision>): SlotDecision => ({
    slot,
    current: undefined,
    ...expected({}),
    ...part,
  });
  const annotations = (decisions: readonly SlotDecision[]): unknown[] =>
    decisions.map(({ next, foreign }) => [next, foreign]);
  const cases: { name: string; hints: Partial<SlotDecision>; mode: Partial<SlotDecision>; result: unknown[] }[] = [
    {
      name: 'only one of them',
      hints: { current: 'x', next: 'x' },
      mode: {},
      result: [
        ['x', false],
        [undefined, false],
      ],
    },
    {
      name: 'both equal',
      hints: { current: 'x', next: 'x' },
      mode: { next: 'x', claim: 'x' },
      result: [
        ['x', false],
        ['x', false],
      ],
    },
    {
      name: 'our mode gives way',
      hints: { current: 'x', next: 'x' },
      mode: { next: 'y', claim: 'y' },
      result: [
        ['x', true],
        [undefined, false],
      ],
    },
    {
      name: 'restored hints give way',
      hints: { next: 'x' },
      mode: { current: 'y', next: 'y' },
      result: [
        [undefined, false],
        ['y', false],
      ],
    },
    {
      name: 'restored mode gives way',
      hints: { current: 'x', next: 'x' },
      mode: { next: 'y' },
      result: [
        ['x', false],
        [undefined, false],
      ],
    },
    {
      name: 'both restored: the deprecated one gives way',
      hints: { next: 'x' },
      mode: { next: 'y' },
      result: [
        [undefined, false],
        ['y', false],
      ],
    },
    {
      name: 'both were there, differing (before 1.27)',
      hints: { current: 'x', next: 'x' },
      mode: { current: 'y', next: 'y' },
      result: [
        ['x', false],
        ['y', false],
      ],
    },
    {
      name: 'our hints (before 1.27) beside a mode',
      hints: { next: 'x', claim: 'x' },
      mode: { current: 'y', next: 'y' },
      result: [
        ['x', false],
        ['y', false],
      ],
    },
  ];
  for (const { name, hints, mode, result } of cases) {
    it(name, () => {
      const decisions = resolveModeClash([decided(HINTS_SLOT, hints), decided(MODE_SLOT, mode)]);
      expect(annotations(decisions)).to.deep.equal(result);
      expect(decisions.filter(({ next, claim }) => next === undefined && claim !== undefined)).to.deep.equal([]);
    });
  }

  it('needs both slots', () => {
    const alone = [decided(STRATEGY_SLOT, { next: 'x', claim: 'x' })];
    expect(resolveModeClash(alone)).to.equal(alone);
  });
});

describe('slots', () => {
  it('hold own properties only', () => {
    expect(valueOf({ labels: Object.create({ [STRATEGY]: 'same-zone' }) }, STRATEGY_SLOT)).to.equal(undefined);
    expect(valueOf({ labels: { [STRATEGY]: 'same-zone' } }, STRATEGY_SLOT)).to.equal('same-zone');
    expect(valueOf({}, STRATEGY_SLOT)).to.equal(undefined);
    expect(valueOf({ trafficDistribution: 'PreferClose' }, { section: 'trafficDistribution' })).to.equal('PreferClose');
  });
});

describe('settingsOf', () => {
  it('reads a Service', () => {
    const object = { metadata: { labels: { a: 'b' } }, spec: { trafficDistribution: 'PreferClose' } };
    expect(settingsOf(object)).to.deep.equal({
      labels: { a: 'b' },
      annotations: {},
      trafficDistribution: 'PreferClose',
    });
  });

  it('reads nothing from an empty object', () => {
    expect(settingsOf({})).to.deep.equal({ labels: {}, annotations: {} });
  });
});
