import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { anyCharacter } from '../../fixtures/any-character.ts';
import { createItemLimit, hasItemsWithin } from '../../../pkg/apis/json-items.ts';
import { parseQuantity, milliFromNano, nanoCpu, unitsOf } from '../../../pkg/apis/quantity.ts';

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
      const found = [items, items - 1].flatMap((limit) => [hasItemsWithin(limit, bytes), isWithin(limit, pieces)]);
      expect(found).to.deep.equal([true, true, false, false]);
    });
  }

  it('are as many as JSON.parse makes, however the text is spaced and cut', () => {
    const at = fc.array(fc.nat(), { maxLength: 5 });
    fc.assert(
      fc.property(
        fc.jsonValue({ stringUnit: anyCharacter }),
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

/** Nano units in one unit. */
const NANO = 1_000_000_000n;

describe('parseQuantity', () => {
  const table: [string, bigint][] = [
    ['0', 0n],
    ['1', NANO],
    ['-1', -NANO],
    ['+1', NANO],
    ['100m', 100_000_000n],
    ['1.5', 1_500_000_000n],
    ['.5', 500_000_000n],
    ['5.', 5n * NANO],
    ['12u', 12_000n],
    ['7n', 7n],
    ['0.5n', 1n],
    ['-0.5n', -1n],
    ['0.0000000001', 1n],
    ['2.5G', 2_500_000_000n * NANO],
    ['1.5Gi', 1_610_612_736n * NANO],
    ['1Ki', 1_024n * NANO],
    ['0.5Mi', 524_288n * NANO],
    ['1k', 1_000n * NANO],
    ['3M', 3_000_000n * NANO],
    ['1T', 10n ** 12n * NANO],
    ['1P', 10n ** 15n * NANO],
    ['1E', 10n ** 18n * NANO],
    ['1Ei', 2n ** 60n * NANO],
    ['1e3', 1_000n * NANO],
    ['1E3', 1_000n * NANO],
    ['1.5e-3', 1_500_000n],
    ['1e+2', 100n * NANO],
    ['9223372036854775808', 9_223_372_036_854_775_808n * NANO],
  ];
  for (const [text, nano] of table) it(`reads ${text}`, () => expect(parseQuantity(text)).to.equal(nano));

  for (const text of [
    '',
    '.',
    '-',
    'm',
    '1 ',
    ' 1',
    '1K',
    '1ki',
    '1.2.3',
    '1e',
    'e3',
    '1e3m',
    '1Gi3',
    '0x1',
    'NaN',
    '1,5',
    '1e9999',
    '１',
  ])
    it(`refuses ${JSON.stringify(text)}`, () => expect(parseQuantity(text)).to.equal(undefined));

  it('refuses a text of hostile length', () => {
    expect(parseQuantity('9'.repeat(1_000_000))).to.equal(undefined);
  });

  it('reads every whole number of every suffix exactly', () => {
    const suffixes: [string, bigint, bigint][] = [
      ['n', 1n, NANO],
      ['u', 1_000n, NANO],
      ['m', 1_000_000n, NANO],
      ['', 1n, 1n],
      ['k', 1_000n, 1n],
      ['M', 1_000_000n, 1n],
      ['Ki', 1_024n, 1n],
      ['Gi', 2n ** 30n, 1n],
    ];
    fc.assert(
      fc.property(
        fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n }),
        fc.constantFrom(...suffixes),
        (value, [suffix, factor, divisor]) => {
          expect(parseQuantity(`${value}${suffix}`)).to.equal((value * factor * NANO) / divisor);
        },
      ),
    );
  });
});

describe('nanoCpu', () => {
  for (const { quantity, milli } of [
    { quantity: '2', milli: 2000 },
    { quantity: '1930m', milli: 1930 },
    { quantity: '0.5', milli: 500 },
    { quantity: '1n', milli: 1 },
    { quantity: '100u', milli: 1 },
    { quantity: 4, milli: 4000 },
    { quantity: '0', milli: 0 },
    { quantity: '', milli: 0 },
    { quantity: '-1', milli: 0 },
    { quantity: 'two', milli: 0 },
    { quantity: undefined, milli: 0 },
    { quantity: { cpu: 1 }, milli: 0 },
  ]) {
    it(`${JSON.stringify(quantity) ?? 'nothing'} is ${milli} millicores`, () =>
      expect(milliFromNano(nanoCpu(quantity))).to.equal(milli));
  }
  for (const quantity of ['', '-1', 'two', undefined, { cpu: 1 }])
    it(`${JSON.stringify(quantity) ?? 'nothing'} is no figure`, () => expect(unitsOf(quantity)).to.equal(undefined));
});
