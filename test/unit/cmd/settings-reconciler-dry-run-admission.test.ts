// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { reportAdmission } from '../../../cmd/settings-reconciler/dry-run-admission.ts';
import { loadConfiguration } from '../../../pkg/apis/config/load.ts';
import { SETTINGS_RECONCILER_CONFIGURATION } from '../../../pkg/apis/config/settings-reconciler.ts';
import type { ObjectRef } from '../../../pkg/apis/meta.ts';
import { ANNOTATION_INSTALLATION } from '../../../pkg/apis/names.ts';
import { LEASES, MUTATING_ADMISSION_POLICIES } from '../../../pkg/apis/resources.ts';
import type { Resource } from '../../../pkg/apis/resources.ts';
import { ApiError } from '../../../pkg/kubernetes/errors.ts';
import type { Lease } from '../../../pkg/kubernetes/lease.ts';
import { microTime } from '../../../pkg/kubernetes/lease.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';

const HEAD = 'apiVersion: config.topology.extensions.gardener.cloud/v1alpha1\nkind: SettingsReconcilerConfiguration\n';
const SHARED = 'installation: { claim: { namespace: garden, name: admission } }\n';
const clock = createFakeClock();

/** On an API server with policies, and nothing installed. */
const report = async (text: string, leases: Record<string, Lease> = {}) => {
  const missing = (path: string) => new ApiError({ method: 'GET', path, status: 404 });
  const client: Partial<Client> = {
    raw: <T>() => Promise.resolve({ resources: [{ name: MUTATING_ADMISSION_POLICIES.plural }] } as T),
    list: async (resource, { fieldSelector = '' } = {}) => {
      const lease = leases[fieldSelector.replace('metadata.name=', '')];
      return { metadata: {}, items: resource === LEASES && lease !== undefined ? [lease as never] : [] };
    },
    get: (resource: Resource, { name }: ObjectRef) => {
      const lease = resource === LEASES ? leases[name] : undefined;
      return lease === undefined ? Promise.reject(missing(name)) : Promise.resolve(lease as never);
    },
  };
  const config = loadConfiguration(SETTINGS_RECONCILER_CONFIGURATION, `${HEAD}modes: { cluster: {} }\n${text}`, 'x');
  const landscape = { slices: { list: () => [] } } as unknown as Parameters<typeof reportAdmission>[1];
  const reading = { config, client: client as Client, namespace: 'own', clock };
  const { objects } = await reportAdmission(reading, landscape, new AbortController().signal);
  return objects.filter(({ object }) => object.startsWith('MutatingAdmissionPolicy ')).map(({ object }) => object);
};
const heldBy = (holderIdentity: string): Lease => ({
  metadata: { annotations: { [ANNOTATION_INSTALLATION]: holderIdentity } },
  spec: { holderIdentity, renewTime: microTime(clock.now()) },
});

describe('what a dry run says of admission', () => {
  const cases = [
    { name: 'everything where there is no other installation', text: '', leases: {}, policies: 6 },
    { name: 'everything where nobody has the claim', text: SHARED, leases: {}, policies: 6 },
    { name: 'everything where the claim was given up', text: SHARED, leases: { admission: heldBy('') }, policies: 6 },
    { name: 'everything where the claim is ours', text: SHARED, leases: { admission: heldBy('own') }, policies: 6 },
    {
      name: 'settings alone where it is another’s',
      text: SHARED,
      leases: { admission: heldBy('runtime') },
      policies: 1,
    },
    {
      name: 'everything where another one only plans',
      text: SHARED,
      leases: { 'flow-controller': heldBy('x') },
      policies: 6,
    },
  ];
  for (const { name, text, leases, policies } of cases) {
    it(`is ${name}`, async () => expect(await report(text, leases)).to.have.lengthOf(policies));
  }
});
