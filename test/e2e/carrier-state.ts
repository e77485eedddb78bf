// SPDX-License-Identifier: Apache-2.0
// What a cluster has and says about who carries admission, as the suite about switching looks at it.
import type { MutatingWebhookConfiguration } from '../../pkg/apis/admission.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { EXTENSION_NAME } from '../../pkg/apis/names.ts';
import { CONFIG_MAPS, MUTATING_ADMISSION_POLICIES, MUTATING_WEBHOOK_CONFIGURATIONS } from '../../pkg/apis/resources.ts';
import { CARRIER_NAME } from '../../pkg/hints/policy/index.ts';
import type { MutatingAdmissionPolicy } from '../../pkg/hints/policy/index.ts';
import { isNotFound } from '../../pkg/kubernetes/errors.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { NAMESPACE } from './chart.ts';

export const carrierRef = { namespace: NAMESPACE, name: CARRIER_NAME };

/** Undefined where the object is not there. */
export const readIfThere = async <T extends KubernetesObject>(get: Promise<T>): Promise<T | undefined> => {
  try {
    return await get;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
};

export interface CarrierState {
  /** What the settings-reconciler says to the other components; undefined where it says nothing. */
  said(): Promise<string | undefined>;
  policies(): Promise<MutatingAdmissionPolicy[]>;
  /** Whether the planned policies take the planner for alive, as they have it in their text. */
  plannerAlive(): Promise<boolean>;
  /** First parts of the names of all registered webhooks. */
  webhooks(): Promise<string[]>;
}

/** `client` is asked for with each look: suites describe themselves before they have one. */
export const carrierState = (client: () => Client): CarrierState => {
  const policies = async (): Promise<MutatingAdmissionPolicy[]> =>
    (await client().list<MutatingAdmissionPolicy>(MUTATING_ADMISSION_POLICIES)).items;
  return {
    async said() {
      type Said = KubernetesObject & { data?: Record<string, string> };
      return (await readIfThere(client().get<Said>(CONFIG_MAPS, carrierRef)))?.data?.['carrier'];
    },
    policies,
    async plannerAlive() {
      const of = (await policies())
        .flatMap(({ spec }) => spec.variables ?? [])
        .filter(({ name }) => name === 'unplanned');
      return of.every(({ expression }) => expression.startsWith('!true'));
    },
    async webhooks() {
      const ref = { name: EXTENSION_NAME };
      const registration = await client().get<MutatingWebhookConfiguration>(MUTATING_WEBHOOK_CONFIGURATIONS, ref);
      return (registration.webhooks ?? []).map(({ name }) => name.split('.topology')[0] ?? '');
    },
  };
};
