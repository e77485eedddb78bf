import { expect } from 'chai';
import { describe, it } from 'mocha';
import { workingCounts } from '../../../../pkg/diagnosis/explain/given.ts';
import { DIAGNOSIS_REASONS, cause, counted, firstOfEach, listed } from '../../../../pkg/diagnosis/explain/reasons.ts';
import { REASONS } from '../../../../pkg/upstream/reasons.ts';

const equal = (zones: number): Map<string, number> =>
  new Map(Array.from({ length: zones }, (_, index) => [`z${index}`, 1 / zones]));

describe('diagnosis: causes', () => {
  it('takes the remedy from the table of the code, unless a better one is given', () => {
    expect(cause('given', 'Headless', 'E').remedy).to.equal(DIAGNOSIS_REASONS.Headless);
    expect(cause('given', 'TooFewEndpoints', 'E').remedy).to.equal(REASONS.TooFewEndpoints.remedy);
    expect(cause('given', 'TooFewEndpoints', 'E', 'R').remedy).to.equal('R');
  });

  it('keeps each code where it comes first', () => {
    const found = [cause('given', 'Headless', '1'), cause('used', 'NoNodes', '2'), cause('given', 'Headless', '3')];
    expect(firstOfEach(found).map(({ evidence }) => evidence)).to.deep.equal(['1', '2']);
  });

  const lists: readonly (readonly [readonly string[], string])[] = [
    [[], ''],
    [['b'], 'b'],
    [['b', 'a'], 'a and b'],
    [['c', 'b', 'a', 'a'], 'a, b and c'],
    [['e', 'd', 'c', 'b', 'a'], 'a, b, c and 2 more'],
  ];
  for (const [names, text] of lists)
    it(`lists ${JSON.stringify(names)} as "${text}"`, () => expect(listed(names)).to.equal(text));

  it('counts', () => expect([counted(1, 'Node'), counted(0, 'Node')]).to.deep.equal(['1 Node', '0 Nodes']));

  const counts: readonly (readonly [zones: number, endpoints: number, wanted: readonly number[]])[] = [
    // Over three equal zones 4, 5, 8 and 11 endpoints get no hints; over five, 6 to 9 and 12 to 14 do not.
    [3, 4, [3, 6, 7, 9]],
    [3, 11, [10, 12, 13, 14]],
    [3, 1, [3, 6, 7]],
    [5, 6, [5, 10, 11, 15]],
    [2, 3, [2, 4, 6, 7]],
  ];
  for (const [zones, endpoints, wanted] of counts) {
    it(`suggests ${wanted.join(', ')} instead of ${endpoints} endpoints over ${zones} equal zones`, () => {
      expect(workingCounts(equal(zones), endpoints)).to.deep.equal(wanted);
    });
  }
});
