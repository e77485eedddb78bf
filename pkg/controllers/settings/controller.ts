// Keeps the settings of every namespace in line with its source, and releases those that no mode owns any more.
// Metrics of the settings: decisions by reason, values of others, fights, and writes by cause.
import type { SettingsReconcilerConfiguration } from '../../apis/config/settings-reconciler.ts';
import { limitLog } from '../../kubernetes/rate-limiter.ts';
import type { ControllerSpec } from '../../kubernetes/manager.ts';
import { createRewriteGuard } from '../../kubernetes/rewrite-guard.ts';
import { type Table, type Watch, signals } from '../../kubernetes/watches.ts';
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
import { settingsWatches } from './watches.ts';

/** Gauges are computed when they are scraped, so that nothing has to be kept in step. */
export const showSettings = (
  metrics: Metrics,
  reports: Pick<Reporter, 'counts' | 'foreignValues' | 'fights'>,
): void => {
  metrics.gauge({
    name: 'settings_objects',
    help: 'Services and Etcds by the mode that decides about them and by decision: Enabled, or the reason why not.',
    labels: ['owner', 'reason'],
    collect(gauge) {
      gauge.reset();
      for (const { owner, reason, objects: count } of reports.counts()) gauge.set({ owner, reason }, count);
    },
  });
  metrics.gauge({
    name: 'settings_foreign_values',
    help: 'Topology settings of other writers that prevent zone-local routing.',
    collect: (gauge) => gauge.set(reports.foreignValues()),
  });
  metrics.gauge({
    name: 'settings_fights',
    help: 'Namespaces whose settings another writer overwrites repeatedly.',
    collect: (gauge) => gauge.set(reports.fights()),
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
  showSettings(metrics, reporter);
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
  const owned = (owners?: readonly Owner[]): string[] =>
    namespaceNames(caches).filter((name) => {
      const owner = ownerOfName(name);
      return owner !== undefined && (owners === undefined || owners.includes(owner));
    });
  const starting: Watch = signals((enqueue) => {
    reporter.adopt(namespaceNames(caches));
    for (const source of [version, routers]) source.onChange(() => owned().forEach((name) => enqueue(name)));
  });
  return {
    watches: [starting, ...settingsWatches({ caches, owned })],
    reconcile: (namespace, signal) => reconciler.reconcile(namespace, signal),
    concurrency: CONCURRENCY,
  };
};
