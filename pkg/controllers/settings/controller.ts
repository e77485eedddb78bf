// Keeps the settings of every namespace in line with its source, and releases those that no mode owns any more.
import type { SettingsReconcilerConfiguration } from '../../apis/config/settings-reconciler.ts';
import { limitLog } from '../../kubernetes/log-limit.ts';
import type { ControllerSpec } from '../../kubernetes/manager.ts';
import { createRewriteGuard } from '../../kubernetes/rewrite-guard.ts';
import type { Table } from '../../kubernetes/table.ts';
import type { Client, Clock, EventRecorder } from '../../kubernetes/types.ts';
import { signals } from '../../kubernetes/watches.ts';
import type { Watch } from '../../kubernetes/watches.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { Logger } from '../../telemetry/types.ts';
import type { RouterEvidence } from '../routers/evidence.ts';
import { namespaceNames } from './caches.ts';
import type { SettingsCaches } from './caches.ts';
import { createReleaseDecider } from './decider.ts';
import { createWriteCounter, showSettings } from './metrics.ts';
import { ownerOf, ownersIn } from './ownership.ts';
import type { Owner } from './ownership.ts';
import { createSettingsReconciler } from './reconciler.ts';
import { createReporter } from './reporter.ts';
import type { Decider, EnabledSettings, RoutingContext } from './types.ts';
import type { VersionTracker } from './version-tracker.ts';
import { settingsWatches } from './watches.ts';

export interface SettingsControllerOptions {
  readonly config: SettingsReconcilerConfiguration;
  readonly client: Pick<Client, 'patch'>;
  readonly caches: SettingsCaches;
  context(): RoutingContext;
  readonly version: Pick<VersionTracker, 'onChange'>;
  readonly routers: Pick<RouterEvidence, 'onChange'>;
  decide: Decider;
  /** Where is published what is on, by namespace. */
  readonly enabled: Pick<Table<EnabledSettings>, 'set'>;
  readonly metrics: Metrics;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Namespaces worked on at once: enough to keep one connection busy, few enough to be easy on the API server. */
const CONCURRENCY = 4;

/** The key is the name of a namespace. */
export const createSettingsController = (options: SettingsControllerOptions): ControllerSpec => {
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
