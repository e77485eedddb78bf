import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { Counter, Registry } from 'prom-client';
import { parseExposition } from '../../../pkg/traffic/meter-reading.ts';

const of = (text: string): unknown => parseExposition(text, ['m'])?.get('m');

describe("Prometheus' text format", () => {
  const rows: readonly (readonly [name: string, text: string, expected: unknown])[] = [
    ['a sample without labels', 'm 5\n', [{ labels: {}, value: 5 }]],
    [
      'labels, a trailing comma and a time',
      'm{a="1",b="2",} 1.5e3 1700000000000\n',
      [{ labels: { a: '1', b: '2' }, value: 1500 }],
    ],
    ['braces, commas and quotes within a value', String.raw`m{a="x},\"y"} 1`, [{ labels: { a: 'x},"y' }, value: 1 }]],
    ['comments, other metrics and longer names', '# HELP m\n# TYPE m counter\nmm 1\nn 1\n', []],
    ['a value that is not finite', 'm NaN\nm +Inf\n', []],
    ['a list of labels that is none', 'm{a=1} 1\nm{a="1" 1\nm{="1"} 1\n', []],
    ['nothing', '', []],
    ['no end of the last line', 'm 1', [{ labels: {}, value: 1 }]],
    ['a line that is too long', `m{a="${'x'.repeat(4_096)}"} 1\nm 2`, [{ labels: {}, value: 2 }]],
    [
      'eight labels, not nine',
      [8, 9].map((many) => `m{${'a="",'.repeat(many)}} 1\n`).join(''),
      [{ labels: { a: '' }, value: 1 }],
    ],
    ['200,000 lines', 'm 1\n'.repeat(200_000), Array.from({ length: 200_000 }, () => ({ labels: {}, value: 1 }))],
    ['not one more', 'm 1\n'.repeat(200_001), undefined],
    ['nor millions of empty ones', '\n'.repeat(32 * 2 ** 20), undefined],
  ];
  for (const [name, text, expected] of rows) {
    it(`reads ${name}`, () => {
      expect(of(text)).to.deep.equal(expected);
    });
  }

  it('reads back whatever prom-client writes', async () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(fc.dictionary(text, fc.double({ min: 0, max: 1e12, noNaN: true })), async (values) => {
        const registry = new Registry();
        const counter = new Counter({ name: 'm', help: 'h', labelNames: ['label'], registers: [registry] });
        for (const [label, value] of Object.entries(values)) counter.inc({ label }, value);
        const read = parseExposition(await registry.metrics(), ['m'])?.get('m') ?? [];
        expect(read.map(({ labels, value }) => [labels['label'], value])).to.deep.equal(Object.entries(values));
      }),
    );
  });
});
