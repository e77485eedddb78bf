// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Resource } from '../../../../pkg/apis/resources.ts';
import { readPolicyObjects, removePolicies } from '../../../../pkg/controllers/admission-policies/cleanup.ts';
import type { Managed } from '../../../../pkg/controllers/admission-policies/objects.ts';
import type { Action } from '../../../../pkg/controllers/admission-policies/plan.ts';
import { ApiError } from '../../../../pkg/kubernetes/errors.ts';
import type { Client } from '../../../../pkg/kubernetes/types.ts';
import { foreign, installed, isCarrierObject, NAMESPACE } from './support.ts';

const never = new AbortController().signal;
const setup = (objects: readonly Managed[], { served = true, forbidden = false } = {}) => {
  const removed: Action[] = [];
  const asked: string[] = [];
  const client = {
    raw: () => Promise.resolve({ resources: served ? [{ name: 'mutatingadmissionpolicies' }] : [] }),
    list: (resource: Resource) => {
      asked.push(resource.plural);
      if (forbidden) return Promise.reject(new ApiError({ method: 'GET', path: '/x', status: 403 }));
      const items = objects.filter((item) => item.resource === resource).map(({ object }) => object);
      return Promise.resolve({ metadata: {}, items });
    },
  } as unknown as Pick<Client, 'list' | 'raw'>;
  const writer = { perform: (actions: readonly Action[]) => Promise.resolve(void removed.push(...actions)) };
  return { client, writer, removed, asked };
};
const where = { name: 'ours', namespace: NAMESPACE };

describe('the clean-up of admission policies', () => {
  it('removes bindings, then policies, then what says who carries', async () => {
    const { client, writer, removed } = setup(installed('policy'));
    expect(await removePolicies({ client, writer, ...where }, never)).to.equal(13);
    const kinds = removed.map(({ resource }) => resource.kind);
    expect(kinds.filter((kind, index) => kind !== kinds[index - 1])).to.deep.equal([
      'MutatingAdmissionPolicyBinding',
      'MutatingAdmissionPolicy',
      'ConfigMap',
    ]);
  });

  it('leaves what belongs to others and to other installations', async () => {
    const others = installed('policy', { name: 'ours-runtime' }).filter((item) => !isCarrierObject(item));
    const { client, writer } = setup([...others, ...installed('policy').filter(isCarrierObject).map(foreign)]);
    expect(await removePolicies({ client, writer, ...where }, never)).to.equal(0);
  });

  it('does not ask for what is not served', async () => {
    const { client, writer, asked } = setup(installed('policy').filter(isCarrierObject), { served: false });
    expect(await removePolicies({ client, writer, ...where }, never)).to.equal(1);
    expect(asked).to.deep.equal(['configmaps']);
  });

  it('says where nothing may be read', async () => {
    const { client } = setup(installed('policy'), { forbidden: true });
    expect(await readPolicyObjects({ client, ...where }, never)).to.deep.equal({
      served: true,
      readable: false,
      objects: [],
    });
  });
});
