// The settings-reconciler: caches and version in every replica, controllers in the one that leads; and the two ways of running that end
// by themselves, --dry-run and --cleanup.
import { readFile } from 'node:fs/promises';
import type { SettingsReconcilerConfiguration } from '../../pkg/apis/config/settings-reconciler.ts';
import type { EndpointSlice, Namespace } from '../../pkg/apis/core.ts';
import { COMMANDS } from '../../pkg/apis/names.ts';
import { createEffectivenessController } from '../../pkg/controllers/effectiveness/controller.ts';
import { returnSlices } from '../../pkg/controllers/evacuation/cleanup.ts';
import { createEvacuation } from '../../pkg/controllers/evacuation/controller.ts';
import { createExtensionController } from '../../pkg/controllers/extension/controller.ts';
import { runHeartbeat } from '../../pkg/controllers/heartbeat/heartbeat.ts';
import { createHintControllers } from '../../pkg/controllers/hint-repair/controller.ts';
import { createRouterEvidence } from '../../pkg/controllers/routers/evidence.ts';
import { openSettingsCaches } from '../../pkg/controllers/settings/caches.ts';
import { cleanUpSettings, releaseExtensions } from '../../pkg/controllers/settings/cleanup.ts';
import { createContext, isOwnedElsewhere, ownersIn } from '../../pkg/controllers/settings/context.ts';
import type { EnabledSettings } from '../../pkg/controllers/settings/context.ts';
import { createSettingsController } from '../../pkg/controllers/settings/controller.ts';
import { createDecider, extensionClassesOf } from '../../pkg/controllers/settings/decider.ts';
import { followVersion } from '../../pkg/controllers/settings/version.ts';
import { createClusterLock, soleInstallation } from '../../pkg/installation/cluster-lock.ts';
import { createCaches } from '../../pkg/kubernetes/caches.ts';
import { createClient } from '../../pkg/kubernetes/client.ts';
import { loadKubeConfig } from '../../pkg/kubernetes/kubeconfig.ts';
import { workOnceAsLeader } from '../../pkg/kubernetes/leader-election.ts';
import { createLeaseWatch } from '../../pkg/kubernetes/lease.ts';
import { createManager } from '../../pkg/kubernetes/manager.ts';
import { createTable } from '../../pkg/kubernetes/watches.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { parseKubernetesVersion } from '../../pkg/routing/version.ts';
import { type OutputFormat, readOnly, runController } from '../shared/run-controller.ts';
import { type ControllerSession, candidateOf, openSession } from '../shared/session.ts';
import { userAgentOf } from '../shared/run.ts';
import { collectDecisions, renderReport, reportOf } from './dry-run.ts';
import { type Flags, configurationOf, parseFlags } from './options.ts';

export interface Session extends ControllerSession<SettingsReconcilerConfiguration> {
  /** Of the virtual garden, if its kubeconfig is given; reads only. */
  gardenClient: Client | undefined;
}

const command = COMMANDS.settingsReconciler;

const readConfiguration = async (flags: Flags, env: NodeJS.ProcessEnv): Promise<SettingsReconcilerConfiguration> => {
  const config = configurationOf(flags, await readFile(flags.config, 'utf8'), env);
  const { override } = config.kubernetesVersion;
  if (override !== undefined) parseKubernetesVersion(override);
  return config;
};

const openGarden = ({ modes }: SettingsReconcilerConfiguration): Client | undefined => {
  const kubeconfig = modes.seed?.gardenKubeconfig;
  if (kubeconfig === undefined) return undefined;
  const client = createClient({ config: loadKubeConfig({ kubeconfig }), userAgent: userAgentOf(command) });
  return readOnly(client, 'the virtual garden is only read');
};

/** @throws ConfigError, InvalidVersionError, UnsupportedVersionError or KubeConfigError, and what reading the file throws. */
export const openSettingsSession = async (flags: Flags, env: NodeJS.ProcessEnv): Promise<Session> => {
  const config = await readConfiguration(flags, env);
  const session = openSession({ command, config, kubeconfig: flags.kubeconfig, env });
  return { ...session, gardenClient: openGarden(config) };
};

/** Prints what would be changed; sends nothing but reads. */
export const dryRun = async (session: Session, format: OutputFormat, signal: AbortSignal): Promise<void> => {
  const { config, gardenClient } = session;
  const set = createCaches(session);
  const { modes, extensions } = config;
  const caches = openSettingsCaches(set.open, { gardenClient, modes, extensions: extensions.enabled });
  const version = followVersion(session);
  const stop = new AbortController();
  const running = set.run(AbortSignal.any([signal, stop.signal]));
  try {
    await version.read(signal);
    await set.settled(signal);
    const routers = createRouterEvidence(session);
    await routers.read(signal);
    signal.throwIfAborted();
    const report = reportOf(collectDecisions(caches, config, version.current, routers), version.current);
    session.print(renderReport(report, format));
  } finally {
    stop.abort();
    await running;
  }
};

const describe = ({ services, namespaces, slices }: Awaited<ReturnType<typeof cleanUpSettings>>): string =>
  `settings removed from ${services} Service(s), marks from ${namespaces} Namespace(s) and ${slices} EndpointSlice(s)\n`;

/** Takes everything back; holds the Lease meanwhile, so that no replica sets again what is reverted. */
export const runCleanup = async (session: Session, signal: AbortSignal): Promise<void> => {
  const { config, client, clock, logger } = session;
  const work = async (workSignal: AbortSignal): Promise<void> => {
    // Sole installation: clean up everything, including what earlier configurations applied.
    const shared = config.installation.claim !== undefined;
    const leaves = (of: Namespace): boolean => shared && isOwnedElsewhere(of, config);
    const settings = await cleanUpSettings({ client, leaves, clock, logger }, workSignal);
    const { returned, errors } = await returnSlices({ client }, workSignal);
    if (returned > 0) session.print(`${returned} evacuated EndpointSlice(s) returned\n`);
    if (errors.length > 0) throw errors[0];
    session.print(describe(settings));
    for (const service of settings.leftToDruid) session.print(`left to etcd-druid's next write: Service ${service}\n`);
    for (const left of settings.left) session.print(`left to another installation: namespace ${left}\n`);
    // Whatever was followed before: this project's finalizers must not outlive it.
    const released = await releaseExtensions({ client, classes: extensionClassesOf(config.modes), logger }, workSignal);
    if (released > 0) session.print(`${released} Extension(s) released\n`);
  };
  await workOnceAsLeader(candidateOf(session), work, signal);
};

/** A flip of the setting records one event a namespace at once. */
const EVENT_QUEUE = 10_000;

/** Resolves after a clean stop; rejects when leadership is lost or a port cannot be opened. */
export const serve = async (session: Session, signal: AbortSignal): Promise<void> => {
  const { config, gardenClient, namespace, ownNamespace, clock, random, logger } = session;
  const { modes, heartbeat } = config;
  const component = COMMANDS.settingsReconciler;
  const manager = createManager({ ...candidateOf(session), ...session, component, eventQueue: EVENT_QUEUE });
  const { client, events, metrics, cache } = manager;
  const common = { config, client, events, metrics, clock, random, logger, namespace };

  // In every replica.
  const caches = openSettingsCaches(cache, { gardenClient, modes, extensions: config.extensions.enabled });
  const version = followVersion(session);
  manager.inEveryReplica(version.run);
  manager.beforeLeading(version.read);
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
  const lock = claim ? createClusterLock({ ...common, lease: claim, installation: namespace }) : soleInstallation();
  manager.whileLeading(lock.run);
  const isHeld = (): boolean => lock.known() && lock.held();
  const evacuation = createEvacuation({ ...common, cache, caches, routers, isHeld });
  manager.controller('evacuation', evacuation.objects);
  manager.controller('evacuated-services', evacuation.services);
  manager.whileLeading(evacuation.run);
  const ownerOf = ownersIn(caches, config);
  const isOwned = ({ metadata }: EndpointSlice): boolean => ownerOf(metadata?.namespace ?? '') !== undefined;
  const hints = createHintControllers({ ...common, caches, planner, isHeld, isOwned });
  for (const [name, spec] of Object.entries(hints)) manager.controller(name, spec);

  if (heartbeat.enabled ?? extensionClassesOf(modes).length > 0)
    manager.whileLeading((leading) => runHeartbeat({ ...heartbeat, ...common, namespace: ownNamespace }, leading));
  logger.info('starting', { modes: Object.keys(modes), server: session.client.server });
  await manager.run(signal);
};

/** Runs the command with these arguments; resolves with its exit code. */
export const runCommand = (args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> =>
  runController<Flags, Session>({
    parsed: parseFlags(args),
    open: (flags) => openSettingsSession(flags, env),
    ways: { serve, dryRun, cleanup: runCleanup },
    failure: 'the settings reconciler failed',
    async close({ client, gardenClient }) {
      await client.close();
      await gardenClient?.close();
    },
  });
