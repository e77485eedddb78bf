import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { renderTable } from '../../../pkg/report/text.ts';

describe('renderTable', () => {
  it('lines columns up, two spaces apart, without trailing blanks', () => {
    expect(
      renderTable(
        ['A', 'LONG', 'C'],
        [
          ['first', 'x', ''],
          ['y', 'longer', 'z'],
        ],
      ),
    ).to.equal('A      LONG    C\nfirst  x\ny      longer  z\n');
  });

  it('takes missing cells for empty and prints the header alone', () => {
    expect(renderTable(['A', 'B'], [])).to.equal('A  B\n');
    expect(renderTable(['A', 'B'], [['1']])).to.equal('A  B\n1\n');
  });

  it('lets no cell break a line or reach the terminal', () => {
    expect(renderTable(['A'], [['x\ny\u001B[31mz']])).to.equal('A\nx y [31mz\n');
  });

  it('takes as many rows as there are objects in a large cluster', () => {
    expect(
      renderTable(
        ['A'],
        Array.from({ length: 200_000 }, () => ['x']),
      ).length,
    ).to.equal(2 * 200_001);
  });

  it('counts characters, not code units', () => {
    expect(
      renderTable(
        ['A', 'B'],
        [
          ['𝕏', '1'],
          ['ab', '2'],
        ],
      ),
    ).to.equal('A   B\n𝕏   1\nab  2\n');
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
