// SPDX-License-Identifier: Apache-2.0
// Writes cases of admission to a real API server twice: as the webhook patches them, and for a policy to patch them.
import type { JsonPatchOperation } from '../../pkg/apis/admission.ts';
import type { EndpointSlice } from '../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import type { Resource } from '../../pkg/apis/resources.ts';
import { ApiError } from '../../pkg/kubernetes/errors.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { applyJsonPatch } from '../fixtures/json-patch.ts';

/** One write of a table. */
export interface WriteCase {
  readonly name: string;
  /** Who writes. */
  readonly by: string;
  /** What is stored before; without it the write is a CREATE. */
  readonly oldObject?: KubernetesObject;
  readonly object: KubernetesObject;
}

/** What an observer of the API can tell apart: what is stored, or how the write was refused. */
export type Outcome = Readonly<Record<string, unknown>> & { readonly refused?: number };

export interface Disagreement<C> {
  readonly case: C;
  readonly webhook: Outcome;
  readonly policy: Outcome;
}

export interface Comparison<C> {
  readonly disagreements: readonly Disagreement<C>[];
  /** How many of the writes the API server took. */
  readonly stored: number;
}

export interface AgreementOptions<C extends WriteCase> {
  readonly cases: readonly C[];
  readonly clientOf: (by: C['by']) => Client;
  readonly resourceOf: (one: C) => Resource;
  /** Where the policies act. */
  readonly served: string;
  /** Where nothing acts: the webhook's patch is applied before the write. */
  readonly reference: string;
  /** The webhook's patch for a case over what is stored. */
  readonly patchOf: (one: C, stored: KubernetesObject | undefined) => readonly JsonPatchOperation[];
  /** The part of a stored object that must be equal. */
  readonly compared: (stored: KubernetesObject) => Outcome;
}

export interface Agreement<C> {
  /** Stores the old objects of all cases; before any policy acts. */
  prepare(): Promise<void>;
  /** Every case can be written once. */
  compare(chosen: readonly C[]): Promise<Comparison<C>>;
}

export const named = <T extends KubernetesObject>(
  object: T,
  namespace: string,
  name: string,
  resourceVersion?: string,
): T => ({
  ...object,
  metadata: { ...object.metadata, namespace, name, ...(resourceVersion === undefined ? {} : { resourceVersion }) },
});

/** Of a slice, everything that a writer decides. */
export const comparedSlice = (stored: KubernetesObject): Outcome => {
  const { metadata, addressType, endpoints = null, ports = null } = stored as EndpointSlice;
  const { labels = {}, annotations = {} } = metadata ?? {};
  return { addressType, endpoints, ports, labels, annotations };
};

/** The smallest case first: it says most. */
export const explain = (disagreements: readonly Disagreement<WriteCase>[]): string => {
  const [smallest] = disagreements
    .map((disagreement) => JSON.stringify(disagreement, undefined, 1))
    .sort((left, right) => left.length - right.length);
  return `${disagreements.length} cases disagree: ${disagreements.map((one) => one.case.name).join('; ')}\n${smallest}`;
};

const inBatches = async <T>(items: readonly T[], task: (item: T) => Promise<void>): Promise<void> => {
  const size = 16;
  for (let from = 0; from < items.length; from += size) await Promise.all(items.slice(from, from + size).map(task));
};

export const createAgreement = <C extends WriteCase>(options: AgreementOptions<C>): Agreement<C> => {
  const { cases, clientOf, resourceOf, served, reference, patchOf, compared } = options;
  const numbers = new Map(cases.map((one, index) => [one, `case-${index}`]));
  const stored = new Map<string, KubernetesObject>();
  /** A name that means something is kept. */
  const nameOf = (one: C): string => {
    const own = one.object.metadata?.name ?? '';
    return own.startsWith('kube-') || own.startsWith('virtual-') ? own : (numbers.get(one) ?? '');
  };
  const keyOf = (namespace: string, one: C): string => `${namespace}/${numbers.get(one)}`;

  const write = async (namespace: string, one: C, object: KubernetesObject): Promise<Outcome> => {
    const old = stored.get(keyOf(namespace, one));
    const next = named(object, namespace, nameOf(one), old?.metadata?.resourceVersion);
    const [client, resource] = [clientOf(one.by), resourceOf(one)];
    try {
      return compared(await (old ? client.update(resource, next) : client.create(resource, next)));
    } catch (error) {
      if (error instanceof ApiError) return { refused: error.status };
      throw error;
    }
  };

  const byWebhook = (one: C): Promise<Outcome> =>
    write(reference, one, applyJsonPatch(one.object, patchOf(one, stored.get(keyOf(reference, one)))));

  return {
    prepare: () =>
      inBatches(cases, async (one) => {
        if (one.oldObject === undefined) return;
        for (const namespace of [served, reference]) {
          const old = named(one.oldObject, namespace, nameOf(one));
          stored.set(keyOf(namespace, one), await clientOf(one.by).create(resourceOf(one), old));
        }
      }),
    async compare(chosen) {
      const disagreements: Disagreement<C>[] = [];
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
