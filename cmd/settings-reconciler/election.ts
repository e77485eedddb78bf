// SPDX-License-Identifier: Apache-2.0
// Turns the configuration's leader election into the options of pkg/kubernetes.
import type { LeaderElectionOptions } from '../../pkg/kubernetes/leader-election.ts';
import type { Session } from './session.ts';

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
