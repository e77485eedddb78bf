// The fate of a single setting, for every combination of what is there, what is wanted and what was claimed.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import {
  HINTS_SLOT,
  MODE_SLOT,
  STRATEGY_SLOT,
  type SlotDecision,
  isSameDistribution,
  resolveModeClash,
} from '../../../pkg/routing/slots.ts';

type Outcome = Pick<SlotDecision, 'next' | 'claim' | 'removed' | 'foreign'>;

const expected = (part: Partial<Outcome>): Outcome => ({
  next: undefined,
  claim: undefined,
  removed: undefined,
  foreign: false,
  ...part,
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
