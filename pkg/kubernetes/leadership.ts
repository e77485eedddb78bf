// Work that only the holder of the Lease does: for as long as it serves, or once, for a cleanup.
import { runLeaderElection } from './leader-election.ts';
import type { LeaderElectionOptions, LeaderElectionResult } from './leader-election.ts';
import { sleep } from './sleep.ts';

/** Whether this process may write: set with leadership, yes where there is no election. */
export interface Fence {
  holds(): boolean;
}

type Work = (signal: AbortSignal) => Promise<void>;

/** A process that may lead. */
export interface Candidate extends Pick<LeaderElectionOptions, 'client' | 'clock' | 'random' | 'logger' | 'identity'> {
  /** The Lease and its times; undefined: there is no election, and this process leads at once and for good. */
  election: Omit<LeaderElectionOptions, keyof Candidate | 'onStartedLeading' | 'onStoppedLeading'> | undefined;
}

const throwProblem = (result: LeaderElectionResult): void => {
  if (result.kind === 'failed') throw result.error;
  if (result.kind === 'lost') throw new Error(result.message);
};

/**
 * Works while this process leads, until the signal aborts; at once and for good where there is no election. Rejects when leadership is lost: the process should end then.
 */
export const workWhileLeading = async (
  candidate: Candidate,
  work: Work,
  fence: Fence,
  signal: AbortSignal,
): Promise<void> => {
  const { election } = candidate;
  if (election === undefined) return work(signal);
  const options: LeaderElectionOptions = {
    ...candidate,
    ...election,
    onStartedLeading(leaderSignal, holds) {
      fence.holds = holds;
      return work(leaderSignal);
    },
    onStoppedLeading: () => candidate.logger.info('stopped leading'),
  };
  throwProblem(await runLeaderElection(options, signal));
};

/** Longest wait for another leader; longer than the Lease of one that crashed. */
const PATIENCE_MS = 60_000;

/**
 * Does the work once, as the holder of the Lease, so that no replica does the contrary meanwhile. Rejects when another
 * replica holds it for a minute, and with the signal's reason when it aborts first.
 */
export const workOnceAsLeader = async (candidate: Candidate, work: Work, signal: AbortSignal): Promise<void> => {
  const { election } = candidate;
  if (election === undefined) return work(signal);
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
  const options = { ...candidate, ...election, onStartedLeading, onStoppedLeading: () => undefined };
  const result = await runLeaderElection(options, ended);
  const timedOut = impatient.signal.aborted;
  impatient.abort();
  throwProblem(result);
  if (result.kind === 'ended') return;
  if (timedOut) throw new Error('another replica holds the Lease; stop all replicas before --cleanup');
  signal.throwIfAborted();
};
