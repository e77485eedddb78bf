// SPDX-License-Identifier: Apache-2.0
// What the tests of the admission policies' controller share: the objects as they would stand in a cluster.
import { CONFIG_MAPS } from '../../../../pkg/apis/resources.ts';
import { managedObjects } from '../../../../pkg/controllers/admission-policies/objects.ts';
import type { Managed } from '../../../../pkg/controllers/admission-policies/objects.ts';
import { buildAdmissionPolicies, buildCarrierObject } from '../../../../pkg/hints/policy/index.ts';
import type { AdmissionPoliciesOptions, Carrier } from '../../../../pkg/hints/policy/index.ts';
import { policyOptions } from '../../../fixtures/policies.ts';

export const NAMESPACE = 'own';

export const wantedPolicies = (overrides: Partial<AdmissionPoliciesOptions> = {}) =>
  buildAdmissionPolicies(policyOptions(NAMESPACE, overrides));

/** Everything that is installed while the carrier is said to be this one, in the order of creation. */
export const installed = (says: Carrier, overrides: Partial<AdmissionPoliciesOptions> = {}): Managed[] =>
  managedObjects(buildCarrierObject(NAMESPACE, says), wantedPolicies(overrides));

/** As another writer would have it: without the mark. */
export const foreign = ({ resource, object }: Managed): Managed => ({
  resource,
  object: { ...object, metadata: { ...object.metadata, labels: { app: 'theirs' } } },
});

export const isCarrierObject = ({ resource }: Managed): boolean => resource === CONFIG_MAPS;
