// SPDX-License-Identifier: Apache-2.0
// The turn that all settings reconcilers share: decide a namespace from the caches, write what differs, tell what changed.
import type { SettingsReconcilerConfiguration } from '../../apis/config/settings-reconciler.ts';
import type { Namespace } from '../../apis/core.ts';
import type { Reconciler, Result } from '../../kubernetes/types.ts';
import { applyObjects, forgetObject } from './apply.ts';
import type { ApplyOptions } from './apply.ts';
import type { Reporter } from './reporter.ts';
import { isRoutingLabelled, wantsRoutingLabel, writeRoutingLabel } from './routing-label.ts';
import type { LabelWriter } from './routing-label.ts';
import type { Decider, NamespaceDecision, ObjectDecision } from './types.ts';

export interface SettingsReconcilerOptions {
  decide: Decider;
  /** Whether the namespace is ours: nothing is written in others, not even to tidy up. */
  isOwned(name: string): boolean;
  /** The namespace as last seen; undefined once it is gone. */
  namespaceOf(name: string): Namespace | undefined;
  keep: SettingsReconcilerConfiguration['keep'];
  apply: ApplyOptions;
  label: LabelWriter;
  reporter: Reporter;
  /** Tells the effectiveness report what is on; called with undefined when the namespace is no longer ours. */
  onDecided(namespace: string, decision: NamespaceDecision | undefined): void;
}

const DONE: Result = { kind: 'done' };

/** Keeps the settings of one namespace (the key) in line with its source. */
export const createSettingsReconciler = (options: SettingsReconcilerOptions): Reconciler => {
  const { decide, isOwned, namespaceOf, keep, apply, label, reporter, onDecided } = options;
  const known = new Map<string, readonly Pick<ObjectDecision, 'kind' | 'ref'>[]>();

  /** Memory is bounded by what exists: objects that are no longer decided about are forgotten. */
  const remember = (name: string, decision: NamespaceDecision | undefined): void => {
    const objects = (decision?.objects ?? []).map(({ kind, ref }) => ({ kind, ref }));
    const still = new Set(objects.map(({ kind, ref }) => `${kind}/${ref.name}`));
    for (const item of known.get(name) ?? []) {
      if (!still.has(`${item.kind}/${item.ref.name}`)) forgetObject(item, apply);
    }
    if (objects.length === 0) known.delete(name);
    else known.set(name, objects);
  };

  const writeLabel = async (decision: NamespaceDecision, fighting: boolean, signal: AbortSignal): Promise<void> => {
    const namespace = namespaceOf(decision.namespace);
    if (namespace === undefined) return;
    const manages = decision.objects.some(({ want }) => want !== undefined);
    const labelled = isRoutingLabelled(namespace);
    await writeRoutingLabel(namespace, wantsRoutingLabel({ keep, manages, fighting, labelled }), label, signal);
  };

  return {
    async reconcile(name, signal) {
      const namespace = namespaceOf(name);
      const decision = namespace === undefined ? undefined : decide(name);
      remember(name, decision);
      onDecided(name, decision);
      if (namespace === undefined || decision === undefined) {
        reporter.forget(name);
        if (namespace === undefined) label.namespaces.forget(name);
        else if (isOwned(name)) await writeRoutingLabel(namespace, false, label, signal);
        return DONE;
      }
      // What is being deleted is its owner's to take down; a write could only get in the way.
      if (namespace.metadata?.deletionTimestamp !== undefined) return DONE;
      const { written, retryAfterMs, fighting, error } = await applyObjects(decision.objects, apply, signal);
      await writeLabel(decision, fighting.length > 0, signal);
      reporter.report(decision, written, fighting);
      if (error !== undefined) throw error;
      return retryAfterMs === undefined ? DONE : { kind: 'requeue', afterMs: retryAfterMs };
    },
  };
};
