// SPDX-License-Identifier: Apache-2.0
// Work that only the holder of the Lease does: for as long as it serves, or once, for a cleanup.
import { runLeaderElection } from '../../pkg/kubernetes/leader-election.ts';
import type { LeaderElectionOptions, LeaderElectionResult } from '../../pkg/kubernetes/leader-election.ts';
import { createInstallationOwner } from '../../pkg/kubernetes/installation-owner.ts';
import { sleep } from '../../pkg/kubernetes/sleep.ts';
import type { ControllerSession } from './session.ts';

/** Whether this process may write: set with leadership, yes where there is no election. */
export interface Fence {
  holds(): boolean;
}

type Work = (signal: AbortSignal) => Promise<void>;

/** What an election needs of a session. */
export type Candidate = Pick<
  ControllerSession,
  'client' | 'namespace' | 'home' | 'identity' | 'clock' | 'random' | 'logger'
> & {
  config: Pick<ControllerSession['config'], 'leaderElection' | 'installation'>;
};

/** The configuration's leader election as options of pkg/kubernetes. */
const electionOptions = (
  candidate: Candidate,
): Omit<LeaderElectionOptions, 'onStartedLeading' | 'onStoppedLeading'> => {
  const { client, clock, random, logger, identity, namespace, home } = candidate;
  const clusterRole = candidate.config.installation?.clusterRole;
  const owner = createInstallationOwner({ client, namespace: home, clusterRole, logger });
  const { name, leaseDurationSeconds, renewDeadlineSeconds, retryPeriodSeconds } = candidate.config.leaderElection;
  return {
    client,
    clock,
    random,
    logger,
    identity,
    name,
    namespace,
    marks: async (signal) => ({ installation: home, owner: await owner(signal) }),
    leaseDurationMs: leaseDurationSeconds * 1_000,
    renewDeadlineMs: renewDeadlineSeconds * 1_000,
    retryPeriodMs: retryPeriodSeconds * 1_000,
  };
};

const throwProblem = (result: LeaderElectionResult): void => {
  if (result.kind === 'failed') throw result.error;
  if (result.kind === 'lost') throw new Error(result.message);
};

/**
 * Works while this process leads, until the signal aborts; at once and for good where the configuration wants no
 * election. Rejects when leadership is lost: the process should end then.
 */
export const workWhileLeading = async (
  candidate: Candidate,
  work: Work,
  fence: Fence,
  signal: AbortSignal,
): Promise<void> => {
  if (!candidate.config.leaderElection.enabled) return work(signal);
  const options: LeaderElectionOptions = {
    ...electionOptions(candidate),
    onStartedLeading(leaderSignal, holds) {
      fence.holds = holds;
      return work(leaderSignal);
    },
    onStoppedLeading: () => candidate.logger.info('stopped leading'),
  };
  throwProblem(await runLeaderElection(options, signal));
};

/** How long another leader is waited for; longer than the Lease of one that crashed. */
const PATIENCE_MS = 60_000;

/**
 * Does the work once, as the holder of the Lease, so that no replica does the contrary meanwhile. Rejects when another
 * replica holds it for a minute, and with the signal's reason when it aborts first.
 */
export const workOnceAsLeader = async (candidate: Candidate, work: Work, signal: AbortSignal): Promise<void> => {
  if (!candidate.config.leaderElection.enabled) return work(signal);
  const impatient = new AbortController();
  const ended = AbortSignal.any([signal, impatient.signal]);
  let leading = false;
  void sleep(candidate.clock, PATIENCE_MS, ended).then(
    () => leading || impatient.abort(),
    () => undefined,
  );
  const onStartedLeading = (leaderSignal: AbortSignal): Promise<void> => {
    leading = true;
    return work(leaderSignal);
  };
  const options = { ...electionOptions(candidate), onStartedLeading, onStoppedLeading: () => undefined };
  const result = await runLeaderElection(options, ended);
  const timedOut = impatient.signal.aborted;
  impatient.abort();
  throwProblem(result);
  if (result.kind === 'ended') return;
  if (timedOut) throw new Error('another replica holds the Lease; stop all replicas before --cleanup');
  signal.throwIfAborted();
};
