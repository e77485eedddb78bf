// One replica of each command that lives through all of it and never leads, so that its memory can be followed.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bed } from './bed/index.ts';
import { startHeapWatch } from './chaos-heap.ts';
import type { HeapWatch } from './chaos-heap.ts';
import { FLOW, RECONCILER } from './chart.ts';
import { flowControllerReplica, webhookReplica } from './faults-world.ts';
import type { World } from './settings-world.ts';

/** They stay candidates, because they ask so seldom. */
const leaderElection = { leaseDurationSeconds: 3_600, renewDeadlineSeconds: 3_000, retryPeriodSeconds: 2_400 };

/** Starts them, and returns when they are watched. Others must lead already. */
export const startWitnesses = async (bed: Bed, world: World): Promise<HeapWatch> => {
  const preload = join(bed.directory, 'collect.mjs');
  writeFileSync(preload, `process.on('SIGUSR2', () => globalThis.gc());\n`);
  const environment = { NODE_OPTIONS: `--expose-gc --import=${preload}` };
  const reconciler = await world.startReconciler({
    name: `${RECONCILER}-witness`,
    port: 18_091,
    environment,
    config: { modes: { seed: { gardener: {}, extensionServices: true } }, leaderElection },
  });
  const planner = { name: `${FLOW}-witness`, healthPort: 18_093, leaderElection, environment };
  const flowController = await flowControllerReplica(world, planner);
  const webhook = await webhookReplica(world, 5, { environment });
  webhook.component.start();
  return startHeapWatch([
    { component: reconciler, metricsPort: 18_092 },
    { component: flowController, metricsPort: planner.healthPort + 1 },
    { component: webhook.component, metricsPort: webhook.healthPort + 1 },
  ]);
};
