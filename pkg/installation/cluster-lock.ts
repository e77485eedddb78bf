// Follows which of several installations a duty of the whole cluster belongs to, and takes it where it is free.
import type { ObjectRef } from '../apis/meta.ts';
import { LEASES } from '../apis/resources.ts';
import { aborted, createDeadline, pause } from '../kubernetes/wait.ts';
import { ifFound } from '../kubernetes/errors.ts';
import type { InstallationOwner } from './owner.ts';
import type { Lease } from '../apis/core.ts';
import { type LeaseLock, createLeaseLock, holderOf } from '../kubernetes/lease.ts';
import type { Uses } from '../kubernetes/types.ts';

/** How long others wait after the last renewal that they saw. */
export const LOCK_DURATION_MS = 30_000;
const PERIOD_MS = 5_000;
const TRY_MS = 10_000;
/** Between tries as long as nothing is known. */
const FIRST_PERIOD_MS = 1_000;
/** Who is refused for this long goes on without the claim: a right that is missing must not hold up everything else. */
const PATIENCE_MS = LOCK_DURATION_MS;

/** A claim that no other writer can have. */
export const soleInstallation = (): ClusterLock => ({
  held: () => true,
  known: () => true,
  onChange: () => undefined,
  settled: () => Promise.resolve(),
  run: () => Promise.resolve(),
  release: () => Promise.resolve(),
});

/**
 * Two installations may hold it for a moment, when the one was away for longer than its claim: what it stands for must bear
 * that. A server that cannot be reached changes nothing: no installation could act on it anyway.
 */
interface ClusterLockOptions extends Uses<'client' | 'clock' | 'random' | 'logger', 'get' | 'create' | 'update'> {
  lease: Required<ObjectRef>;
  /** Names the installation, not the process: all its processes hold the claim together. */
  installation: string;
  /** What the Lease goes with. Undefined: this process does not take the claim and only watches it. */
  owner?: InstallationOwner;
}

export const createClusterLock = (options: ClusterLockOptions) => {
  const { client, lease, installation, owner, clock, random, logger } = options;
  const callbacks: (() => void)[] = [];
  const first = new AbortController();
  let held = false;

  const lock: LeaseLock = createLeaseLock({
    client,
    ...lease,
    identity: installation,
    clock,
    leaseDurationMs: LOCK_DURATION_MS,
    marks: async (signal) => ({ installation, owner: await owner?.(signal) }),
  });

  const announce = (next: boolean, holder: string): void => {
    if (next === held) return;
    held = next;
    logger.info('the cluster lock changed hands', { lease: `${lease.namespace}/${lease.name}`, holder });
    for (const callback of callbacks) callback();
  };

  const look = async (signal: AbortSignal): Promise<void> => {
    const found = await ifFound(client.get<Lease>(LEASES, lease, signal));
    const holder = found === undefined ? '' : holderOf(found);
    announce(holder === installation, holder);
  };

  const take = async (signal: AbortSignal): Promise<void> => {
    const result = await lock.tryAcquireOrRenew(signal);
    if (result.kind === 'held') announce(true, installation);
    if (result.kind === 'other') announce(false, result.holder);
    // Who was faster may be another process of this installation, which would otherwise not know until the next try.
    if (result.kind === 'contended') await look(signal);
  };

  /** Whether it is known afterwards whose the claim is. */
  const attempt = async (signal: AbortSignal): Promise<boolean> => {
    using deadline = createDeadline(clock, TRY_MS, signal);
    try {
      await (owner === undefined ? look : take)(deadline.signal);
      return true;
    } catch (error) {
      if (!signal.aborted) logger.warn('cannot reach the cluster lock, retrying', { lease: lease.name, error });
      return false;
    }
  };

  return {
    /** Whether the duty is this installation's; false until that is known. */
    held: (): boolean => held,
    /** Whether a try has succeeded, or all have failed for 30 seconds: before, `held` says nothing. */
    known: (): boolean => first.signal.aborted,
    /** Calls back when `held` changed. */
    onChange: (callback: () => void): void => void callbacks.push(callback),
    /** Resolves once `known`, or the signal aborts. Rejects never. */
    settled: (signal: AbortSignal): Promise<void> => aborted(AbortSignal.any([signal, first.signal])),
    /** Takes, renews and watches until the signal aborts; rejects never. */
    async run(signal: AbortSignal): Promise<void> {
      const giveUpAt = clock.monotonic() + PATIENCE_MS;
      while (!signal.aborted) {
        if ((await attempt(signal)) || clock.monotonic() >= giveUpAt) first.abort();
        await pause(clock, (first.signal.aborted ? PERIOD_MS : FIRST_PERIOD_MS) * (1 + random() / 5), signal);
      }
    },
    /** Gives it up, so that another installation need not wait; after `run` has ended. Rejects never. */
    async release(): Promise<void> {
      if (!held) return;
      using deadline = createDeadline(clock, TRY_MS);
      try {
        await lock.release(deadline.signal);
      } catch (error) {
        logger.warn('cannot release the cluster lock; other installations wait until it expires', { error });
      }
      announce(false, '');
    },
  };
};

export type ClusterLock = ReturnType<typeof createClusterLock>;
