// Decides what admission changes about the routing settings of a Service.
import type { JsonPatchOperation } from '../../apis/admission.ts';
import { LABEL_MANAGED, LABEL_STRATEGY } from '../../apis/names.ts';
import { planStrategyLabel } from '../../routing/index.ts';
import { isEtcdClient } from '../../routing/etcd-clients.ts';
import { keepSettings, UNTOUCHED_SERVICES } from '../../routing/keep.ts';
import type { Checked } from './fields.ts';
import { readObject } from './fields.ts';
import { applyMergePatch, jsonPatchOf } from './merge-patch.ts';
import type { MergePatch } from './merge-patch.ts';

export interface SettingsInput {
  /** The Service of the request, unchecked. */
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

/** What etcd-druid makes has handlers of its own (etcd-clients.ts). */
const isExcluded = (service: Checked): boolean =>
  service.metadata?.labels?.[LABEL_MANAGED] === 'false' ||
  UNTOUCHED_SERVICES.includes(service.metadata?.name ?? '') ||
  isEtcdClient(service);

/** The strategy label that the domain-prefixed annotation asks for, or that it does not ask for any more. */
const followAnnotation = (object: Checked): MergePatch | undefined => {
  const plan = planStrategyLabel(object);
  if (plan.kind === 'unchanged') return undefined;
  // A plan that only tidies up `applied` is left to the reconciler.
  return plan.changes.some(({ field }) => field.includes(LABEL_STRATEGY)) ? plan.patch : undefined;
};

/**
 * On UPDATE, restores what the owner's write dropped; lets the strategy label follow the annotation.
 * Applying the operations and deciding again gives `unchanged`.
 */
export const decideSettings = (input: SettingsInput): SettingsDecision => {
  const { userName, settingsReconcilerUser } = input;
  const object = readObject(input.object);
  if (typeof object === 'string') return { kind: 'invalid', message: object };
  if (userName === settingsReconcilerUser || isExcluded(object)) return unchanged;
  const oldObject = readObject(input.oldObject);
  const kept = (typeof oldObject === 'string' ? undefined : keepSettings(object, oldObject)) ?? {};
  const keptObject = applyMergePatch(object, kept);
  const followed = followAnnotation(keptObject) ?? {};
  const operations = [...jsonPatchOf(object, kept), ...jsonPatchOf(keptObject, followed)];
  return operations.length === 0 ? unchanged : { kind: 'patch', operations };
};
