// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { chooseCarrier, USUAL_ENDPOINTS } from '../../../../pkg/controllers/admission-policies/choose.ts';
import type { ChoiceInput } from '../../../../pkg/controllers/admission-policies/choose.ts';

const fit: ChoiceInput = { admission: 'auto', served: true, readable: true, largestSlice: USUAL_ENDPOINTS };

describe('the choice of an admission backend', () => {
  const cases: { name: string; input: Partial<ChoiceInput>; want: string }[] = [
    { name: 'auto, where everything fits', input: {}, want: 'policy PolicyServed' },
    { name: 'auto, not served', input: { served: false, readable: false }, want: 'webhook PolicyNotServed' },
    { name: 'auto, not ours to read', input: { readable: false }, want: 'webhook PolicyNotReadable' },
    { name: 'auto, a slice larger than usual', input: { largestSlice: 101 }, want: 'webhook LargeSlices' },
    { name: 'auto, no slices', input: { largestSlice: 0 }, want: 'policy PolicyServed' },
    {
      name: 'policy, a slice larger than usual',
      input: { admission: 'policy', largestSlice: 101 },
      want: 'policy Configured',
    },
    { name: 'policy, not served', input: { admission: 'policy', served: false }, want: 'webhook PolicyNotServed' },
    {
      name: 'policy, not ours to read',
      input: { admission: 'policy', readable: false },
      want: 'webhook PolicyNotReadable',
    },
    { name: 'webhook, where everything fits', input: { admission: 'webhook' }, want: 'webhook Configured' },
  ];
  for (const { name, input, want } of cases) {
    it(name, () => {
      const { carrier, reason, message } = chooseCarrier({ ...fit, ...input });
      expect(`${carrier} ${reason}`).to.equal(want);
      expect(message).to.have.length.above(20);
    });
  }

  it('names the size that decided', () => {
    expect(chooseCarrier({ ...fit, largestSlice: 250 }).message).to.contain('250 endpoints');
  });
});
