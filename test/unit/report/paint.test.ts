import { expect } from 'chai';
import { describe, it } from 'mocha';
import { paintFor, wrapText } from '../../../pkg/report/text.ts';
import { renderYaml } from '../../../pkg/report/yaml.ts';

describe('report: text', () => {
  it('colours only where asked to', () => {
    expect(paintFor(true).bad('x')).to.equal('\u001B[31mx\u001B[39m');
    const { good, bad, strong, faint } = paintFor(false);
    expect([good('x'), bad('x'), strong('x'), faint('x')]).to.deep.equal(['x', 'x', 'x', 'x']);
  });

  const cases: readonly (readonly [text: string, width: number, lines: readonly string[]])[] = [
    ['', 20, ['']],
    ['one two three', 20, ['one two three']],
    ['one two three', 9, ['one two', 'three']],
    ['averylongwordthatfitsnowhere a', 9, ['averylongwordthatfitsnowhere', 'a']],
    ['zürich größe', 8, ['zürich', 'größe']],
  ];
  for (const [text, width, lines] of cases) {
    it(`breaks "${text}" at ${width}`, () => {
      expect(wrapText(text, width, '  ')).to.equal(lines.map((line) => `  ${line}\n`).join(''));
    });
  }

  it('writes YAML without aliases', () => {
    const shared = { a: 1 };
    expect(renderYaml({ x: shared, y: shared })).to.equal('x:\n  a: 1\ny:\n  a: 1\n');
  });
});
