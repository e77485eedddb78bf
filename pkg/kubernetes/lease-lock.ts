// One try to take or renew a Lease, judged by when this process saw it change and never by the times written in it.
import { LEASES } from '../apis/resources.ts';
import { isAlreadyExists, isConflict, isNotFound } from './errors.ts';
import { claimLease, holderOf, releaseLease } from './lease.ts';
import type { HolderMarks, Lease } from './lease.ts';
import type { Client, Clock } from './types.ts';

export interface LeaseLockOptions {
  client: Pick<Client, 'get' | 'create' | 'update'>;
  namespace: string;
  /** Of the Lease. */
  name: string;
  identity: string;
  clock: Clock;
  leaseDurationMs: number;
  /** What the Lease is marked with when it is taken. Default: nothing. */
  marks?: ((signal: AbortSignal) => Promise<HolderMarks>) | undefined;
  /** Hears each change of the holder that is observed; empty: none. */
  onHolder?: (holder: string) => void;
}

export type Attempt =
  /** This process holds the Lease; `sentAt` (monotonic) is before the write that made it so. */
  | { readonly kind: 'held'; readonly sentAt: number }
  /** Another writer holds it. */
  | { readonly kind: 'other'; readonly holder: string }
  /** Another writer was faster: who holds it shows at the next try. */
  | { readonly kind: 'contended' };

export interface LeaseLock {
  /** Takes the Lease if it is free or expired, renews it if this process holds it. Rejects with what the client rejects with. */
  tryAcquireOrRenew(signal: AbortSignal): Promise<Attempt>;
  /** Releases the Lease if this process still holds it. */
  release(signal: AbortSignal): Promise<void>;
}

export const createLeaseLock = (options: LeaseLockOptions): LeaseLock => {
  const { client, namespace, name, identity, clock, leaseDurationMs, onHolder } = options;
  const ref = { namespace, name };
  let lease: Lease | undefined;
  let observedSpec: string | undefined;
  let observedAt = 0;
  let observedHolder: string | undefined;

  const observe = (next: Lease): void => {
    lease = next;
    const spec = JSON.stringify(next.spec ?? {});
    if (spec === observedSpec) return;
    observedSpec = spec;
    observedAt = clock.monotonic();
    const holder = holderOf(next);
    if (holder === observedHolder) return;
    observedHolder = holder;
    onHolder?.(holder);
  };

  /** True while the holder may still believe in its Lease: its duration has not passed since this process saw it change. */
  const isValid = (current: Lease): boolean => {
    const durationMs = (current.spec?.leaseDurationSeconds ?? 0) * 1_000 || leaseDurationMs;
    return clock.monotonic() < observedAt + durationMs;
  };

  const claim = async (current: Lease | undefined, signal: AbortSignal): Promise<Attempt> => {
    const renews = current !== undefined && holderOf(current) === identity;
    const marks = renews ? undefined : await options.marks?.(signal);
    const sentAt = clock.monotonic();
    const next = claimLease(ref, current, { identity, leaseDurationMs, now: clock.now(), marks });
    try {
      const stored = await (current === undefined
        ? client.create<Lease>(LEASES, next, {}, signal)
        : client.update<Lease>(LEASES, next, {}, signal));
      observe(stored);
      return { kind: 'held', sentAt };
    } catch (error) {
      // A Lease that cannot be created for something that is not found has no namespace.
      const isGone = isNotFound(error) && current !== undefined;
      if (isConflict(error) || isAlreadyExists(error) || isGone) {
        lease = undefined;
        return { kind: 'contended' };
      }
      throw error;
    }
  };

  const read = async (signal: AbortSignal): Promise<Lease | undefined> => {
    try {
      return await client.get<Lease>(LEASES, ref, signal);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  };

  return {
    async tryAcquireOrRenew(signal) {
      // A holder renews what it wrote last without reading first; another writer's write shows as a conflict.
      if (lease !== undefined && holderOf(lease) === identity) {
        const renewed = await claim(lease, signal);
        if (renewed.kind === 'held') return renewed;
      }
      const current = await read(signal);
      if (current === undefined) return claim(undefined, signal);
      observe(current);
      const holder = holderOf(current);
      if (holder !== '' && holder !== identity && isValid(current)) return { kind: 'other', holder };
      return claim(current, signal);
    },
    async release(signal) {
      // What we know may be one renewal old, when its answer never came: then the server's word decides.
      for (let fresh = false; ; fresh = true) {
        const held = fresh || lease === undefined ? await read(signal) : lease;
        if (held === undefined || holderOf(held) !== identity) return;
        try {
          observe(await client.update<Lease>(LEASES, releaseLease(held, clock.now()), {}, signal));
          return;
        } catch (error) {
          if (fresh || !isConflict(error)) throw error;
        }
      }
    },
  };
};
