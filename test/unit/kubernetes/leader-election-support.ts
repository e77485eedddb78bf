// Candidates on one Lease in memory.
import { expect } from 'chai';
import { beforeEach } from 'mocha';
import { LEASES } from '../../../pkg/apis/resources.ts';
import { runLeaderElection } from '../../../pkg/kubernetes/leader-election.ts';
import type { LeaderElectionOptions, LeaderElectionResult } from '../../../pkg/kubernetes/leader-election.ts';
import type { Lease } from '../../../pkg/apis/core.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';
import { type Before, createMemoryServer } from '../../fixtures/memory-client.ts';
import { type RecordingLogger, recordingLogger } from '../../fixtures/recording-logger.ts';

/** The values of client-go. */
export const TIMES = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 };

export const ref = { namespace: 'garden', name: 'settings-reconciler' };

interface Candidate {
  readonly stop: AbortController;
  readonly logger: RecordingLogger;
  /** Replaces what happens to its requests from now on. */
  before: Before;
  leading: boolean;
  readonly stopped: number;
  result: LeaderElectionResult | undefined;
  readonly done: Promise<void>;
}

export const useElection = () => {
  const fresh = () => ({ clock: createFakeClock(), server: createMemoryServer(), candidates: [] as Candidate[] });
  const bed = fresh();
  beforeEach(() => void Object.assign(bed, fresh()));
  const start = (identity: string, options: Partial<LeaderElectionOptions> = {}): Candidate => {
    const stop = new AbortController();
    const logger = recordingLogger();
    const candidate: Candidate = {
      stop,
      logger,
      before: () => undefined,
      leading: false,
      get stopped() {
        return logger.entries.filter(({ message }) => message === 'stopped leading').length;
      },
      result: undefined,
      done: Promise.resolve(),
    };
    const work = (signal: AbortSignal): Promise<void> => {
      candidate.leading = true;
      return new Promise((resolve) => {
        const end = (): void => {
          candidate.leading = false;
          resolve();
        };
        if (signal.aborted) end();
        else signal.addEventListener('abort', end, { once: true });
      });
    };
    const done = runLeaderElection(
      {
        client: bed.server.client((call, signal) => candidate.before(call, signal)),
        ...ref,
        ...TIMES,
        identity,
        clock: bed.clock,
        random: () => 0.5,
        onStartedLeading: work,
        logger,
        ...options,
      },
      stop.signal,
    ).then((result) => void (candidate.result = result));
    bed.candidates.push(candidate);
    return Object.assign(candidate, { done });
  };
  const lease = (): Lease => bed.server.read<Lease>(LEASES, ref)!;
  const steal = (holderIdentity: string): void => {
    const current = lease();
    bed.server.put(LEASES, {
      ...current,
      spec: { ...current.spec, holderIdentity, renewTime: '2030-01-01T00:00:00.000000Z' },
    } as Lease);
  };
  const unreachable: Before = () => {
    throw new Error('connection refused');
  };
  const hang: Before = (_call, signal) =>
    new Promise((_resolve, reject) =>
      signal?.addEventListener('abort', () => reject(new Error('aborted')), { once: true }),
    );
  const end = async (): Promise<void> => {
    for (const { stop } of bed.candidates) stop.abort();
    await bed.clock.advance(30_000);
    await Promise.all(bed.candidates.map(({ done }) => done));
    expect(bed.clock.pending, 'timers left behind').to.equal(0);
  };
  return Object.assign(bed, { start, lease, steal, unreachable, hang, end });
};
