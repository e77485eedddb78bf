// SPDX-License-Identifier: Apache-2.0
// Writes the cases of admission to a real API server twice: as the webhook patches them, and for a policy to patch them.
import type { EndpointSlice } from '../../pkg/apis/core.ts';
import { ENDPOINT_SLICES } from '../../pkg/apis/resources.ts';
import { decideHints } from '../../pkg/hints/index.ts';
import { ApiError } from '../../pkg/kubernetes/errors.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import type { AdmissionCase } from '../fixtures/admission-cases.ts';
import { applyJsonPatch } from '../fixtures/json-patch.ts';

/** What an observer of the API can tell apart: what is stored, or how the write was refused. */
export type Outcome = Pick<EndpointSlice, 'endpoints'> & { readonly refused?: number };

export interface Disagreement {
  readonly case: AdmissionCase;
  readonly webhook: Outcome;
  readonly policy: Outcome;
}

export interface Comparison {
  readonly disagreements: readonly Disagreement[];
  /** How many of the writes the API server took. */
  readonly stored: number;
}

export interface AgreementOptions {
  readonly cases: readonly AdmissionCase[];
  readonly clientOf: (by: AdmissionCase['by']) => Client;
  readonly users: Readonly<Record<AdmissionCase['by'], string>>;
  /** Where the policies act. */
  readonly served: string;
  /** Where nothing acts: the webhook's patch is applied before the write. */
  readonly reference: string;
}

export interface Agreement {
  /** Stores the old slices of all cases; before any policy acts. */
  prepare(): Promise<void>;
  /** Every case can be written once. */
  compare(chosen: readonly AdmissionCase[]): Promise<Comparison>;
}

export const named = (
  object: EndpointSlice,
  namespace: string,
  name: string,
  resourceVersion?: string,
): EndpointSlice => ({
  ...object,
  metadata: { ...object.metadata, namespace, name, ...(resourceVersion === undefined ? {} : { resourceVersion }) },
});

/** The smallest case first: it says most. */
export const explain = (disagreements: readonly Disagreement[]): string => {
  const [smallest] = disagreements
    .map((disagreement) => JSON.stringify(disagreement, undefined, 1))
    .sort((left, right) => left.length - right.length);
  return `${disagreements.length} cases disagree: ${disagreements.map((one) => one.case.name).join('; ')}\n${smallest}`;
};

const outcomeOf = async (write: Promise<EndpointSlice>): Promise<Outcome> => {
  try {
    const { metadata, addressType, endpoints = null, ports = null } = await write;
    const { labels = {}, annotations = {} } = metadata ?? {};
    return { addressType, endpoints, ports, labels, annotations } as Outcome;
  } catch (error) {
    if (error instanceof ApiError) return { endpoints: null, refused: error.status };
    throw error;
  }
};

const inBatches = async <T>(items: readonly T[], task: (item: T) => Promise<void>): Promise<void> => {
  const size = 16;
  for (let from = 0; from < items.length; from += size) await Promise.all(items.slice(from, from + size).map(task));
};

export const createAgreement = ({ cases, clientOf, users, served, reference }: AgreementOptions): Agreement => {
  const nameOf = new Map(cases.map((one, index) => [one, `case-${index}`]));
  const stored = new Map<string, EndpointSlice>();
  const keyOf = (namespace: string, one: AdmissionCase): string => `${namespace}/${nameOf.get(one)}`;

  const write = (namespace: string, one: AdmissionCase, object: EndpointSlice): Promise<Outcome> => {
    const old = stored.get(keyOf(namespace, one));
    const next = named(object, namespace, nameOf.get(one) ?? '', old?.metadata?.resourceVersion);
    const client = clientOf(one.by);
    return outcomeOf(old ? client.update(ENDPOINT_SLICES, next) : client.create(ENDPOINT_SLICES, next));
  };

  const byWebhook = (one: AdmissionCase): Promise<Outcome> => {
    const decision = decideHints({
      object: one.object,
      oldObject: stored.get(keyOf(reference, one)),
      userName: users[one.by],
      flowControllerUsers: new Set([users.planner]),
      plannerAlive: one.plannerAlive,
      nodeHints: true,
    });
    const operations = decision.kind === 'patch' ? decision.operations : [];
    return write(reference, one, applyJsonPatch(one.object, operations));
  };

  return {
    prepare: () =>
      inBatches(cases, async (one) => {
        if (one.oldObject === undefined) return;
        for (const namespace of [served, reference]) {
          const old = named(one.oldObject, namespace, nameOf.get(one) ?? '');
          stored.set(keyOf(namespace, one), await clientOf('controller').create(ENDPOINT_SLICES, old));
        }
      }),
    async compare(chosen) {
      const disagreements: Disagreement[] = [];
      let taken = 0;
      await inBatches(chosen, async (one) => {
        const webhook = await byWebhook(one);
        const policy = await write(served, one, one.object);
        if (JSON.stringify(webhook) !== JSON.stringify(policy)) disagreements.push({ case: one, webhook, policy });
        if (policy.refused === undefined) taken += 1;
      });
      return { disagreements, stored: taken };
    },
  };
};
