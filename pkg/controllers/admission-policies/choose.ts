// SPDX-License-Identifier: Apache-2.0
// Chooses the admission backend: the webhook, or policies of the API server. Pure.
import type { AdmissionCarrier } from '../../apis/config/admission.ts';
import type { Carrier } from '../../hints/policy/index.ts';

/** kube-controller-manager's own limit; above it a policy costs the API server more than the webhook. */
export const USUAL_ENDPOINTS = 100;

export interface ChoiceInput {
  /** As configured. */
  readonly admission: AdmissionCarrier;
  /** Whether the API server serves MutatingAdmissionPolicy v1. */
  readonly served: boolean;
  /** Whether we may read policies, bindings and the record of the admission backend. */
  readonly readable: boolean;
  /** Endpoints of the largest slice that admission changes, of late. */
  readonly largestSlice: number;
}

export type ChoiceReason = 'Configured' | 'PolicyServed' | 'PolicyNotServed' | 'PolicyNotReadable' | 'LargeSlices';

export interface Choice {
  readonly carrier: Carrier;
  readonly reason: ChoiceReason;
  readonly message: string;
}

const webhook = (reason: ChoiceReason, message: string): Choice => ({ carrier: 'webhook', reason, message });

/** What cannot be is not chosen, whatever is configured: then the webhook is the backend, which serves every version. */
export const chooseCarrier = ({ admission, served, readable, largestSlice }: ChoiceInput): Choice => {
  if (admission === 'webhook') return webhook('Configured', 'admission is configured as "webhook"');
  if (!served) {
    return webhook('PolicyNotServed', 'the API server does not serve MutatingAdmissionPolicy v1 (Kubernetes 1.36)');
  }
  if (!readable) {
    return webhook(
      'PolicyNotReadable',
      'RBAC does not allow listing mutatingadmissionpolicies, mutatingadmissionpolicybindings or the ConfigMap admission-carrier',
    );
  }
  if (admission === 'policy') {
    return { carrier: 'policy', reason: 'Configured', message: 'admission is configured as "policy"' };
  }
  if (largestSlice > USUAL_ENDPOINTS) {
    return webhook(
      'LargeSlices',
      `a slice has ${largestSlice} endpoints; above ${USUAL_ENDPOINTS} a write costs more with policies`,
    );
  }
  return {
    carrier: 'policy',
    reason: 'PolicyServed',
    message: `the API server serves MutatingAdmissionPolicy v1 and no slice has more than ${USUAL_ENDPOINTS} endpoints`,
  };
};
