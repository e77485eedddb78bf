// The fate of a single setting, for every combination of what is there, what is wanted and what was claimed.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import fc from 'fast-check';
import {
  HINTS_SLOT,
  MODE_SLOT,
  STRATEGY_SLOT,
  type SlotDecision,
  formatApplied,
  isSameDistribution,
  parseApplied,
  resolveModeClash,
} from '../../../pkg/routing/slots.ts';
import { CONSIDER, HINTS, MODE, STRATEGY, withoutEmpty } from './support.ts';

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
  ] as const)
    it(`${one} and ${other}: ${same}`, () => expect(isSameDistribution(one, other)).to.equal(same));
});

describe('resolveModeClash', () => {
  const decided = (slot: SlotDecision['slot'], part: Partial<SlotDecision>): SlotDecision => ({
    slot,
    current: undefined,
    ...expected({}),
    ...part,
  });
  const annotations = (decisions: readonly SlotDecision[]): string[] =>
    decisions.map(({ next = 'none', foreign }) => (foreign ? `${next}, foreign` : next));
  const cases: [name: string, hints: Partial<SlotDecision>, mode: Partial<SlotDecision>, result: string[]][] = [
    ['only one of them', { current: 'x', next: 'x' }, {}, ['x', 'none']],
    ['both equal', { current: 'x', next: 'x' }, { next: 'x', claim: 'x' }, ['x', 'x']],
    ['our mode gives way', { current: 'x', next: 'x' }, { next: 'y', claim: 'y' }, ['x, foreign', 'none']],
    ['restored hints give way', { next: 'x' }, { current: 'y', next: 'y' }, ['none', 'y']],
    ['restored mode gives way', { current: 'x', next: 'x' }, { next: 'y' }, ['x', 'none']],
    ['both restored: the deprecated one gives way', { next: 'x' }, { next: 'y' }, ['none', 'y']],
    ['both there, differing (before 1.27)', { current: 'x', next: 'x' }, { current: 'y', next: 'y' }, ['x', 'y']],
    ['our hints (before 1.27) beside a mode', { next: 'x', claim: 'x' }, { current: 'y', next: 'y' }, ['x', 'y']],
  ];
  for (const [name, hints, mode, result] of cases) {
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

const KEEP_KEY = 'networking.resources.gardener.cloud/namespace-selectors';

describe('parseApplied', () => {
  it('reads absence as nothing applied', () => {
    expect(parseApplied(undefined)).to.deep.equal({ record: {}, malformed: false });
  });

  const malformed: { name: string; text: string }[] = [
    { name: 'empty', text: '' },
    { name: 'not JSON', text: '{' },
    { name: 'null', text: 'null' },
    { name: 'a list', text: '[]' },
    { name: 'a string', text: '"auto"' },
    { name: 'labels not a map', text: '{"labels":[]}' },
    { name: 'labels null', text: '{"labels":null}' },
    { name: 'a number as label', text: `{"labels":{"${CONSIDER}":1}}` },
    { name: 'a map as annotation', text: `{"annotations":{"${MODE}":{}}}` },
    { name: 'a number as field', text: '{"trafficDistribution":1}' },
    { name: 'null as field', text: '{"trafficDistribution":null}' },
    { name: 'a list of removed annotations', text: '{"removedAnnotations":["x"]}' },
    { name: 'one good part beside a bad one', text: `{"trafficDistribution":"PreferClose","labels":"x"}` },
  ];
  for (const { name, text } of malformed) {
    it(`claims nothing when malformed: ${name}`, () => {
      expect(parseApplied(text)).to.deep.equal({ record: {}, malformed: true });
    });
  }

  it('passes over keys that we never set, so that no author can have us remove them', () => {
    const text = `{"labels":{"app":"x","__proto__":"y","${CONSIDER}":"true"},"annotations":{"${KEEP_KEY}":"z"},"future":1}`;
    expect(withoutEmpty(parseApplied(text))).to.deep.equal({
      record: { labels: { [CONSIDER]: 'true' } },
      malformed: false,
    });
  });

  it('survives any text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        const { record, malformed: isMalformed } = parseApplied(text);
        if (isMalformed) expect(record).to.deep.equal({});
      }),
    );
  });
});

describe('formatApplied', () => {
  it('is read back as it was', () => {
    const map = (...keys: string[]): fc.Arbitrary<Record<string, string>> =>
      fc.dictionary(fc.constantFrom(...keys), fc.string(), { noNullPrototype: true });
    const records = fc.record(
      {
        labels: map(CONSIDER, STRATEGY),
        annotations: map(HINTS, MODE),
        removedAnnotations: map(HINTS, MODE),
        trafficDistribution: fc.string(),
      },
      { requiredKeys: [], noNullPrototype: true },
    );
    fc.assert(
      fc.property(records, (record) => {
        const parsed = parseApplied(formatApplied(record));
        expect(parsed.malformed).to.equal(false);
        expect(withoutEmpty(parsed.record)).to.deep.equal(withoutEmpty(record));
      }),
    );
  });
});
