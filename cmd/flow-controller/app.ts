// The flow-controller: caches in every replica, controllers in the one that leads.
import { readFile } from 'node:fs/promises';
import { COMMANDS } from '../../pkg/apis/names.ts';
import { openFlowCaches } from '../../pkg/controllers/flow/caches.ts';
import { createFlowController } from '../../pkg/controllers/flow/controller.ts';
import { openWorker } from '../../pkg/controllers/flow/planning.ts';
import { createRouterEvidence } from '../../pkg/controllers/routers/evidence.ts';
import { createNodeGroupControllers } from '../../pkg/controllers/node-groups/controller.ts';
import { createHonored } from '../../pkg/controllers/flow/honored.ts';
import { createManager } from '../../pkg/kubernetes/manager.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { createLoadSources } from '../../pkg/metrics/load-sources.ts';
import { createMeterReader } from '../../pkg/metrics/measured-traffic.ts';
import { runController } from '../shared/run-controller.ts';
import { candidateOf, openSession } from '../shared/session.ts';
import { userAgentOf } from '../shared/run.ts';
import { runCleanup } from './cleanup.ts';
import { type Flags, type Session, configurationOf, parseFlags } from './options.ts';

const command = COMMANDS.flowController;

const openHonored = ({ config, clock, logger }: Session, client: Client) => {
  const { namespace, intervalSeconds } = config.trafficProof;
  const meters = createMeterReader({ client, namespace, now: () => clock.monotonic() });
  return createHonored({
    read: async (reading) => new Map((await meters.read(reading)).readings.map(({ node, judged }) => [node, judged])),
    clock,
    intervalMs: intervalSeconds * 1_000,
    logger,
  });
};

/** Resolves after a clean stop; rejects when leadership is lost or a port cannot be opened. */
export const serve = async (session: Session, signal: AbortSignal): Promise<void> => {
  const { nodeGroups, trafficProof, excludedNamespaces } = session.config;
  const manager = createManager({ ...candidateOf(session), ...session, component: command });
  const { client, events, metrics } = manager;
  const common = { ...session, client, events, metrics };

  const caches = openFlowCaches(manager.cache, nodeGroups);
  const routers = createRouterEvidence({ ...common, pods: true });
  manager.inEveryReplica(routers.run);
  manager.beforeLeading(routers.read);
  const measured = trafficProof.enabled ? openHonored(session, client) : undefined;
  if (measured !== undefined) manager.whileLeading(measured.run);
  const honored = measured?.verdict;
  manager.controller('flow', createFlowController({ ...common, honored, caches, routers, lifetime: manager.resigned }));
  if (nodeGroups.enabled) {
    const { touchesPerSecond } = nodeGroups;
    const options = { ...common, open: manager.cache, caches, touchesPerSecond, excludedNamespaces };
    for (const [name, spec] of Object.entries(createNodeGroupControllers(options))) manager.controller(name, spec);
  }
  await manager.run(signal);
};

interface Opened extends Session {
  readonly loads: ReturnType<typeof createLoadSources>;
}

const open = async (flags: Flags, env: NodeJS.ProcessEnv, planner: URL): Promise<Opened> => {
  const config = configurationOf(flags, await readFile(flags.config, 'utf8'));
  const session = openSession({ command, config, kubeconfig: flags.kubeconfig, env });
  const loads = createLoadSources(config.metricSources, { ...session, userAgent: userAgentOf(command) });
  return { ...session, sources: loads.sources, loads, openThread: (onEnd) => openWorker(planner, onEnd) };
};

/** Runs the command with these arguments; resolves with its exit code. `planner`: the file of its thread for planning. */
export const runCommand = (args: readonly string[], env: NodeJS.ProcessEnv, planner: URL): Promise<number> =>
  runController<Flags, Opened>({
    parsed: parseFlags(args),
    open: (flags) => open(flags, env, planner),
    ways: { serve, cleanup: runCleanup },
    failure: 'the flow controller failed',
    async close({ client, loads }) {
      await loads.close();
      await client.close();
    },
  });
