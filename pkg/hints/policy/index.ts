// SPDX-License-Identifier: Apache-2.0
// What admission does, as policies of the API server, for those who install or print them.
export { buildAdmissionPolicies, buildCarrierObject, CARRIER_NAME } from './build.ts';
export type {
  AdmissionPolicies,
  AdmissionPoliciesOptions,
  Carrier,
  CarrierObject,
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
} from './types.ts';
