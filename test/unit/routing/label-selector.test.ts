import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { LabelSelector } from '../../../pkg/apis/admission.ts';
import { matchesSelector } from '../../../pkg/routing/types.ts';

describe('a label selector', () => {
  const labels = { team: 'a', tier: 'web' };
  const cases: { name: string; selector: LabelSelector; fits: boolean }[] = [
    { name: 'empty', selector: {}, fits: true },
    { name: 'a label that is equal', selector: { matchLabels: { team: 'a' } }, fits: true },
    { name: 'a label that is not', selector: { matchLabels: { team: 'b' } }, fits: false },
    { name: 'In', selector: { matchExpressions: [{ key: 'team', operator: 'In', values: ['a', 'b'] }] }, fits: true },
    {
      name: 'In, without the label',
      selector: { matchExpressions: [{ key: 'x', operator: 'In', values: ['a'] }] },
      fits: false,
    },
    { name: 'NotIn', selector: { matchExpressions: [{ key: 'team', operator: 'NotIn', values: ['a'] }] }, fits: false },
    {
      name: 'NotIn, without the label',
      selector: { matchExpressions: [{ key: 'x', operator: 'NotIn', values: ['a'] }] },
      fits: true,
    },
    { name: 'Exists', selector: { matchExpressions: [{ key: 'tier', operator: 'Exists' }] }, fits: true },
    { name: 'DoesNotExist', selector: { matchExpressions: [{ key: 'tier', operator: 'DoesNotExist' }] }, fits: false },
    {
      name: 'a key that every object inherits',
      selector: { matchExpressions: [{ key: 'constructor', operator: 'Exists' }] },
      fits: false,
    },
    {
      name: 'all must hold',
      selector: { matchLabels: { team: 'a' }, matchExpressions: [{ key: 'x', operator: 'Exists' }] },
      fits: false,
    },
  ];
  for (const { name, selector, fits } of cases) {
    it(`${name}: ${fits ? 'fits' : 'does not fit'}`, () => expect(matchesSelector(selector, labels)).to.equal(fits));
  }
});
