// The settings-reconciler: caches and version in every replica, controllers in the one that leads.
import type { EndpointSlice } from '../../pkg/apis/core.ts';
import { COMMANDS } from '../../pkg/apis/names.ts';
import { createEffectivenessController } from '../../pkg/controllers/effectiveness/controller.ts';
import { createEvacuation } from '../../pkg/controllers/evacuation/controller.ts';
import { createExtensionController } from '../../pkg/controllers/extension/controller.ts';
import { runHeartbeat } from '../../pkg/controllers/heartbeat/heartbeat.ts';
import { createHintControllers } from '../../pkg/controllers/hint-repair/controller.ts';
import { createRouterEvidence } from '../../pkg/controllers/routers/evidence.ts';
import { openSettingsCaches } from '../../pkg/controllers/settings/caches.ts';
import { createContext } from '../../pkg/controllers/settings/context.ts';
import { createSettingsController } from '../../pkg/controllers/settings/controller.ts';
import { createDecider } from '../../pkg/controllers/settings/decider.ts';
import { extensionClassesOf } from '../../pkg/controllers/settings/homes.ts';
import { ownersIn } from '../../pkg/controllers/settings/ownership.ts';
import type { EnabledSettings } from '../../pkg/controllers/settings/types.ts';
import { followVersion } from '../../pkg/controllers/settings/version.ts';
import { createClusterLock, soleInstallation } from '../../pkg/installation/cluster-lock.ts';
import { createLeaseWatch } from '../../pkg/kubernetes/lease-liveness.ts';
import { createManager } from '../../pkg/kubernetes/manager.ts';
import { createTable } from '../../pkg/kubernetes/table.ts';
import { InvalidVersionError, UnsupportedVersionError } from '../../pkg/routing/version.ts';
import { isUsageError, runController } from '../shared/run-controller.ts';
import { candidateOf } from '../shared/session.ts';
import { dryRun, runCleanup } from './one-shot.ts';
import { parseFlags } from './options.ts';
import type { Flags } from './options.ts';
import { openSettingsSession } from './session.ts';
import type { Session } from './session.ts';

/** A flip of the setting records one event a namespace at once. */
const EVENT_QUEUE = 10_000;

/** Resolves after a clean stop; rejects when leadership is lost or a port cannot be opened. */
export const serve = async (session: Session, signal: AbortSignal): Promise<void> => {
  const { config, gardenClient, namespace, home, clock, random, logger } = session;
  const { modes, heartbeat } = config;
  const component = COMMANDS.settingsReconciler;
  const manager = createManager({ ...candidateOf(session), ...session, component, eventQueue: EVENT_QUEUE });
  const { client, events, metrics, cache } = manager;
  const common = { config, client, events, metrics, clock, random, logger, namespace };

  // In every replica.
  const caches = openSettingsCaches(cache, { gardenClient, modes, extensions: config.extensions.enabled });
  const version = followVersion({ ...session, caches });
  manager.inEveryReplica(version.run);
  manager.beforeLeading(version.begin);
  manager.onCacheFailure(version.poke);
  const routers = createRouterEvidence(common);
  manager.inEveryReplica(routers.run);
  manager.beforeLeading(routers.read);

  // Settings, and whether they have effect.
  const context = createContext(caches, version, routers);
  const decide = createDecider({ caches, config, context });
  const enabled = createTable<EnabledSettings>();
  const decided = { ...common, caches, context, decide, enabled, routers };
  manager.controller('settings', createSettingsController({ ...decided, version }));
  const effectiveness = createEffectivenessController(decided);
  manager.controller('effectiveness', effectiveness.spec);
  manager.controller('extension', createExtensionController({ ...decided, effects: effectiveness.effects }));

  // Admission, and the hints that depend on it.
  const { lease } = config.flowController;
  const planner = createLeaseWatch({ ...common, lease: { ...lease, namespace: lease.namespace ?? namespace } });
  manager.whileLeading(planner.run);
  const { claim } = config.installation;
  // The webhook takes it; the leader goes by it.
  const lock =
    claim === undefined ? soleInstallation() : createClusterLock({ ...common, lease: claim, installation: namespace });
  manager.whileLeading(lock.run);
  const isHeld = (): boolean => lock.known() && lock.held();
  const evacuation = createEvacuation({
    ...common,
    cache,
    caches,
    routers,
    isHeld,
  });
  manager.controller('evacuation', evacuation.objects);
  manager.controller('evacuated-services', evacuation.services);
  manager.whileLeading(evacuation.run);
  const ownerOf = ownersIn(caches, config);
  const isOwned = ({ metadata }: EndpointSlice): boolean => ownerOf(metadata?.namespace ?? '') !== undefined;
  const hints = createHintControllers({ ...common, caches, planner, isHeld, isOwned });
  for (const [name, spec] of Object.entries(hints)) manager.controller(name, spec);

  if (heartbeat.enabled ?? extensionClassesOf(modes).length > 0) {
    manager.whileLeading((leading) => runHeartbeat({ ...heartbeat, ...common, namespace: home }, leading));
  }
  logger.info('starting', { modes: Object.keys(modes), server: session.client.server });
  await manager.run(signal);
};

const isUsage = (error: unknown): error is Error =>
  isUsageError(error) || error instanceof InvalidVersionError || error instanceof UnsupportedVersionError;

/** Runs the command with these arguments; resolves with its exit code. */
export const runCommand = (args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> =>
  runController<Flags, Session>({
    parsed: parseFlags(args),
    open: (flags) => openSettingsSession(flags, env),
    isUsage,
    ways: { serve, dryRun, cleanup: runCleanup },
    failure: 'the settings reconciler failed',
    async close({ client, gardenClient }) {
      await client.close();
      await gardenClient?.close();
    },
  });
