// SPDX-License-Identifier: Apache-2.0
// What runs while the settings-reconciler serves: caches and version in every replica, controllers in the one that leads.
import type { EndpointSlice } from '../../pkg/apis/core.ts';
import { COMMANDS } from '../../pkg/apis/names.ts';
import { createAdmission, plannerLeaseOf } from '../../pkg/controllers/admission-policies/controller.ts';
import { createEffectivenessController } from '../../pkg/controllers/effectiveness/controller.ts';
import { createExtensionController } from '../../pkg/controllers/extension/controller.ts';
import { classesOf } from '../../pkg/controllers/extension/homes.ts';
import { runHeartbeat } from '../../pkg/controllers/heartbeat/heartbeat.ts';
import {
  createHintReleaseController,
  createHintRepairController,
  createPlanRetirementController,
} from '../../pkg/controllers/hint-repair/controller.ts';
import { openSettingsCaches } from '../../pkg/controllers/settings/caches.ts';
import { createContext } from '../../pkg/controllers/settings/context.ts';
import { createSettingsController } from '../../pkg/controllers/settings/controller.ts';
import { createDecider } from '../../pkg/controllers/settings/decider.ts';
import { createSettingsCounters, showSettings } from '../../pkg/controllers/settings/metrics.ts';
import { ownersIn } from '../../pkg/controllers/settings/ownership.ts';
import type { EnabledSettings } from '../../pkg/controllers/settings/types.ts';
import { followVersion } from '../../pkg/controllers/settings/version.ts';
import { createLeaseWatch } from '../../pkg/kubernetes/lease-liveness.ts';
import { createManager } from '../../pkg/kubernetes/manager.ts';
import { createTable } from '../../pkg/kubernetes/table.ts';
import { candidateOf } from '../shared/session.ts';
import type { Session } from './session.ts';

/** A flip of the setting records one event a namespace at once. */
const EVENT_QUEUE = 10_000;

/** Resolves after a clean stop; rejects when leadership is lost or a port cannot be opened. */
export const serve = async (session: Session, signal: AbortSignal): Promise<void> => {
  const { config, gardenClient, namespace, home, clock, random, logger } = session;
  const { modes, heartbeat, hintRepair } = config;
  const component = COMMANDS.settingsReconciler;
  const manager = createManager({ ...candidateOf(session), ...session, component, eventQueue: EVENT_QUEUE });
  const { client, events, metrics } = manager;
  const common = { config, client, events, clock, random, logger, namespace };
  const counters = createSettingsCounters(metrics);

  const caches = openSettingsCaches(manager.cache, { gardenClient, modes, extensions: config.extensions.enabled });
  const { version, carried } = followVersion({ ...session, caches });
  manager.inEveryReplica((running) => version.run(running));
  manager.beforeLeading((running) => version.read(running));
  manager.beforeLeading(async () => version.resume(carried()));
  manager.onCacheFailure(() => version.poke());

  const context = createContext(caches, () => version.current);
  const decide = createDecider({ caches, config, context });
  const enabled = createTable<EnabledSettings>();
  const decided = { ...common, caches, context, decide, enabled };

  const settings = createSettingsController({ ...decided, version, onWrite: counters.wrote });
  manager.controller('settings', settings.spec);

  const { effects, routers, spec } = createEffectivenessController(decided);
  manager.controller('effectiveness', spec);
  manager.whileLeading((leading) => routers.run(leading));
  manager.controller('extension', createExtensionController({ ...decided, effects }));

  const planner = createLeaseWatch({ ...common, lease: plannerLeaseOf(session) });
  manager.whileLeading((leading) => planner.run(leading));
  const admission = createAdmission({ ...common, planner, cache: caches.slices });
  manager.controller('admission-policies', admission);
  manager.whileLeading((leading) => admission.run(leading));

  const resyncing = {
    ...common,
    writesPerSecond: hintRepair.writesPerSecond,
    backoffMs: hintRepair.backoffSeconds * 1_000,
    regarding: { apiVersion: 'v1', kind: 'Namespace', name: namespace },
    onTouch: counters.touched,
  };
  const ownerOf = ownersIn(caches, config);
  const isOwned = ({ metadata }: EndpointSlice): boolean => ownerOf(metadata?.namespace ?? '') !== undefined;
  const view = {
    namespace: (name: string) => caches.namespaces.get({ name }),
    service: (of: string, name: string) => caches.services.get({ namespace: of, name }),
  };
  const repair = createHintRepairController({
    ...resyncing,
    caches,
    view,
    // Where admission does not look, a resync would not help.
    slices: () => admission.slices().filter(isOwned),
  });
  const release = { ...common, caches, view, slices: () => caches.slices.list().filter(isOwned) };
  manager.controller('hint-release', createHintReleaseController(release));
  if (hintRepair.enabled) {
    manager.controller('hint-repair', repair);
    const { isHeld, slices } = admission;
    manager.controller('plan-retirement', createPlanRetirementController({ ...resyncing, planner, isHeld, slices }));
  }

  if (heartbeat.enabled ?? classesOf(modes).length > 0) {
    manager.whileLeading((leading) => runHeartbeat({ ...heartbeat, ...common, namespace: home }, leading));
  }

  const { reporter } = settings;
  showSettings(metrics, {
    decisions: reporter.counts,
    foreignValues: reporter.foreignValues,
    fights: reporter.fights,
    effectiveness: effects.counts,
    services: effects.figures,
    webhookUnavailable: () => repair.unavailable,
    carrier: admission.carrier,
    plannerAlive: () => (planner.known() ? planner.alive() : undefined),
  });
  logger.info('starting', { modes: Object.keys(modes), server: session.client.server });
  await manager.run(signal);
};
