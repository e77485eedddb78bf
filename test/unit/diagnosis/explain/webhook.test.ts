// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { buildAdmissionPolicies } from '../../../../pkg/hints/policy/index.ts';
import type { Explanation } from '../../../../pkg/diagnosis/explain/types.ts';
import { policyOptions } from '../../../fixtures/policies.ts';
import { clusterFile, topologyJson } from '../../../fixtures/topology-command.ts';

describe('why admission has written no hints', () => {
  const firstCause = async (policies: readonly object[]) => {
    const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: policies });
    const args = ['explain', 'shop/web', '-f', clusterFile('webhook-missing'), '-f', '-'];
    return (await topologyJson<Explanation>(args, { stdin })).causes[0];
  };

  it('is not that nothing serves slices where our policies do', async () => {
    const { policies } = buildAdmissionPolicies(policyOptions('garden'));
    const cause = await firstCause(policies);
    expect(cause?.reason).to.equal('WebhookSkipped');
    expect(cause?.evidence).to.match(/policy ours\.\S+/);
  });

  it('policies of other projects do not count', async () => {
    const metadata = { name: 'other.same-zone', labels: { 'app.kubernetes.io/name': 'other' } };
    const cause = await firstCause([{ kind: 'MutatingAdmissionPolicy', metadata }]);
    expect(cause?.reason).to.equal('WebhookMissing');
  });
});
