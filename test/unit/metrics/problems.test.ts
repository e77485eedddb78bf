// Sentences about bad samples: few, short, and without what an answer smuggled into a name.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { createProblems, quoted, sayMissing } from '../../../pkg/metrics/prometheus-answer.ts';

describe('problems of samples', () => {
  it('counts by kind and names the first', () => {
    const problems = createProblems();
    problems.count('NaN', 'a');
    problems.count('negative', 'b');
    problems.count('NaN', 'c');
    problems.count('no name');
    expect(problems.sentences()).to.deep.equal([
      '2 samples left out: NaN, first of "a"',
      '1 sample left out: negative, of "b"',
      '1 sample left out: no name',
    ]);
  });

  for (const { name, text, expected } of [
    { name: 'a name', text: 'web-0', expected: '"web-0"' },
    { name: 'quotes and backslashes', text: 'a"b\\c', expected: String.raw`"a\"b\\c"` },
    { name: 'line breaks and escapes of a terminal', text: 'a\n\u001b[31mb\u2028c', expected: '"a��[31mb�c"' },
    { name: 'half a surrogate pair', text: 'a\ud800b', expected: '"a�b"' },
    { name: 'a long text', text: 'x'.repeat(1_000), expected: `"${'x'.repeat(80)}…"` },
  ]) {
    it(`quotes ${name}`, () => {
      expect(quoted(text)).to.equal(expected);
    });
  }

  it('says which Pods have no sample, and nothing where all have', () => {
    const problems = createProblems();
    sayMissing(problems, new Set(['a', 'b']), new Set(['a', 'b']));
    expect(problems.sentences()).to.deep.equal([]);
    sayMissing(problems, new Set(['c', 'b', 'a']), new Set(['a']));
    expect(problems.sentences()).to.deep.equal(['2 of 3 Pods without a sample, first of "b"']);
  });
});
