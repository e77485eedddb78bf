// SPDX-License-Identifier: Apache-2.0
// The table from a Pod's state to its endpoint's conditions.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { endpointConditions } from '../../../../pkg/upstream/controller/pod-endpoint.ts';

describe('endpointConditions', () => {
  for (const { pod, deleting, publish, expected } of [
    { pod: true, deleting: false, publish: false, expected: [true, true, false] },
    { pod: true, deleting: false, publish: true, expected: [true, true, false] },
    { pod: false, deleting: false, publish: false, expected: [false, false, false] },
    { pod: false, deleting: false, publish: true, expected: [true, false, false] },
    { pod: true, deleting: true, publish: false, expected: [false, true, true] },
    { pod: false, deleting: true, publish: false, expected: [false, false, true] },
    { pod: true, deleting: true, publish: true, expected: [true, true, true] },
  ]) {
    it(`Pod ready ${pod}, deleting ${deleting}, publishNotReady ${publish}`, () => {
      const [ready, serving, terminating] = expected;
      expect(endpointConditions({ ready: pod, deleting, publishNotReady: publish })).to.deep.equal({
        ready,
        serving,
        terminating,
      });
    });
  }
});
