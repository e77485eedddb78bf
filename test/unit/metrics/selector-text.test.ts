// SPDX-License-Identifier: Apache-2.0
// Label selectors as text: what a server that parses them makes of the text is what the selector says.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import type { LabelSelector } from '../../../pkg/apis/admission.ts';
import { selectorText } from '../../../pkg/metrics/selector-text.ts';
import { compileLabelSelector, parseLabelSelector } from '../../sandbox/selectors.ts';
import { upTo } from '../../support/depth.ts';

describe('text of a label selector', () => {
  for (const { name, selector, text } of [
    { name: 'labels, in the order of their keys', selector: { matchLabels: { b: '2', a: '1' } }, text: 'a=1,b=2' },
    { name: 'an empty value', selector: { matchLabels: { a: '' } }, text: 'a=' },
    {
      name: 'every operator',
      selector: {
        matchLabels: { app: 'web' },
        matchExpressions: [
          { key: 'x', operator: 'In', values: ['2', '1'] },
          { key: 'y', operator: 'NotIn', values: ['3'] },
          { key: 'z', operator: 'Exists' },
          { key: 'w', operator: 'DoesNotExist' },
        ],
      },
      text: '!w,app=web,x in (1,2),y notin (3),z',
    },
    { name: 'nothing, which selects everything', selector: {}, text: undefined },
    { name: 'empty parts', selector: { matchLabels: {}, matchExpressions: [] }, text: undefined },
  ] satisfies { name: string; selector: LabelSelector; text: string | undefined }[]) {
    it(name, () => {
      expect(selectorText(selector)).to.equal(text);
    });
  }

  it('selects what the selector selects', () => {
    const key = fc.constantFrom('a', 'b', 'example.com/c');
    const value = fc.constantFrom('1', '2', 'x-y_z.0');
    const labels = fc.dictionary(key, value);
    const expression = fc.oneof(
      fc.record({
        key,
        operator: fc.constantFrom('In' as const, 'NotIn' as const),
        values: fc.array(value, { minLength: 1, maxLength: 3 }),
      }),
      fc.record({ key, operator: fc.constantFrom('Exists' as const, 'DoesNotExist' as const) }),
    );
    const selector = fc.record({ matchLabels: labels, matchExpressions: fc.array(expression, { maxLength: 3 }) });
    fc.assert(
      fc.property(selector, labels, (selects, of) => {
        const expected = compileLabelSelector(selects)(of);
        expect(parseLabelSelector(selectorText(selects))(of)).to.equal(expected);
      }),
      { numRuns: upTo(2_000) },
    );
  });
});
