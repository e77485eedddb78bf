import { expect } from 'chai';
import { describe, it } from 'mocha';
import { excludedNamespacesOf } from '../../../pkg/hints/readiness.ts';

describe('excludedNamespacesOf', () => {
  const cases = [
    ['ours and the guarded ones', [], [], ['default', 'ext', 'kube-system']],
    ['what is listed comes back', ['kube-system'], [], ['default', 'ext']],
    ['what else is excluded, once', [], ['x', 'default'], ['default', 'ext', 'kube-system', 'x']],
  ] as const;
  for (const [name, included, excluded, want] of cases) {
    it(name, () => expect(excludedNamespacesOf('ext', { included, excluded })).to.deep.equal(want));
  }
});
