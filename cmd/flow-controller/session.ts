// SPDX-License-Identifier: Apache-2.0
// What every way of running the command shares: the client, the sources of load, who we are, and time.
import type { FlowControllerConfiguration } from '../../pkg/apis/config/flow-controller.ts';
import type { Client, Clock } from '../../pkg/kubernetes/types.ts';
import type { LeaderElectionOptions } from '../../pkg/kubernetes/leader-election.ts';
import type { LoadSource } from '../../pkg/metrics/types.ts';
import type { Logger } from '../../pkg/telemetry/types.ts';

export interface Session {
  config: FlowControllerConfiguration;
  client: Client;
  /** Where load comes from, by name, the default first. */
  sources: ReadonlyMap<string, LoadSource>;
  /** Namespace of this process, for the Lease. */
  namespace: string;
  /** Unique among all processes that ever ran. */
  identity: string;
  clock: Clock;
  random: () => number;
  logger: Logger;
  /** Results for the person or program that started the command. */
  print(text: string): void;
}

/** The configuration's leader election as options of pkg/kubernetes. */
export const electionOptions = (
  session: Session,
): Omit<LeaderElectionOptions, 'onStartedLeading' | 'onStoppedLeading'> => {
  const { client, clock, random, logger, identity } = session;
  const { name, leaseDurationSeconds, renewDeadlineSeconds, retryPeriodSeconds } = session.config.leaderElection;
  return {
    client,
    clock,
    random,
    logger,
    identity,
    name,
    namespace: session.namespace,
    leaseDurationMs: leaseDurationSeconds * 1_000,
    renewDeadlineMs: renewDeadlineSeconds * 1_000,
    retryPeriodMs: retryPeriodSeconds * 1_000,
  };
};
