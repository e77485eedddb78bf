import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { createItemLimit, hasItemsWithin } from '../../../pkg/apis/json-items.ts';

/** Values and keys that JSON.parse makes. A key that is there twice counts twice in a text: generated objects have none. */
const itemsOf = (value: unknown): number => {
  if (typeof value !== 'object' || value === null) return 1;
  const inner = Object.values(value).reduce<number>((sum, one) => sum + itemsOf(one), 1);
  return Array.isArray(value) ? inner : inner + Object.keys(value).length;
};

/** False at the last piece or before where there are too many. */
const isWithin = (limit: number, pieces: readonly Uint8Array[]): boolean => {
  const take = createItemLimit(
    limit,
    pieces.reduce((sum, { length }) => sum + length, 0),
  );
  return pieces.every((piece) => take(piece));
};

const cut = (bytes: Buffer, at: readonly number[]): Uint8Array[] => {
  const places = [0, ...at.map((one) => one % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end));
};

describe('values and keys of JSON, counted before it is parsed', () => {
  for (const [text, items] of [
    ['1', 1],
    ['-1.5e+300', 1],
    ['null', 1],
    ['""', 1],
    ['[]', 1],
    ['{}', 1],
    ['[[]]', 2],
    ['[{},{},{}]', 4],
    ['[ {} , [ ] ]', 3],
    ['{"a":1}', 3],
    ['{"a":{"b":[true,false,null]}}', 8],
    ['["[{,:}]"]', 2],
    [String.raw`["\"[{,","\\",1]`, 4],
    [String.raw`["\u005b\\\"[",[]]`, 3],
    ['[1 ,\n2\t,\r3]', 4],
    ['{"ключ":"значение 🚀"}', 3],
  ] as const) {
    it(`${text}: ${items}`, () => {
      const bytes = Buffer.from(text);
      expect(itemsOf(JSON.parse(text)), 'what JSON.parse makes').to.equal(items);
      const pieces = Array.from(bytes, (byte) => Uint8Array.of(byte));
      const found = [items, items - 1].map((limit) => [hasItemsWithin(limit, bytes), isWithin(limit, pieces)]);
      expect(found).to.deep.equal([
        [true, true],
        [false, false],
      ]);
    });
  }

  it('are as many as JSON.parse makes, however the text is spaced and cut', () => {
    const at = fc.array(fc.nat(), { maxLength: 5 });
    fc.assert(
      fc.property(
        fc.jsonValue({ noUnicodeString: false }),
        fc.integer({ min: 0, max: 2 }),
        at,
        (value, indent, cuts) => {
          const text = JSON.stringify(value, null, indent);
          const items = itemsOf(JSON.parse(text));
          const pieces = cut(Buffer.from(text), cuts);
          expect([isWithin(items, pieces), isWithin(items - 1, pieces)]).to.deep.equal([true, false]);
        },
      ),
    );
  });

  it('are within the limit of a text too short to hold more, which is not looked at', () => {
    const unreadable = new Proxy(Buffer.from(`[${'{},'.repeat(30)}{}]`), {
      get: (bytes, name) => (name === 'length' ? bytes.length : expect.fail(`reads ${String(name)}`)),
    });
    expect(hasItemsWithin(48, unreadable)).to.equal(true);
  });

  it('are refused as soon as there are too many, whatever comes then', () => {
    const take = createItemLimit(1_000, 7_000_000);
    expect([take(Buffer.from(`[${'{},'.repeat(900)}`)), take(Buffer.from('[],'.repeat(100)))]).to.deep.equal([
      true,
      false,
    ]);
  });
});
