// SPDX-License-Identifier: Apache-2.0
// Wires caches, version, deciders and writers into the controllers that run while this process leads.
import type { SettingsReconcilerConfiguration } from '../../pkg/apis/config/settings-reconciler.ts';
import type { EndpointSlice } from '../../pkg/apis/core.ts';
import { COMMANDS, LABEL_ETCD_CLIENTS, LABEL_SERVICE_NAME } from '../../pkg/apis/names.ts';
import { createEffectivenessReport } from '../../pkg/controllers/effectiveness/reconciler.ts';
import { createRouterEvidence } from '../../pkg/controllers/effectiveness/router-evidence.ts';
import type { RouterEvidence } from '../../pkg/controllers/effectiveness/router-evidence.ts';
import type { EffectivenessReport } from '../../pkg/controllers/effectiveness/reconciler.ts';
import { createHintRelease, HINT_RELEASE_KEY, isChosen } from '../../pkg/controllers/hint-repair/etcd-clients.ts';
import type { EtcdClientView } from '../../pkg/controllers/hint-repair/etcd-clients.ts';
import { PLAN_RETIREMENT_KEY } from '../../pkg/controllers/hint-repair/plan-retirement.ts';
import { needsTouch } from '../../pkg/controllers/hint-repair/select.ts';
import { carriedVersion } from '../../pkg/controllers/settings/carried-version.ts';
import { createDriftGuard } from '../../pkg/controllers/settings/drift.ts';
import { slicesOf } from '../../pkg/controllers/settings/landscape.ts';
import type { Landscape } from '../../pkg/controllers/settings/landscape.ts';
import { createSettingsMetrics } from '../../pkg/controllers/settings/metrics.ts';
import type { SettingsMetrics } from '../../pkg/controllers/settings/metrics.ts';
import { ownerOf } from '../../pkg/controllers/settings/ownership.ts';
import type { Owner } from '../../pkg/controllers/settings/ownership.ts';
import { createSettingsReconciler } from '../../pkg/controllers/settings/reconciler.ts';
import { decideRelease } from '../../pkg/controllers/settings/release.ts';
import { createReporter } from '../../pkg/controllers/settings/reporter.ts';
import type { Reporter } from '../../pkg/controllers/settings/reporter.ts';
import { connectTriggers } from '../../pkg/controllers/settings/triggers.ts';
import type { Decider } from '../../pkg/controllers/settings/types.ts';
import { createView } from '../../pkg/controllers/settings/view.ts';
import type { View } from '../../pkg/controllers/settings/view.ts';
import { createController } from '../../pkg/kubernetes/controller.ts';
import { limitLog } from '../../pkg/kubernetes/log-limit.ts';
import type { Client, Clock, EventRecorder, Reconciler, WorkQueue } from '../../pkg/kubernetes/types.ts';
import { createWorkQueue } from '../../pkg/kubernetes/work-queue.ts';
import type { KubernetesVersion } from '../../pkg/routing/types.ts';
import { createControllerMetrics } from '../../pkg/telemetry/controller-metrics.ts';
import type { ControllerMetrics } from '../../pkg/telemetry/controller-metrics.ts';
import type { Metrics } from '../../pkg/telemetry/metrics.ts';
import type { Logger } from '../../pkg/telemetry/types.ts';
import { createAdmission } from './admission.ts';
import { createDecider } from './deciders.ts';
import { createExtensions } from './extensions.ts';
import type { Extensions } from './extensions.ts';
import { createRepair, createRetirement } from './repair.ts';

export interface EngineOptions {
  config: SettingsReconcilerConfiguration;
  client: Client;
  landscape: Landscape;
  version: () => KubernetesVersion | undefined;
  events: EventRecorder;
  metrics: Metrics;
  /** Namespace of this process: what events about the webhook are about. */
  namespace: string;
  /** Namespace of this process: where its heartbeat is. */
  home: string;
  clock: Clock;
  random: () => number;
  logger: Logger;
}

export interface Engine {
  /** Decides every namespace again, for example because the version changed. */
  enqueueAll(owners?: readonly Owner[]): void;
  /** A Service that has settings of ours, to try new ones on. */
  trialSubject(): { namespace: string; name: string } | undefined;
  /** The version whose settings Services carry since an earlier process; undefined where nothing tells. */
  carriedVersion(): KubernetesVersion | undefined;
  /** Counts a list or watch that failed. */
  failed(): void;
  /** Reconciles until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

/** Namespaces worked on at once: enough to keep one connection busy, few enough to be a good citizen. */
const CONCURRENCY = 4;
/** Slices come unhinted for a moment where the EndpointSlice controller mirrors a new label. */
const REPAIR_DELAY_MS = 5_000;
/** API servers see a namespace's new labels by their own watches. */
const LABEL_DELAY_MS = 1_000;
const REPAIR_KEY = 'slices';
const REPAIR_TIMEOUT_MS = 3_600_000;

/** Controllers by name; each has a queue of its own. */
const CONTROLLERS = [
  'settings',
  'effectiveness',
  'extension',
  'hint-repair',
  'hint-release',
  'plan-retirement',
  'admission-policies',
] as const;
type ControllerName = (typeof CONTROLLERS)[number];

/** What the controllers share. */
interface Shared {
  readonly view: View;
  readonly decide: Decider;
  readonly reporter: Reporter;
  readonly queues: Record<ControllerName, WorkQueue>;
  readonly hooks: ControllerMetrics;
  /** Whether some mode owns the namespace. */
  isOwned(namespace: string): boolean;
}

const createShared = ({ config, landscape, version, events, metrics, clock, logger }: EngineOptions): Shared => {
  const view = createView(landscape, version);
  const hooks = createControllerMetrics(metrics);
  const queue = (name: ControllerName): WorkQueue => createWorkQueue({ clock, hooks: hooks.queue(name) });
  return {
    view,
    decide: createDecider(landscape, view, config),
    reporter: createReporter({
      // Whoever owns a Service may change its labels as often as it likes.
      logger: limitLog({ logger, clock, about: ({ namespace, name }) => `${String(namespace)}/${String(name)}` }),
      events,
    }),
    queues: Object.fromEntries(CONTROLLERS.map((name) => [name, queue(name)])) as Shared['queues'],
    hooks,
    isOwned(name) {
      const namespace = view.namespace(name);
      return namespace !== undefined && ownerOf(namespace, config) !== undefined;
    },
  };
};

const createEffectiveness = (
  { landscape, clock, events, logger }: EngineOptions,
  extensions: Pick<Extensions, 'changed'>,
  routers: Pick<RouterEvidence, 'objects'>,
): EffectivenessReport =>
  createEffectivenessReport({
    service: (namespace, name) => landscape.services.get({ namespace, name }),
    slices: (namespace, name) => slicesOf(landscape.slices, namespace, name),
    nodes: () => landscape.nodes.list(),
    routers: () => routers.objects(),
    onChange: (namespace) => extensions.changed(namespace),
    clock,
    events,
    logger,
  });

const createSettings = (
  { config, client, clock, logger }: EngineOptions,
  { view, decide, isOwned, reporter, queues }: Shared,
  figures: SettingsMetrics,
  effectiveness: EffectivenessReport,
  extensions: Pick<Extensions, 'decided'>,
): Reconciler =>
  createSettingsReconciler({
    decide,
    isOwned,
    release: (namespace, managed) =>
      decideRelease({
        namespace,
        managed,
        services: view.services(namespace),
        context: view.context(),
      }),
    clock,
    namespaceOf: (name) => view.namespace(name),
    keep: config.keep,
    apply: {
      client,
      drift: createDriftGuard({
        clock,
        minIntervalMs: config.drift.minIntervalSeconds * 1_000,
        fightAfterRepairs: config.drift.fightAfterRepairs,
        fightWindowMs: config.drift.fightWindowSeconds * 1_000,
      }),
      services: view.recent.services,
      logger,
      onWrite: (cause) => figures.wrote(cause),
    },
    label: { client, namespaces: view.recent.namespaces, value: config.installation.routingLabel },
    reporter,
    onDecided(namespace, decision) {
      effectiveness.decided(namespace, decision);
      queues.effectiveness.add(namespace);
      extensions.decided(namespace, decision);
    },
  });

/** Slices feed the effectiveness report, and the repair when they lack what the webhook should have written. */
const connectSlices = ({ config, landscape }: EngineOptions, { view, queues, isOwned }: Shared): void =>
  landscape.slices.onChange((slice: EndpointSlice, _previous, deleted) => {
    const { namespace = '', labels } = slice.metadata ?? {};
    if (labels?.[LABEL_SERVICE_NAME] === undefined) return;
    if (isOwned(namespace)) queues.effectiveness.add(namespace);
    const chosen = isChosen(slice, view);
    if (!deleted && config.hintRepair.enabled && needsTouch(slice, chosen))
      queues['hint-repair'].addAfter(REPAIR_KEY, REPAIR_DELAY_MS);
  });

/** The label of a namespace decides about slices that have none of their own. */
const connectEtcdClients = ({ config, landscape }: EngineOptions, { queues }: Shared): void =>
  landscape.namespaces.onChange(({ metadata }, previous) => {
    if (metadata?.labels?.[LABEL_ETCD_CLIENTS] === previous?.metadata?.labels?.[LABEL_ETCD_CLIENTS]) return;
    if (config.hintRepair.enabled) queues['hint-repair'].addAfter(REPAIR_KEY, LABEL_DELAY_MS);
    queues['hint-release'].addAfter(HINT_RELEASE_KEY, LABEL_DELAY_MS);
  });

const namesOf = ({ namespaces }: Landscape): string[] => namespaces.list().map(({ metadata }) => metadata?.name ?? '');

export const createEngine = (options: EngineOptions): Engine => {
  const { config, landscape, metrics, clock, logger } = options;
  const shared = createShared(options);
  const { view, decide, reporter, queues, hooks } = shared;
  const extensions = createExtensions({
    ...options,
    ...shared,
    namespace: options.home,
    queue: queues.extension,
    effectiveness: () => effectiveness,
  });
  const routers = createRouterEvidence({
    client: options.client,
    clock,
    logger,
    onChange: () => {
      for (const name of effectiveness.namespaces()) queues.effectiveness.add(name);
    },
  });
  const effectiveness = createEffectiveness(options, extensions, routers);
  const lookAtPlans = (): void => {
    if (config.hintRepair.enabled) queues['plan-retirement'].add(PLAN_RETIREMENT_KEY);
  };
  const admission = createAdmission({ ...options, queue: queues['admission-policies'], onPlanner: lookAtPlans });
  const clientView: EtcdClientView = {
    namespace: (name) => view.namespace(name),
    service: (namespace, name) => landscape.services.get({ namespace, name }),
  };
  const repair = createRepair(options, { isOwned: shared.isOwned, view: clientView }, admission, () => figures);
  const release = createHintRelease({
    client: options.client,
    slices: () => landscape.slices.list().filter(({ metadata }) => shared.isOwned(metadata?.namespace ?? '')),
    view: clientView,
    logger,
  });
  const retirement = createRetirement(options, admission, () => figures);
  const figures: SettingsMetrics = createSettingsMetrics(metrics, {
    decisions: () => reporter.counts(),
    foreignValues: () => reporter.foreignValues(),
    fights: () => reporter.fights(),
    effectiveness: () => effectiveness.counts(),
    services: () => effectiveness.figures(),
    webhookUnavailable: () => repair.unavailable,
    carrier: () => admission.carrier(),
    plannerAlive: () => (admission.planner.known() ? admission.planner.alive() : undefined),
  });
  const settings = createSettings(options, shared, figures, effectiveness, extensions);

  const enqueueAll = (owners?: readonly Owner[]): void => {
    for (const name of namesOf(landscape)) {
      const namespace = view.namespace(name);
      const owner = namespace === undefined ? undefined : ownerOf(namespace, config);
      if (owner !== undefined && (owners === undefined || owners.includes(owner))) queues.settings.add(name);
    }
    for (const name of effectiveness.namespaces()) queues.effectiveness.add(name);
  };
  connectTriggers({ landscape, enqueue: (namespace) => queues.settings.add(namespace), enqueueAll });
  connectSlices(options, shared);
  connectEtcdClients(options, shared);

  const run = (name: ControllerName, reconciler: Reconciler, signal: AbortSignal, more = {}): Promise<void> =>
    createController({
      name,
      reconciler,
      queue: queues[name],
      clock,
      logger,
      hooks: hooks.controller(name),
      ...more,
    }).run(signal);

  return {
    enqueueAll,
    trialSubject() {
      for (const name of namesOf(landscape)) {
        const found = decide(name)?.objects.find(({ kind, want }) => kind === 'Service' && want !== undefined);
        if (found !== undefined) return found.ref;
      }
      return undefined;
    },
    carriedVersion: () =>
      carriedVersion(landscape.services.list().filter(({ metadata }) => shared.isOwned(metadata?.namespace ?? ''))),
    failed: () => figures.failed(),
    async run(signal) {
      reporter.adopt(namesOf(landscape));
      enqueueAll();
      queues['hint-release'].add(HINT_RELEASE_KEY);
      lookAtPlans();
      await Promise.all([
        run('settings', settings, signal, { concurrency: CONCURRENCY }),
        run('effectiveness', effectiveness.reconciler, signal),
        routers.run(signal),
        run('extension', extensions.reconciler, signal),
        extensions.run(signal),
        run('admission-policies', admission.reconciler, signal),
        admission.run(signal),
        // Touching thousands of slices at 20 a second takes its time.
        run('hint-repair', repair.reconciler, signal, { reconcileTimeoutMs: REPAIR_TIMEOUT_MS }),
        run('hint-release', release, signal),
        run('plan-retirement', retirement, signal, { reconcileTimeoutMs: REPAIR_TIMEOUT_MS }),
      ]);
      logger.info('controllers stopped', { command: COMMANDS.settingsReconciler });
    },
  };
};
