import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { renderTable } from '../../../pkg/report/text.ts';

describe('renderTable', () => {
  /** Cells are apart by commas. */
  const tables: readonly (readonly [name: string, lines: readonly string[], text: string])[] = [
    [
      'lines columns up, two spaces apart, without trailing blanks',
      ['A,LONG,C', 'first,x,', 'y,longer,z'],
      'A      LONG    C\nfirst  x\ny      longer  z\n',
    ],
    ['prints the header alone', ['A,B'], 'A  B\n'],
    ['takes missing cells for empty', ['A,B', '1'], 'A  B\n1\n'],
    ['lets no cell break a line or reach the terminal', ['A', 'x\ny\u001B[31mz'], 'A\nx y [31mz\n'],
    ['counts characters, not code units', ['A,B', '𝕏,1', 'ab,2'], 'A   B\n𝕏   1\nab  2\n'],
  ];
  for (const [name, lines, text] of tables) {
    it(name, () => {
      const [header = [], ...rows] = lines.map((line) => line.split(','));
      expect(renderTable(header, rows)).to.equal(text);
    });
  }

  it('takes as many rows as there are objects in a large cluster', () => {
    const rows = Array.from({ length: 200_000 }, () => ['x']);
    expect(renderTable(['A'], rows)).to.have.length(2 * 200_001);
  });

  it('has one line a row, whatever the cells hold', () => {
    fc.assert(
      fc.property(fc.array(fc.array(fc.string(), { minLength: 2, maxLength: 2 })), (rows) => {
        const lines = renderTable(['A', 'B'], rows).split('\n');
        expect(lines).to.have.length(rows.length + 2);
        expect(lines.at(-1)).to.equal('');
      }),
    );
  });
});
