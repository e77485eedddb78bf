// Keeps the settings of every namespace in line with its source, and releases those that no mode owns any more.
import type { SettingsReconcilerConfiguration } from '../../apis/config/settings-reconciler.ts';
import type { Namespace } from '../../apis/core.ts';
import { defined, keptIn } from '../../apis/values.ts';
import { limitLog } from '../../kubernetes/rate-limiter.ts';
import type { ControllerContext, ControllerSpec } from '../../kubernetes/manager.ts';
import { type RewriteGuard, createRewriteGuard } from '../../kubernetes/rewrite-guard.ts';
import { type Table, type Watch, signals } from '../../kubernetes/watches.ts';
import { DONE, type Result } from '../../kubernetes/types.ts';
import type { RouterEvidence } from '../routers/evidence.ts';
import { type ApplyOptions, NO_LABELS, applyObjects, labelsFor, writeLabels } from './apply.ts';
import { type SettingsCaches, namespaceNames } from './caches.ts';
import { createReleaseDecider } from './decider.ts';
import { isRoutingLabelled, ownerOf, ownersIn } from './context.ts';
import type { Decider, EnabledSettings, NamespaceDecision, RoutingContext } from './context.ts';
import { rowKeyOf } from './decide/objects.ts';
import { createReporter, createWriteCounter, showSettings } from './reporter.ts';
import { type Owned, settingsWatches } from './watches.ts';
import type { followVersion } from './version.ts';

/** Labels of namespaces come back within one reconcile of Gardener's; to revert settings and set them again would move all traffic twice. */
const RELEASE_AFTER_MS = 300_000;

const enabledOf = ({ regarding, objects }: NamespaceDecision): EnabledSettings | undefined => {
  const on = objects.filter(({ want }) => want !== undefined);
  return on.length === 0 ? undefined : { regarding, objects: on.map(({ kind, ref, want }) => ({ kind, ref, want })) };
};

/** What was decided about, by namespace. Memory is bounded by what exists: objects that are gone are forgotten. */
const createMemory = (guard: RewriteGuard) => {
  const known = new Map<string, ReadonlySet<string>>();
  return (name: string, decision: NamespaceDecision | undefined): void => {
    const rows = new Set(decision?.objects.map(rowKeyOf));
    for (const row of known.get(name) ?? []) if (!rows.has(row)) guard.forget(row);
    if (rows.size === 0) known.delete(name);
    else known.set(name, rows);
  };
};

/** Namespaces worked on at once: enough to keep one connection busy, few enough to be easy on the API server. */
const CONCURRENCY = 4;

/** The key is the name of a namespace. */
export const createSettingsController = (
  options: ControllerContext & {
    readonly config: SettingsReconcilerConfiguration;
    readonly caches: SettingsCaches;
    context(): RoutingContext;
    readonly version: Pick<ReturnType<typeof followVersion>, 'onChange'>;
    readonly routers: Pick<RouterEvidence, 'onChange'>;
    decide: Decider;
    /** Where is published what is on, by namespace. */
    readonly enabled: Pick<Table<EnabledSettings>, 'set'>;
  },
): ControllerSpec => {
  const { config, client, caches, context, version, routers, decide, metrics, clock, events, logger } = options;
  // Who owns a Service may change its labels as often as they like.
  const reporter = createReporter({
    logger: limitLog({ logger, clock, about: ({ namespace, name }) => `${String(namespace)}/${String(name)}` }),
    events,
  });
  showSettings(metrics, reporter.known);
  const guard = createRewriteGuard({
    clock,
    delayMs: () => config.drift.minIntervalSeconds * 1_000,
    fightAfter: config.drift.fightAfterRepairs,
    windowMs: config.drift.fightWindowSeconds * 1_000,
  });
  const apply: ApplyOptions = { client, guard, logger, onWrite: createWriteCounter(metrics) };
  const { routingLabel: value } = config.installation;
  const decideRelease = createReleaseDecider({ caches, config, context });
  const remember = createMemory(guard);
  /** Since when this process sees a namespace without owner, monotonic milliseconds. */
  const ownerless = new Map<string, number>();

  const wantedLabels = (decision: NamespaceDecision, namespace: Namespace, fighting: boolean) =>
    labelsFor(decision, { keep: config.keep, fighting, labelled: isRoutingLabelled(namespace, value), value });

  /** Before any value: an owner that writes in between would remove it, and it is repaired a minute later only. Removes none. */
  const addLabels = async (decision: NamespaceDecision, signal: AbortSignal): Promise<Namespace | undefined> => {
    const namespace = caches.namespaces.get({ name: decision.namespace });
    if (namespace === undefined) return undefined;
    const wanted = wantedLabels(decision, namespace, false);
    if (wanted === undefined) return namespace;
    return writeLabels(namespace, defined(wanted), client, signal);
  };

  const carryOut = async (decision: NamespaceDecision, signal: AbortSignal): Promise<Result> => {
    const namespace = await addLabels(decision, signal);
    const { written, retryAfterMs, fighting, error } = await applyObjects(decision.objects, apply, signal);
    // A released namespace loses its label last: until then the next leader sees that something is left to do.
    const releasing = decision.owner === 'none' && (error !== undefined || retryAfterMs !== undefined);
    if (!releasing && namespace !== undefined) {
      const wanted = wantedLabels(decision, namespace, fighting.length > 0);
      if (wanted !== undefined) await writeLabels(namespace, wanted, client, signal);
    }
    reporter.report(decision, written, fighting);
    if (error !== undefined) throw error;
    return retryAfterMs === undefined ? DONE : { kind: 'requeue', afterMs: retryAfterMs };
  };

  const release = async (decision: NamespaceDecision, signal: AbortSignal): Promise<Result> => {
    const { namespace } = decision;
    const since = keptIn(ownerless, namespace, () => clock.monotonic());
    const afterMs = since + RELEASE_AFTER_MS - clock.monotonic();
    if (afterMs > 0) return { kind: 'requeue', afterMs };
    return carryOut(decision, signal);
  };

  const ownerOfName = ownersIn(caches, config);
  const owned: Owned = (owners) =>
    namespaceNames(caches).filter((name) => {
      const owner = ownerOfName(name);
      return owner !== undefined && (owners === undefined || owners.includes(owner));
    });
  const starting: Watch = signals((enqueue) => {
    reporter.adopt(namespaceNames(caches));
    for (const source of [version, routers]) source.onChange(() => owned().forEach((name) => enqueue(name)));
  });
  return {
    watches: [starting, ...settingsWatches(caches, owned)],
    async reconcile(name, signal) {
      const namespace = caches.namespaces.get({ name });
      const decision = namespace === undefined ? undefined : decide(name);
      options.enabled.set(name, decision === undefined ? undefined : enabledOf(decision));
      // What is being deleted is its owner's to take down; a write could only get in the way.
      const leave = namespace === undefined || namespace.metadata?.deletionTimestamp !== undefined;
      const released = decision === undefined && !leave ? decideRelease(name) : undefined;
      remember(name, decision ?? released);
      if (released !== undefined) return release(released, signal);
      ownerless.delete(name);
      if (decision !== undefined) return leave ? DONE : carryOut(decision, signal);
      reporter.forget(name);
      if (namespace && ownerOf(namespace, config)) await writeLabels(namespace, NO_LABELS, client, signal);
      return DONE;
    },
    concurrency: CONCURRENCY,
  };
};
