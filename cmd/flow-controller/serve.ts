// SPDX-License-Identifier: Apache-2.0
// What runs while the flow-controller serves: caches in every replica, controllers in the one that leads.
import { COMMANDS } from '../../pkg/apis/names.ts';
import { openFlowCaches } from '../../pkg/controllers/flow/caches.ts';
import { createFlowController } from '../../pkg/controllers/flow/controller.ts';
import { openNodeGroupCaches } from '../../pkg/controllers/node-groups/caches.ts';
import { createNodeGroupControllers } from '../../pkg/controllers/node-groups/controller.ts';
import { createManager } from '../../pkg/kubernetes/manager.ts';
import { candidateOf } from '../shared/session.ts';
import { runCollector } from './collector.ts';
import type { Session } from './session.ts';

/** Resolves after a clean stop; rejects when leadership is lost or a port cannot be opened. */
export const serve = async (session: Session, signal: AbortSignal): Promise<void> => {
  const { config } = session;
  const manager = createManager({ ...candidateOf(session), ...session, component: COMMANDS.flowController });
  const { client, events, metrics } = manager;
  const common = { ...session, client, events, metrics };

  const caches = openFlowCaches(manager.cache);
  manager.controller('flow', createFlowController({ ...common, caches, lifetime: manager.resigned }));

  if (config.nodeGroups.enabled) {
    const nodeGroups = openNodeGroupCaches(manager.cache);
    const { touchesPerSecond } = config.nodeGroups;
    const { excludedNamespaces } = config;
    const options = { ...common, caches: nodeGroups, touchesPerSecond, excludedNamespaces };
    for (const [name, spec] of Object.entries(createNodeGroupControllers(options))) manager.controller(name, spec);
  }

  manager.inEveryReplica((running) => runCollector(running));
  await manager.run(signal);
};
