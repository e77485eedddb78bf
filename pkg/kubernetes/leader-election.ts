// Leader election on a Lease by client-go's protocol, and work that only the holder does: for as long as it serves, or once.
import type { Uses } from './types.ts';
import { type Deadline, aborted, createDeadline, pause, within } from './wait.ts';
import { type Attempt, type LeaseLockOptions, createLeaseLock } from './lease.ts';

export interface LeaderElectionOptions extends Omit<LeaseLockOptions, 'onHolder'>, Uses<'random' | 'logger'> {
  /** A leader that could not renew for this long stops, milliseconds. Less than the lease duration. */
  renewDeadlineMs: number;
  /** Between two tries, milliseconds. Candidates add up to 1.2 times as much at random. */
  retryPeriodMs: number;
  /**
   * The leader's work. Its signal aborts when leadership ends; the work must stop then. `holds` says the same by the clock: a process that was frozen
   * for longer than its lease may get to write before the signal's timer fires (see createFencedClient). It stays true after a clean stop.
   */
  onStartedLeading(signal: AbortSignal, holds: () => boolean): Promise<void>;
}

/** How an election ended. After `lost` and `failed` the process should exit: a fresh one has no state from its old leadership. */
export type LeaderElectionResult =
  /** The signal aborted; a Lease that was held is released if the work ended in time. */
  | { readonly kind: 'stopped' }
  | { readonly kind: 'lost'; readonly reason: 'LeaseStolen' | 'RenewDeadlineExceeded'; readonly message: string }
  /** The work returned although it was not asked to stop; the Lease is released. */
  | { readonly kind: 'ended' }
  /** The work threw; the Lease is released. */
  | { readonly kind: 'failed'; readonly error: unknown };

/** client-go's jitter of candidates. */
const JITTER = 1.2;

/** One leadership: the deadline that ends it unless renewed, and why it was lost. */
interface Term {
  readonly deadline: Deadline;
  /** Start of the last successful renewal, monotonic milliseconds. */
  renewedAt: number;
  stolenBy?: string;
}

/**
 * Waits for leadership, works, and resolves when the election is over for this process: the signal aborted, the lease
 * was lost, or the work ended. Rejects never.
 */
export const runLeaderElection = async (
  options: LeaderElectionOptions,
  signal: AbortSignal,
): Promise<LeaderElectionResult> => {
  const { namespace, name, identity, clock, random, leaseDurationMs, renewDeadlineMs, retryPeriodMs } = options;
  const logger = options.logger.child({ lease: `${namespace}/${name}`, identity });
  const lock = createLeaseLock({ ...options, onHolder: (leader) => logger.info('observed leader', { leader }) });

  /** One try that ends after `limitMs` at the latest; what goes wrong is logged and tried again later. */
  const attempt = async (limitMs: number, until: AbortSignal): Promise<Attempt> => {
    using deadline = createDeadline(clock, limitMs, until);
    try {
      return await lock.tryAcquireOrRenew(deadline.signal);
    } catch (error) {
      if (!until.aborted)
        logger.warn('cannot reach the lease', { error: deadline.expired ? 'request timed out' : error });
      return { kind: 'contended' };
    }
  };

  /** Resolves with the moment (monotonic) from which leadership counts, or undefined when the signal aborts first. */
  const acquire = async (): Promise<number | undefined> => {
    while (!signal.aborted) {
      const result = await attempt(renewDeadlineMs, signal);
      // A late answer is not trusted: the deadline of leadership counts from before the request.
      if (result.kind === 'held' && clock.monotonic() < result.sentAt + renewDeadlineMs) return result.sentAt;
      await pause(clock, retryPeriodMs * (1 + random() * JITTER), signal);
    }
    return undefined;
  };

  /**
   * Renews until the term ends. The term's deadline counts from when the last successful renewal was *sent*, and candidates wait from when they *saw*
   * it, which is later: with a lease longer than the deadline the leader is first, whatever the clocks say.
   */
  const renew = async (term: Term): Promise<void> => {
    const until = term.deadline.signal;
    while (await pause(clock, retryPeriodMs, until)) {
      // Half the deadline, so that a connection that hangs leaves time for a second try.
      const result = await attempt(renewDeadlineMs / 2, until);
      if (result.kind === 'held') {
        term.renewedAt = result.sentAt;
        term.deadline.restart(Math.max(0, result.sentAt + renewDeadlineMs - clock.monotonic()));
      } else if (result.kind === 'other') {
        term.stolenBy = result.holder;
        term.deadline.abort(new Error(`lease is held by ${result.holder}`));
      }
    }
  };

  const lossOf = ({ deadline, stolenBy }: Term): Extract<LeaderElectionResult, { kind: 'lost' }> | undefined => {
    if (stolenBy !== undefined)
      return { kind: 'lost', reason: 'LeaseStolen', message: `the lease is held by ${stolenBy}` };
    if (!deadline.expired) return undefined;
    const message = `the lease could not be renewed for ${renewDeadlineMs} ms`;
    return { kind: 'lost', reason: 'RenewDeadlineExceeded', message };
  };

  const release = async (): Promise<void> => {
    using deadline = createDeadline(clock, renewDeadlineMs / 2);
    try {
      await lock.release(deadline.signal);
      logger.info('released the lease');
    } catch (error) {
      logger.warn('cannot release the lease; other replicas wait until it expires', { error });
    }
  };

  const since = await acquire();
  if (since === undefined) return { kind: 'stopped' };
  logger.info('started leading');
  using deadline = createDeadline(clock, Math.max(0, since + renewDeadlineMs - clock.monotonic()), signal);
  const term: Term = { deadline, renewedAt: since };
  const holds = (): boolean => term.stolenBy === undefined && !deadline.check();
  // A microtask later, so that a synchronous throw is a rejection.
  const work = Promise.resolve()
    .then(() => options.onStartedLeading(deadline.signal, holds))
    .then(
      (): LeaderElectionResult => ({ kind: 'ended' }),
      (error: unknown): LeaderElectionResult => ({ kind: 'failed', error }),
    );
  const renewals = renew(term);
  try {
    const early = await Promise.race([work, aborted(deadline.signal)]);
    const loss = lossOf(term);
    if (loss !== undefined) logger.error('lost leadership', { reason: loss.reason, detail: loss.message });
    deadline.abort(new Error('leadership ended'));
    const patienceMs = Math.max(0, term.renewedAt + leaseDurationMs - clock.monotonic());
    if (!(await within(Promise.all([work, renewals]), patienceMs, clock))) {
      logger.error("the leader's work did not stop before its lease ends");
    } else if (loss === undefined) await release();
    return loss ?? (signal.aborted ? undefined : early) ?? { kind: 'stopped' };
  } finally {
    logger.info('stopped leading');
  }
};

/** Whether this process may write: set with leadership, yes where there is no election. */
export interface Fence {
  holds(): boolean;
}

type Work = (signal: AbortSignal) => Promise<void>;

export interface Candidate extends Pick<LeaderElectionOptions, 'client' | 'clock' | 'random' | 'logger' | 'identity'> {
  /** The Lease and its times; undefined: there is no election, and this process leads at once and for good. */
  election: Omit<LeaderElectionOptions, keyof Candidate | 'onStartedLeading'> | undefined;
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
  void pause(candidate.clock, PATIENCE_MS, ended).then((over) => !over || leading || impatient.abort());
  const onStartedLeading = (leaderSignal: AbortSignal): Promise<void> => {
    leading = true;
    return work(leaderSignal);
  };
  const result = await runLeaderElection({ ...candidate, ...election, onStartedLeading }, ended);
  const timedOut = impatient.signal.aborted;
  impatient.abort();
  throwProblem(result);
  if (result.kind === 'ended') return;
  if (timedOut) throw new Error('another replica holds the Lease; stop all replicas before --cleanup');
  signal.throwIfAborted();
};
