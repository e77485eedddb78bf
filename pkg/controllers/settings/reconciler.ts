// SPDX-License-Identifier: Apache-2.0
// The turn that all settings reconcilers share: decide a namespace from the caches, write what differs, tell what changed.
import type { SettingsReconcilerConfiguration } from '../../apis/config/settings-reconciler.ts';
import type { Namespace } from '../../apis/core.ts';
import type { Clock, Reconciler, Result } from '../../kubernetes/types.ts';
import { applyObjects, forgetObject } from './apply.ts';
import type { ApplyOptions } from './apply.ts';
import type { Managed } from './release.ts';
import type { Reporter } from './reporter.ts';
import { isRoutingLabelled, labelsFor, NO_LABELS, writeLabels } from './routing-label.ts';
import type { LabelWriter } from './routing-label.ts';
import type { Decider, NamespaceDecision } from './types.ts';

export interface SettingsReconcilerOptions {
  decide: Decider;
  /** Whether the namespace is ours: nothing is written in others, except to take back what this process managed there. */
  isOwned(name: string): boolean;
  /** Plans that taking back. */
  release(name: string, managed: Managed): NamespaceDecision;
  /** How long a namespace may be without owner before its settings are taken back, milliseconds. Default 5 minutes. */
  releaseAfterMs?: number;
  clock: Pick<Clock, 'monotonic'>;
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

/** Labels of namespaces come back within one reconcile of Gardener's; taking settings back would move all traffic twice. */
const RELEASE_AFTER_MS = 300_000;

/** Something there shall have settings. */
const isEnabled = ({ objects }: NamespaceDecision): boolean => objects.some(({ want }) => want !== undefined);

/** What was decided about, by namespace. Memory is bounded by what exists: objects that are gone are forgotten. */
const createMemory = (apply: ApplyOptions) => {
  const known = new Map<string, Managed>();
  return {
    get: (name: string): Managed | undefined => known.get(name),
    keep(name: string, decision: NamespaceDecision | undefined): void {
      const objects = (decision?.objects ?? []).map(({ kind, ref }) => ({ kind, ref }));
      const still = new Set(objects.map(({ kind, ref }) => `${kind}/${ref.name}`));
      for (const item of known.get(name)?.objects ?? []) {
        if (!still.has(`${item.kind}/${item.ref.name}`)) forgetObject(item, apply);
      }
      if (decision === undefined || objects.length === 0) known.delete(name);
      else known.set(name, { owner: decision.owner, objects, enabled: isEnabled(decision) });
    },
  };
};

/** Keeps the settings of one namespace (the key) in line with its source. */
export const createSettingsReconciler = (options: SettingsReconcilerOptions): Reconciler => {
  const { decide, isOwned, namespaceOf, keep, apply, label, reporter, onDecided, clock } = options;
  const memory = createMemory(apply);
  /** Since when a namespace that was managed has no owner, monotonic milliseconds. */
  const ownerless = new Map<string, number>();

  const forget = (name: string): void => {
    memory.keep(name, undefined);
    ownerless.delete(name);
    reporter.forget(name);
  };

  const writeLabel = async (decision: NamespaceDecision, fighting: boolean, signal: AbortSignal): Promise<void> => {
    const namespace = namespaceOf(decision.namespace);
    if (namespace === undefined) return;
    const wanted = labelsFor(decision, { keep, fighting, labelled: isRoutingLabelled(namespace, label.value) });
    if (wanted !== undefined) await writeLabels(namespace, wanted, label, signal);
  };

  const carryOut = async (decision: NamespaceDecision, signal: AbortSignal): Promise<Result> => {
    const { written, retryAfterMs, fighting, error } = await applyObjects(decision.objects, apply, signal);
    await writeLabel(decision, fighting.length > 0, signal);
    reporter.report(decision, written, fighting);
    if (error !== undefined) throw error;
    return retryAfterMs === undefined ? DONE : { kind: 'requeue', afterMs: retryAfterMs };
  };

  const release = async (name: string, managed: Managed, signal: AbortSignal): Promise<Result> => {
    const since = ownerless.get(name) ?? clock.monotonic();
    ownerless.set(name, since);
    const afterMs = since + (options.releaseAfterMs ?? RELEASE_AFTER_MS) - clock.monotonic();
    if (afterMs > 0) return { kind: 'requeue', afterMs };
    const result = await carryOut(options.release(name, managed), signal);
    if (result.kind === 'done') forget(name);
    return result;
  };

  return {
    async reconcile(name, signal) {
      const namespace = namespaceOf(name);
      const decision = namespace === undefined ? undefined : decide(name);
      onDecided(name, decision);
      // What is being deleted is its owner's to take down; a write could only get in the way.
      const leave = namespace === undefined || namespace.metadata?.deletionTimestamp !== undefined;
      const managed = memory.get(name);
      if (decision === undefined && !leave && managed?.enabled === true && !isOwned(name)) {
        return release(name, managed, signal);
      }
      ownerless.delete(name);
      memory.keep(name, decision);
      if (decision === undefined) {
        reporter.forget(name);
        if (namespace === undefined) label.namespaces.forget(name);
        else if (isOwned(name)) await writeLabels(namespace, NO_LABELS, label, signal);
        return DONE;
      }
      return leave ? DONE : carryOut(decision, signal);
    },
  };
};
