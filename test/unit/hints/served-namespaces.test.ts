import { expect } from 'chai';
import { describe, it } from 'mocha';
import { excludedNamespacesOf } from '../../../pkg/hints/readiness.ts';

describe('excludedNamespacesOf', () => {
  const cases = [
    { name: 'ours and the guarded ones', included: [], excluded: [], want: ['default', 'ext', 'kube-system'] },
    { name: 'what is listed comes back', included: ['kube-system'], excluded: [], want: ['default', 'ext'] },
    {
      name: 'what else is excluded, once',
      included: [],
      excluded: ['x', 'default'],
      want: ['default', 'ext', 'kube-system', 'x'],
    },
  ];
  for (const { name, included, excluded, want } of cases) {
    it(name, () => expect(excludedNamespacesOf('ext', { included, excluded })).to.deep.equal(want));
  }
});
