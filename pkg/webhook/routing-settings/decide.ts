// SPDX-License-Identifier: Apache-2.0
// Decides what admission changes about the routing settings of a Service or an Etcd.
import type { JsonPatchOperation } from '../../apis/admission.ts';
import { LABEL_MANAGED, LABEL_STRATEGY } from '../../apis/names.ts';
import type { SettingsTarget } from '../../routing/index.ts';
import { planStrategyLabel } from '../../routing/index.ts';
import { keepSettings, UNTOUCHED_SERVICES } from '../../routing/keep.ts';
import type { Checked } from './fields.ts';
import { readObject } from './fields.ts';
import { applyMergePatch, jsonPatchOf } from './merge-patch.ts';
import type { MergePatch } from './merge-patch.ts';

export interface SettingsInput {
  readonly target: SettingsTarget;
  /** The Service or Etcd of the request, unchecked. */
  readonly object: unknown;
  /** The stored object, unchecked; undefined on CREATE. */
  readonly oldObject: unknown;
  /** request.userInfo.username. */
  readonly userName: string;
  /** The user whose writes are never changed: it takes settings back with one write of its own. */
  readonly settingsReconcilerUser: string;
}

export type SettingsDecision =
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'patch'; readonly operations: readonly JsonPatchOperation[] }
  | { readonly kind: 'invalid'; readonly message: string };

const unchanged: SettingsDecision = Object.freeze({ kind: 'unchanged' });

const isExcluded = (target: SettingsTarget, { metadata }: Checked): boolean => {
  if (metadata?.labels?.[LABEL_MANAGED] === 'false') return true;
  return target === 'Service' && UNTOUCHED_SERVICES.includes(metadata?.name ?? '');
};

/** The strategy label that the domain-prefixed annotation asks for, or that it does not ask for any more. */
const followAnnotation = (object: Checked): MergePatch | undefined => {
  const plan = planStrategyLabel(object);
  if (plan.kind === 'unchanged') return undefined;
  // A plan that only tidies up `applied` is left to the reconciler.
  return plan.changes.some(({ field }) => field.includes(LABEL_STRATEGY)) ? plan.patch : undefined;
};

/**
 * On UPDATE, puts back what the owner's write dropped; on Services, lets the strategy label follow the annotation.
 * Applying the operations and deciding again gives `unchanged`.
 */
export const decideSettings = (input: SettingsInput): SettingsDecision => {
  const { target, userName, settingsReconcilerUser } = input;
  const object = readObject(target, input.object);
  if (typeof object === 'string') return { kind: 'invalid', message: object };
  if (userName === settingsReconcilerUser || isExcluded(target, object)) return unchanged;
  const oldObject = readObject(target, input.oldObject);
  const kept = (typeof oldObject === 'string' ? undefined : keepSettings(target, object, oldObject)) ?? {};
  const keptObject = applyMergePatch(object, kept);
  const followed = (target === 'Service' ? followAnnotation(keptObject) : undefined) ?? {};
  const operations = [...jsonPatchOf(object, kept), ...jsonPatchOf(keptObject, followed)];
  return operations.length === 0 ? unchanged : { kind: 'patch', operations };
};
