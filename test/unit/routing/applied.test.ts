// The `applied` annotation: round trips, fixed text, and what malformed or hostile text is worth.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { formatApplied, parseApplied } from '../../../pkg/routing/slots.ts';
import { CONSIDER, HINTS, MODE, STRATEGY, withoutEmpty } from './support.ts';

describe('parseApplied', () => {
  it('reads absence as nothing applied', () => {
    expect(parseApplied(undefined)).to.deep.equal({ record: {}, malformed: false });
  });

  it('reads what was set', () => {
    const text = JSON.stringify({
      labels: { [CONSIDER]: 'true', [STRATEGY]: 'same-zone' },
      annotations: { [MODE]: 'auto' },
      trafficDistribution: 'PreferClose',
      removedAnnotations: { [HINTS]: 'Auto' },
    });
    const { record, malformed } = parseApplied(text);
    expect(malformed).to.equal(false);
    expect(record).to.deep.equal(JSON.parse(text));
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

const KEEP_KEY = 'networking.resources.gardener.cloud/namespace-selectors';

describe('formatApplied', () => {
  it('is undefined for a record without content', () => {
    expect(formatApplied({})).to.equal(undefined);
    expect(formatApplied({ labels: {}, annotations: {}, removedAnnotations: {} })).to.equal(undefined);
  });

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
