// The reconcile of one namespace: decide from the caches, write what differs, report what changed; release what no mode owns any more.
import type { SettingsReconcilerConfiguration } from '../../apis/config/settings-reconciler.ts';
import type { Namespace } from '../../apis/core.ts';
import type { Table } from '../../kubernetes/watches.ts';
import type { Clock, Reconciler, Result } from '../../kubernetes/types.ts';
import { NO_LABELS, applyObjects, forgetObject, labelsFor, withPresent, writeLabels } from './apply.ts';
import type { ApplyOptions, LabelWriter } from './apply.ts';
import type { Reporter } from './reporter.ts';
import { isRoutingLabelled } from './context.ts';
import type { Decider, EnabledSettings, NamespaceDecision, ObjectDecision } from './context.ts';

/** Labels of namespaces come back within one reconcile of Gardener's; to revert settings and set them again would move all traffic twice. */
const RELEASE_AFTER_MS = 300_000;

const DONE: Result = { kind: 'done' };

/** What is on there; undefined where nothing is. */
const enabledOf = ({ regarding, objects }: NamespaceDecision): EnabledSettings | undefined => {
  const on = objects.filter(({ want }) => want !== undefined);
  if (on.length === 0) return undefined;
  return {
    regarding,
    objects: on.map(({ kind, ref, want, configured = false }) => ({ kind, ref, want, configured })),
  };
};

type Decided = Pick<ObjectDecision, 'kind' | 'ref'>;

/** What was decided about, by namespace. Memory is bounded by what exists: objects that are gone are forgotten. */
const createMemory = (apply: ApplyOptions) => {
  const known = new Map<string, readonly Decided[]>();
  const titleOf = ({ kind, ref }: Decided): string => `${kind}/${ref.name}`;
  return {
    keep(name: string, decision: NamespaceDecision | undefined): void {
      const objects = (decision?.objects ?? []).map(({ kind, ref }) => ({ kind, ref }));
      const still = new Set(objects.map(titleOf));
      for (const item of known.get(name) ?? []) if (!still.has(titleOf(item))) forgetObject(item, apply);
      if (objects.length === 0) known.delete(name);
      else known.set(name, objects);
    },
  };
};

/** The key is the name of a namespace. */
export const createSettingsReconciler = (options: {
  decide: Decider;
  /** What is to be reverted in a namespace without owner; undefined: nothing there is to be reverted. */
  decideRelease: Decider;
  /** Whether some mode owns the namespace. */
  isOwned(namespace: Namespace): boolean;
  /** How long a namespace may be without owner before its settings are released, milliseconds. Default 5 minutes. */
  releaseAfterMs?: number;
  clock: Pick<Clock, 'monotonic'>;
  /** As last seen; undefined once it is gone. */
  namespace(name: string): Namespace | undefined;
  keep: SettingsReconcilerConfiguration['keep'];
  apply: ApplyOptions;
  label: LabelWriter;
  reporter: Reporter;
  /** Where is published what is on, by namespace. */
  enabled: Pick<Table<EnabledSettings>, 'set'>;
}): Reconciler => {
  const { decide, decideRelease, isOwned, keep, apply, label, reporter, clock } = options;
  const { releaseAfterMs = RELEASE_AFTER_MS } = options;
  const memory = createMemory(apply);
  /** Since when this process sees a namespace without owner, monotonic milliseconds. */
  const ownerless = new Map<string, number>();

  const wantedLabels = (decision: NamespaceDecision, namespace: Namespace, fighting: boolean) =>
    labelsFor(decision, { keep, fighting, labelled: isRoutingLabelled(namespace, label.value) });

  /** Before any value: an owner that writes in between would remove it, and it is repaired a minute later only. */
  const addLabels = async (decision: NamespaceDecision, signal: AbortSignal): Promise<Namespace | undefined> => {
    const namespace = options.namespace(decision.namespace);
    if (namespace === undefined) return undefined;
    const wanted = wantedLabels(decision, namespace, false);
    if (wanted === undefined) return namespace;
    return writeLabels(namespace, withPresent(namespace, wanted, label.value), label, signal);
  };

  const carryOut = async (decision: NamespaceDecision, signal: AbortSignal): Promise<Result> => {
    const namespace = await addLabels(decision, signal);
    const { written, retryAfterMs, fighting, error } = await applyObjects(decision.objects, apply, signal);
    // A released namespace loses its label last: until then the next leader sees that something is left to do.
    const releasing = decision.owner === 'none' && (error !== undefined || retryAfterMs !== undefined);
    if (!releasing && namespace !== undefined) {
      const wanted = wantedLabels(decision, namespace, fighting.length > 0);
      if (wanted !== undefined) await writeLabels(namespace, wanted, label, signal);
    }
    reporter.report(decision, written, fighting);
    if (error !== undefined) throw error;
    return retryAfterMs === undefined ? DONE : { kind: 'requeue', afterMs: retryAfterMs };
  };

  const release = async (decision: NamespaceDecision, signal: AbortSignal): Promise<Result> => {
    const { namespace } = decision;
    const since = ownerless.get(namespace) ?? clock.monotonic();
    ownerless.set(namespace, since);
    const afterMs = since + releaseAfterMs - clock.monotonic();
    if (afterMs > 0) return { kind: 'requeue', afterMs };
    const result = await carryOut(decision, signal);
    if (result.kind === 'done') forget(decision);
    return result;
  };

  const forget = ({ namespace, objects }: NamespaceDecision): void => {
    for (const item of objects) forgetObject(item, apply);
    ownerless.delete(namespace);
    reporter.forget(namespace);
  };

  return {
    async reconcile(name, signal) {
      const namespace = options.namespace(name);
      const decision = namespace === undefined ? undefined : decide(name);
      options.enabled.set(name, decision === undefined ? undefined : enabledOf(decision));
      memory.keep(name, decision);
      // What is being deleted is its owner's to take down; a write could only get in the way.
      const leave = namespace === undefined || namespace.metadata?.deletionTimestamp !== undefined;
      const released = decision === undefined && !leave ? decideRelease(name) : undefined;
      if (released !== undefined) return release(released, signal);
      ownerless.delete(name);
      if (decision !== undefined) return leave ? DONE : carryOut(decision, signal);
      reporter.forget(name);
      if (namespace !== undefined && isOwned(namespace)) await writeLabels(namespace, NO_LABELS, label, signal);
      return DONE;
    },
  };
};
