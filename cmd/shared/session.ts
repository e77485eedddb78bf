// What every controller has while it runs: its configuration, a client, its identity, clock and logger.
import { userAgentOf } from './run.ts';
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { FlowControllerConfiguration } from '../../pkg/apis/config/flow-controller.ts';
import type { InstallationConfiguration } from '../../pkg/apis/config/schema.ts';
import { defined } from '../../pkg/apis/values.ts';
import { createInstallationOwner } from '../../pkg/installation/owner.ts';
import { createClient } from '../../pkg/kubernetes/client.ts';
import { systemClock } from '../../pkg/kubernetes/wait.ts';
import { loadKubeConfig } from '../../pkg/kubernetes/kubeconfig.ts';
import type { Candidate } from '../../pkg/kubernetes/leader-election.ts';
import { createLogger } from '../../pkg/telemetry/log.ts';
import type { ClientContext } from '../../pkg/kubernetes/types.ts';

/** The blocks that the configuration of every controller has; without `installation`, the own namespace is all that is known of it. */
export interface ControllerConfiguration extends Pick<
  FlowControllerConfiguration,
  'leaderElection' | 'health' | 'metrics' | 'log'
> {
  installation?: InstallationConfiguration;
}

/** `client`: of the cluster that is written to. */
export interface ControllerSession<C extends ControllerConfiguration = ControllerConfiguration> extends ClientContext {
  config: C;
  /** Namespace of the Lease. */
  namespace: string;
  /** Namespace of this process: several installations that share a Lease have one each. */
  ownNamespace: string;
  /** Unique among all processes that ever ran. */
  identity: string;
  /** Results for the person or program that started the command. */
  print(text: string): void;
}

/**
 * Opens the cluster; nothing is asked of it yet. The caller closes the client.
 * @throws KubeConfigError where no cluster is named.
 */
export const openSession = <C extends ControllerConfiguration>(options: {
  command: string;
  config: C;
  /** Undefined: the usual places. */
  kubeconfig: string | undefined;
  env: Readonly<Record<string, string | undefined>>;
}): ControllerSession<C> => {
  const { command, config, kubeconfig, env } = options;
  const source = loadKubeConfig(defined({ kubeconfig }));
  const own = env['LEADER_ELECTION_NAMESPACE'] ?? env['POD_NAMESPACE'] ?? source.namespace;
  return {
    config,
    client: createClient({ config: source, userAgent: userAgentOf(command) }),
    namespace: config.leaderElection.namespace ?? own ?? 'default',
    ownNamespace: env['POD_NAMESPACE'] ?? source.namespace ?? config.leaderElection.namespace ?? 'default',
    identity: `${hostname()}_${randomUUID()}`,
    clock: systemClock,
    random: Math.random,
    logger: createLogger({ name: command, ...config.log }),
    print: (text) => void process.stdout.write(text),
  };
};

/** The Lease by which one of several replicas works, marked with the installation; undefined where there is no election. */
const electionOf = ({ config, client, namespace, ownNamespace, logger }: ControllerSession): Candidate['election'] => {
  const { enabled, name, leaseDurationSeconds, renewDeadlineSeconds, retryPeriodSeconds } = config.leaderElection;
  if (!enabled) return undefined;
  const clusterRole = config.installation?.clusterRole;
  const owner = createInstallationOwner({ client, namespace: ownNamespace, clusterRole, logger });
  return {
    name,
    namespace,
    marks: async (signal) => ({ installation: ownNamespace, owner: await owner(signal) }),
    leaseDurationMs: leaseDurationSeconds * 1_000,
    renewDeadlineMs: renewDeadlineSeconds * 1_000,
    retryPeriodMs: retryPeriodSeconds * 1_000,
  };
};

export const candidateOf = (session: ControllerSession): Candidate => ({ ...session, election: electionOf(session) });
