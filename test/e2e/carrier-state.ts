// SPDX-License-Identifier: Apache-2.0
// What a cluster has and says about who carries admission, as the suite about switching looks at it.
import type { MutatingWebhookConfiguration } from '../../pkg/apis/admission.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { EXTENSION_NAME } from '../../pkg/apis/names.ts';
import { CONFIG_MAPS, MUTATING_ADMISSION_POLICIES, MUTATING_WEBHOOK_CONFIGURATIONS } from '../../pkg/apis/resources.ts';
import { CARRIER_NAME } from '../../pkg/hints/policy/index.ts';
import type { Carrier, MutatingAdmissionPolicy } from '../../pkg/hints/policy/index.ts';
import { isNotFound } from '../../pkg/kubernetes/errors.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { waitFor } from './bed/wait-for.ts';
import { NAMESPACE } from './chart.ts';

/** Of the settings-reconciler, as the suites start it. */
export const METRICS_PORT = 18_080;

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
  /** Resolves once all of it, and the settings-reconciler's metrics, show that this one carries. */
  until(carrier: Carrier): Promise<void>;
}

/** `client` is asked for with each look: suites describe themselves before they have one. */
export const carrierState = (client: () => Client): CarrierState => {
  const policies = async (): Promise<MutatingAdmissionPolicy[]> =>
    (await client().list<MutatingAdmissionPolicy>(MUTATING_ADMISSION_POLICIES)).items;
  const said = async (): Promise<string | undefined> => {
    type Said = KubernetesObject & { data?: Record<string, string> };
    return (await readIfThere(client().get<Said>(CONFIG_MAPS, carrierRef)))?.data?.['carrier'];
  };
  const webhooks = async (): Promise<string[]> => {
    const ref = { name: EXTENSION_NAME };
    const registration = await client().get<MutatingWebhookConfiguration>(MUTATING_WEBHOOK_CONFIGURATIONS, ref);
    return (registration.webhooks ?? []).map(({ name }) => name.split('.topology')[0] ?? '');
  };
  const counted = async (): Promise<string | undefined> => {
    const text = await (await fetch(`http://127.0.0.1:${METRICS_PORT}/metrics`)).text();
    return /_admission_carrier\{carrier="(\w+)"\} 1/.exec(text)?.[1];
  };
  return {
    said,
    policies,
    webhooks,
    async plannerAlive() {
      const of = (await policies())
        .flatMap(({ spec }) => spec.variables ?? [])
        .filter(({ name }) => name === 'unplanned');
      return of.every(({ expression }) => expression.startsWith('!true'));
    },
    async until(carrier) {
      if (carrier === 'policy') {
        await waitFor('policies said to carry', said, (found) => found === carrier);
        await waitFor('webhook without slices', webhooks, (names) => names.join() === 'strategy-annotation');
      } else {
        await waitFor('webhook with slices', webhooks, (names) => names.includes('endpoint-slice-hints'));
        await waitFor('policies removed', policies, (found) => found.length === 0);
        await waitFor('nothing said any more', said, (found) => found === undefined);
      }
      await waitFor(`${carrier} counted`, counted, (found) => found === carrier);
    },
  };
};
