// Candidates on one Lease in memory.
import { expect } from 'chai';
import { beforeEach } from 'mocha';
import { LEASES } from '../../../pkg/apis/resources.ts';
import { runLeaderElection } from '../../../pkg/kubernetes/leader-election.ts';
import type { LeaderElectionOptions, LeaderElectionResult } from '../../../pkg/kubernetes/leader-election.ts';
import type { Lease } from '../../../pkg/apis/core.ts';
import { type FakeClock, createFakeClock } from '../../fixtures/fake-clock.ts';
import { type Before, type MemoryServer, createMemoryServer } from '../../fixtures/memory-client.ts';
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
  let clock: FakeClock;
  let server: MemoryServer;
  let candidates: Candidate[];
  beforeEach(() => {
    clock = createFakeClock();
    server = createMemoryServer();
    candidates = [];
  });
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
        client: server.client((call, signal) => candidate.before(call, signal)),
        ...ref,
        ...TIMES,
        identity,
        clock,
        random: () => 0.5,
        onStartedLeading: work,
        logger,
        ...options,
      },
      stop.signal,
    ).then((result) => void (candidate.result = result));
    candidates.push(candidate);
    return Object.assign(candidate, { done });
  };
  const lease = (): Lease => server.read<Lease>(LEASES, ref)!;
  const steal = (holderIdentity: string): void => {
    const current = lease();
    server.put(LEASES, {
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
    for (const { stop } of candidates) stop.abort();
    await clock.advance(30_000);
    await Promise.all(candidates.map(({ done }) => done));
    expect(clock.pending, 'timers left behind').to.equal(0);
  };
  return {
    get clock() {
      return clock;
    },
    set clock(next) {
      clock = next;
    },
    get server() {
      return server;
    },
    set server(next) {
      server = next;
    },
    get candidates() {
      return candidates;
    },
    set candidates(next) {
      candidates = next;
    },
    start,
    lease,
    steal,
    unreachable,
    hang,
    end,
  };
};
