// SPDX-License-Identifier: Apache-2.0
// Divides namespaces among the replicas of a controller: a Lease for each shard, so that no two write for one namespace, and any replica
// takes what is free. The leader's Lease is that of shard 0, and says how many shards there are.
import { ANNOTATION_SHARDS, ANNOTATION_WANTED_BY } from '../apis/names.ts';
import type { ObjectRef } from '../apis/meta.ts';
import { LEASES } from '../apis/resources.ts';
import { aborted } from './abortable.ts';
import { createDeadline } from './deadline.ts';
import { isConflict, isForbidden, isNotFound } from './errors.ts';
import { runLeaderElection } from './leader-election.ts';
import type { Candidate } from './leadership.ts';
import { holderOf, installationOf, shardsOf, wasSharded } from './lease.ts';
import type { Lease } from './lease.ts';
import { sleep } from './sleep.ts';

/** The chart names this many Leases. */
export const MAX_SHARDS = 8;

/** The shard of a namespace: FNV-1a of its name, so that every replica and version finds the same. */
export const shardOf = (namespace: string, count: number): number => {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(namespace)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  // The low bits alone change too little between names that differ at their end.
  return ((hash ^ (hash >>> 16)) >>> 0) % count;
};

/** Name of the Lease of a shard, from that of the leader. */
export const shardLease = (leader: string, shard: number): string =>
  shard === 0 ? leader : `${leader}-shard-${shard}`;

export interface ShardsOptions extends Omit<Candidate, 'election'> {
  readonly election: NonNullable<Candidate['election']>;
  /** How many there are to be, 1 to `MAX_SHARDS`. */
  readonly count: number;
  /** Marks the Leases as those of one of several installations that share them: shards are the leader's installation's. */
  readonly installation: string;
}

export interface Shards {
  readonly count: number;
  /** Those that this process works on. */
  held(): readonly number[];
  /** Whether it works on that of the namespace, by the clock as well. */
  holds(namespace: string): boolean;
  /** False while a Lease may be another's already by the clock: nothing is written then. */
  intact(): boolean;
  /** Works for a namespace while its shard is held; undefined where it is not, or was lost meanwhile. */
  within<T>(namespace: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T | undefined>;
  /** Calls back when a shard was taken, or is no longer worked on. */
  onChange(callback: (shard: number) => void): void;
  /** Takes, keeps and gives back shards but 0 until the signal aborts; rejects never. */
  run(signal: AbortSignal): Promise<void>;
  /** Works on shard 0 while this process leads, once all other replicas divide namespaces as it does. */
  lead(signal: AbortSignal): Promise<void>;
  /** Resolves once no replica works on a shard of another number of shards; with the signal. */
  undivided(signal: AbortSignal): Promise<void>;
}

interface Term {
  readonly signal: AbortSignal;
  readonly running: Set<Promise<unknown>>;
  holds(): boolean;
  stop(): void;
}

/** A Lease, and since when (monotonic milliseconds) it looks like that to this process. */
interface Seen {
  readonly lease: Lease | undefined;
  readonly text: string;
  readonly since: number;
}

/**
 * A Lease that may no longer be read, as after an upgrade to one shard: other replicas have the same rights, so they cannot renew it, and it
 * is free after its duration.
 */
const UNREADABLE: Lease = {
  metadata: { name: '', annotations: { [ANNOTATION_SHARDS]: 'unknown' } },
  spec: { holderIdentity: 'unknown' },
};

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, index) => from + index);

export const createShards = (options: ShardsOptions): Shards => {
  const { count, installation, election, client, clock, identity, logger } = options;
  const { namespace, name, leaseDurationMs = 15_000, renewDeadlineMs = 10_000, retryPeriodMs = 2_000 } = election;
  const seen = new Map<number, Seen>();
  const terms = new Map<number, Term>();
  const campaigns = new Set<number>();
  const callbacks: ((shard: number) => void)[] = [];
  const refOf = (shard: number): ObjectRef => ({ namespace, name: shardLease(name, shard) });
  const pause = (signal: AbortSignal): Promise<void> => sleep(clock, retryPeriodMs, signal).catch(() => undefined);

  const read = async (shard: number, signal: AbortSignal): Promise<void> => {
    const lease = await client.get<Lease>(LEASES, refOf(shard), signal).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      if (isForbidden(error) && shard > 0) return UNREADABLE;
      throw error;
    });
    const text = JSON.stringify(lease?.spec ?? null);
    const before = seen.get(shard);
    seen.set(shard, { lease, text, since: before?.text === text ? before.since : clock.monotonic() });
  };

  const look = async (shards: readonly number[], signal: AbortSignal): Promise<void> => {
    const deadline = createDeadline(clock, renewDeadlineMs / 2, signal);
    try {
      await Promise.all(shards.map((shard) => read(shard, deadline.signal)));
    } finally {
      deadline.dispose();
    }
  };

  const leaseOf = (shard: number): Lease | undefined => seen.get(shard)?.lease;

  /** Whether its holder, or the one before, divides namespaces as this process does. */
  const isAlike = (shard: number): boolean => {
    const lease = leaseOf(shard);
    return shardsOf(lease) === count && installationOf(lease ?? {}) === installation;
  };

  /** For so long, milliseconds, the Lease is not held by anyone alive; negative: it still is. As leader election judges it. */
  const freeFor = (shard: number): number => {
    const { lease, since } = seen.get(shard) ?? { lease: undefined, since: clock.monotonic() };
    const held = lease !== undefined && holderOf(lease) !== '';
    const durationMs = (lease?.spec?.leaseDurationSeconds ?? 0) * 1_000 || leaseDurationMs;
    return clock.monotonic() - since - (held ? durationMs : 0);
  };
  const isLive = (shard: number): boolean => holderOf(leaseOf(shard) ?? {}) !== '' && freeFor(shard) < 0;

  /**
   * Whether all that hold shards divide namespaces alike. Asked after the own Lease is written, as all do: of two that divide them
   * otherwise at least one sees the other, and the leader's Lease says which of them goes on.
   */
  const agreed = async (shard: number, signal: AbortSignal): Promise<boolean> => {
    await look(range(0, MAX_SHARDS), signal);
    const others = range(0, MAX_SHARDS).filter((other) => other !== shard && (other === 0 || isLive(other)));
    return others.every(isAlike);
  };

  const isAgreed = (shard: number, signal: AbortSignal): Promise<boolean> =>
    agreed(shard, signal).catch((error: unknown) => {
      if (!signal.aborted) logger.warn('cannot read the Leases of the shards', { error });
      return false;
    });

  const agreement = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted && !(await isAgreed(0, signal))) await pause(signal);
  };

  const hold = async (shard: number, leader: AbortSignal, holds: () => boolean): Promise<void> => {
    const stop = new AbortController();
    const signal = AbortSignal.any([leader, stop.signal]);
    if (signal.aborted) return;
    const running = new Set<Promise<unknown>>();
    terms.set(shard, { signal, running, holds, stop: () => stop.abort(new Error('the shard is given back')) });
    logger.info('works on a shard', { shard, of: count });
    for (const callback of callbacks) callback(shard);
    await aborted(signal);
    terms.delete(shard);
    await Promise.allSettled(running);
    logger.info('stopped working on a shard', { shard, of: count });
    for (const callback of callbacks) callback(shard);
  };

  /** One try for a Lease, and the work while it is held. */
  const campaign = async (shard: number, signal: AbortSignal): Promise<void> => {
    // Not asked any more once the Lease is taken.
    const patience = createDeadline(clock, renewDeadlineMs);
    const ended = AbortSignal.any([signal, patience.signal]);
    const onStartedLeading = async (leader: AbortSignal, holds: () => boolean): Promise<void> => {
      patience.dispose();
      if (await isAgreed(shard, leader)) await hold(shard, leader, holds);
    };
    const { lease, since = 0 } = seen.get(shard) ?? {};
    const known = lease === undefined ? undefined : { lease, since };
    const own = { ...options, ...election, name: shardLease(name, shard), seen: known, onStartedLeading };
    const result = await runLeaderElection({ ...own, onStoppedLeading: () => undefined }, ended);
    patience.dispose();
    if (result.kind === 'failed') logger.warn('cannot work on a shard', { shard, error: result.error });
  };

  /** Shards of each holder that is alive. */
  const holders = (): Map<string, number[]> => {
    const live = range(0, count).filter(isLive);
    return Map.groupBy(live, (shard) => holderOf(leaseOf(shard) ?? {}));
  };

  /** A replica with fewer shards may have it; of several it goes to the one with the fewest, which is the first to try. */
  const mayTake = (shard: number, own: number): boolean =>
    isAlike(0) && (freeFor(shard) >= own * retryPeriodMs || holderOf(leaseOf(shard) ?? {}) === identity);

  const mustStop = (shard: number, own: number): boolean => {
    const wanted = leaseOf(shard)?.metadata?.annotations?.[ANNOTATION_WANTED_BY] ?? identity;
    return !isAlike(0) || (wanted !== identity && own > 1);
  };

  /** Asks the replica with the most shards for one, where it has two more. */
  const ask = async (own: number, signal: AbortSignal): Promise<void> => {
    const [most = []] = [...holders().values()].sort((left, right) => right.length - left.length);
    const shard = most.findLast((each) => each > 0);
    const lease = shard === undefined ? undefined : leaseOf(shard);
    if (lease === undefined || most.length < own + 2) return;
    if (lease.metadata?.annotations?.[ANNOTATION_WANTED_BY] !== undefined) return;
    const annotations = { ...lease.metadata?.annotations, [ANNOTATION_WANTED_BY]: identity };
    const deadline = createDeadline(clock, renewDeadlineMs / 2, signal);
    const wish: Lease = { ...lease, metadata: { ...lease.metadata, annotations } };
    await client
      .update<Lease>(LEASES, wish, {}, deadline.signal)
      .catch((error: unknown) => {
        if (!isConflict(error) && !isNotFound(error)) throw error;
      })
      .finally(() => deadline.dispose());
  };

  const round = async (running: Set<Promise<void>>, signal: AbortSignal): Promise<void> => {
    await look(range(0, count), signal);
    const own = holders().get(identity)?.length ?? 0;
    for (const shard of range(1, count)) {
      const term = terms.get(shard);
      if (term !== undefined && mustStop(shard, own)) term.stop();
      if (campaigns.has(shard) || !mayTake(shard, own)) continue;
      campaigns.add(shard);
      const task = campaign(shard, signal).finally(() => {
        campaigns.delete(shard);
        running.delete(task);
      });
      running.add(task);
    }
    if ([...campaigns].every((shard) => terms.has(shard))) await ask(own, signal);
  };

  const termOf = (of: string): Term | undefined => {
    const term = terms.get(shardOf(of, count));
    return term !== undefined && !term.signal.aborted && term.holds() ? term : undefined;
  };

  return {
    count,
    held: () => range(0, count).filter((shard) => terms.has(shard)),
    holds: (of) => termOf(of) !== undefined,
    intact: () => [...terms.values()].every((term) => term.holds()),
    async within(of, signal, work) {
      const term = termOf(of);
      if (term === undefined) return undefined;
      const turn = work(AbortSignal.any([signal, term.signal]));
      term.running.add(turn);
      try {
        return await turn;
      } catch (error) {
        if (term.signal.aborted) return undefined;
        throw error;
      } finally {
        term.running.delete(turn);
      }
    },
    onChange: (callback) => void callbacks.push(callback),
    async run(signal) {
      const running = new Set<Promise<void>>();
      while (!signal.aborted) {
        await round(running, signal).catch((error: unknown) => {
          if (!signal.aborted) logger.warn('cannot read the Leases of the shards', { error });
        });
        await pause(signal);
      }
      await Promise.all(running);
    },
    async lead(signal) {
      await agreement(signal);
      await hold(0, signal, () => true);
    },
    async undivided(signal) {
      for (; !signal.aborted; await pause(signal)) {
        const known = await look([0], signal).then(
          () => true,
          () => false,
        );
        if (known) break;
      }
      if (wasSharded(leaseOf(0))) await agreement(signal);
      signal.throwIfAborted();
    },
  };
};
