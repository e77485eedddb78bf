// SPDX-License-Identifier: Apache-2.0
// Composition root of the flow-controller: flags, configuration, client and sources of load, then one of its ways of running.
import { readFile } from 'node:fs/promises';
import { COMMANDS } from '../../pkg/apis/names.ts';
import { createLoadSources } from '../../pkg/metrics/load-sources.ts';
import type { LoadSources } from '../../pkg/metrics/load-sources.ts';
import { runController } from '../shared/run-controller.ts';
import { openSession, userAgentOf } from '../shared/session.ts';
import { dryRun, runCleanup } from './one-shot.ts';
import { configurationOf, parseFlags } from './options.ts';
import type { Flags } from './options.ts';
import { serve } from './serve.ts';
import type { Session } from './session.ts';

const command = COMMANDS.flowController;

interface Opened extends Session {
  readonly loads: LoadSources;
}

const open = async (flags: Flags, env: NodeJS.ProcessEnv, planner: URL): Promise<Opened> => {
  const config = configurationOf(flags, await readFile(flags.config, 'utf8'));
  const session = openSession({ command, config, kubeconfig: flags.kubeconfig, env });
  const loads = createLoadSources(config.metricSources, { ...session, userAgent: userAgentOf(command) });
  return { ...session, sources: loads.sources, loads, planner };
};

/** Runs the command with these arguments; resolves with its exit code. `planner`: the file of its thread for planning. */
export const runCommand = (args: readonly string[], env: NodeJS.ProcessEnv, planner: URL): Promise<number> =>
  runController<Flags, Opened>({
    parsed: parseFlags(args),
    open: (flags) => open(flags, env, planner),
    ways: { serve, dryRun, cleanup: runCleanup },
    failure: 'the flow controller failed',
    async close({ client, loads }) {
      await loads.close();
      await client.close();
    },
  });
