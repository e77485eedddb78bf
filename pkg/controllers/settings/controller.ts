// Keeps the settings of every namespace in line with its source, and releases those that no mode owns any more.
// Metrics of the settings: decisions by reason, values of others, fights, and writes by cause.
import type { SettingsReconcilerConfiguration } from '../../apis/config/settings-reconciler.ts';
import { type Node, isSwitching } from '../../apis/core.ts';
import type { KubernetesObject } from '../../apis/meta.ts';
import { LABEL_ZONE } from '../../apis/names.ts';
import { sumBy } from '../../apis/values.ts';
import { type ReadExtension, extensionClassOf } from '../../gardener/extension/select.ts';
import { limitLog } from '../../kubernetes/rate-limiter.ts';
import type { ControllerSpec } from '../../kubernetes/manager.ts';
import { createRewriteGuard } from '../../kubernetes/rewrite-guard.ts';
import {
  type KeysOf,
  type Table,
  type Watch,
  changes,
  hasChanged,
  objects,
  signals,
} from '../../kubernetes/watches.ts';
import type { Client, Clock, EventRecorder } from '../../kubernetes/types.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { RouterEvidence } from '../routers/evidence.ts';
import type { WriteCause } from './apply.ts';
import { type SettingsCaches, namespaceNames } from './caches.ts';
import { createReleaseDecider } from './decider.ts';
import { type Decider, type EnabledSettings, type Owner, type RoutingContext, ownerOf, ownersIn } from './context.ts';
import { createSettingsReconciler } from './reconciler.ts';
import { type Reporter, createReporter } from './reporter.ts';
import type { FollowedVersion } from './version.ts';

/** Gauges are computed when they are scraped, so that nothing has to be kept in step. */
export const showSettings = (metrics: Metrics, known: Reporter['known']): void => {
  metrics.gauge({
    name: 'settings_objects',
    help: 'Services and Etcds by the mode that decides about them and by decision: Enabled, or the reason why not.',
    labels: ['owner', 'reason'],
    collect(gauge) {
      gauge.reset();
      for (const { owner, reasons } of known()) for (const reason of reasons) gauge.inc({ owner, reason });
    },
  });
  metrics.gauge({
    name: 'settings_foreign_values',
    help: 'Topology settings of other writers that prevent zone-local routing.',
    collect: (gauge) => gauge.set(sumBy([...known()], ({ foreign }) => foreign)),
  });
  metrics.gauge({
    name: 'settings_fights',
    help: 'Namespaces whose settings another writer overwrites repeatedly.',
    collect: (gauge) => gauge.set([...known()].filter(({ fighting }) => fighting).length),
  });
};

/** Counts what is written, by cause. */
export const createWriteCounter = (metrics: Metrics): ((cause: WriteCause) => void) => {
  const writes = metrics.counter({
    name: 'settings_writes_total',
    help: 'Writes of Services by cause: a changed decision, repair of what another writer overwrote, or release.',
    labels: ['kind', 'cause'],
  });
  // The label is part of a stable metric; nothing but Services is written.
  return (cause) => writes.inc({ kind: 'Service', cause });
};

/** All namespaces of these owners; of every owner if omitted. */
type Owned = (owners?: readonly Owner[]) => string[];

const onContent =
  <T extends KubernetesObject>(keysOf: (object: T) => Iterable<string>): KeysOf<T> =>
  (object, previous, deleted) =>
    deleted || hasChanged(object, previous) ? keysOf(object) : [];

export const zoneAndKubelet = ({ metadata, status }: Node): string =>
  JSON.stringify([metadata?.labels?.[LABEL_ZONE], status?.conditions, status?.nodeInfo?.kubeletVersion]);

/** What of an Extension decides about Services: not what is written on it all the time. */
const askedBy = (extension: ReadExtension): string => {
  const { metadata, spec, status, reading } = extension;
  const leaves = metadata?.deletionTimestamp !== undefined;
  return JSON.stringify([spec?.type, spec?.class, reading, leaves, status?.lastOperation?.type === 'Migrate']);
};

/** Class shoot is about its own namespace, the others about all of an owner. */
const ofExtensions =
  (owned: Owned): KeysOf<ReadExtension> =>
  (extension, previous, deleted) => {
    if (extension.reading === undefined) return [];
    if (!deleted && previous !== undefined && askedBy(extension) === askedBy(previous)) return [];
    const own = extensionClassOf(extension);
    if (own === 'shoot') return [extension.metadata?.namespace ?? ''];
    if (own === undefined) return [];
    return owned([own === 'seed' ? 'extension-settings' : 'garden-settings']);
  };

/** Which namespaces a change concerns: one for its own objects, all of an owner for what they share. */
export const settingsWatches = (caches: SettingsCaches, owned: Owned): Watch[] => {
  const namespaceOf = ({ metadata }: KubernetesObject): string[] => [metadata?.namespace ?? ''];
  const named = ({ metadata }: KubernetesObject): string[] => [metadata?.name ?? ''];
  return [
    ...objects(caches.namespaces, onContent(named)),
    ...changes(caches.namespaces, (namespace, previous) => (isSwitching(namespace, previous) ? owned() : [])),
    ...changes(caches.services, onContent(namespaceOf)),
    ...changes(caches.etcds, onContent(namespaceOf)),
    // A Cluster is named like its namespace; without another source its Seed counts for extensions too.
    ...changes(
      caches.clusters,
      onContent((cluster) => [
        ...named(cluster),
        ...(caches.liveSeed?.list().length === 1 ? [] : owned(['extension-settings'])),
      ]),
    ),
    ...changes(
      caches.liveSeed,
      onContent(() => owned(['shoot-settings', 'extension-settings'])),
    ),
    ...changes(
      caches.gardens,
      onContent(() => owned(['garden-settings'])),
    ),
    ...changes(caches.extensions, ofExtensions(owned)),
    ...changes(caches.nodes, (node, previous, deleted) =>
      deleted || previous === undefined || zoneAndKubelet(node) !== zoneAndKubelet(previous) ? owned() : [],
    ),
  ];
};

/** Namespaces worked on at once: enough to keep one connection busy, few enough to be easy on the API server. */
const CONCURRENCY = 4;

/** The key is the name of a namespace. */
export const createSettingsController = (options: {
  readonly config: SettingsReconcilerConfiguration;
  readonly client: Pick<Client, 'patch'>;
  readonly caches: SettingsCaches;
  context(): RoutingContext;
  readonly version: Pick<FollowedVersion, 'onChange'>;
  readonly routers: Pick<RouterEvidence, 'onChange'>;
  decide: Decider;
  /** Where is published what is on, by namespace. */
  readonly enabled: Pick<Table<EnabledSettings>, 'set'>;
  readonly metrics: Metrics;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly logger: Logger;
}): ControllerSpec => {
  const { config, client, caches, context, version, routers, metrics, clock, events, logger } = options;
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
  const reconciler = createSettingsReconciler({
    ...options,
    decideRelease: createReleaseDecider({ caches, config, context }),
    isOwned: (namespace) => ownerOf(namespace, config) !== undefined,
    namespace: (name) => caches.namespaces.get({ name }),
    keep: config.keep,
    apply: { client, guard, logger, onWrite: createWriteCounter(metrics) },
    label: { client, value: config.installation.routingLabel },
    reporter,
  });
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
    reconcile: (namespace, signal) => reconciler.reconcile(namespace, signal),
    concurrency: CONCURRENCY,
  };
};
