// Follows one Lease and says whether its holder is alive: the dead man's switch of what the holder leaves behind.
import type { ObjectRef } from '../apis/meta.ts';
import { LEASES } from '../apis/resources.ts';
import type { Logger } from '../telemetry/types.ts';
import { createInformer } from './informer.ts';
import { installationOf } from './lease.ts';
import type { Lease } from './lease.ts';
import type { Client, Clock } from './types.ts';

/** A Lease that was not renewed for this long belongs to a holder that is gone. */
export const HOLDER_TIMEOUT_MS = 600_000;

export interface HolderLivenessOptions {
  clock: Pick<Clock, 'now' | 'monotonic'>;
  /** Default 10 minutes. */
  timeoutMs?: number;
}

/** Whether the holder is alive, judged by renewals seen on our own clock, so that clocks need not agree. */
export interface HolderLiveness {
  /** A Lease as the server holds it. */
  observe(lease: Lease): void;
  /** There is no Lease (any more): it is not held until one appears. */
  gone(): void;
  /**
   * True while nothing is known yet: a restart of who watches is no reason to drop anything.
   *
   * @param at - up to when the server was heard, monotonic milliseconds; default: now. Who is cut off learns of no renewal.
   */
  alive(at?: number): boolean;
  /** Whether the server has reported a Lease, or its absence. */
  known(): boolean;
}

export const createHolderLiveness = (options: HolderLivenessOptions): HolderLiveness => {
  const { clock, timeoutMs = HOLDER_TIMEOUT_MS } = options;
  let renewal: string | undefined;
  /** Monotonic time of the last renewal; undefined: none is known. */
  let renewedAt: number | undefined;
  let known = false;

  /** A Lease met for the first time may be old already; only that age depends on the other's clock. */
  const firstAge = (renewTime: string | undefined): number => {
    const age = clock.now() - Date.parse(renewTime ?? '');
    return Number.isNaN(age) ? timeoutMs : Math.max(0, age);
  };

  return {
    observe({ spec }) {
      const renewTime = spec?.renewTime ?? undefined;
      if (known && renewedAt !== undefined && renewTime === renewal) return;
      renewedAt = clock.monotonic() - (known && renewedAt !== undefined ? 0 : firstAge(renewTime));
      renewal = renewTime;
      known = true;
    },
    gone() {
      known = true;
      renewal = undefined;
      renewedAt = undefined;
    },
    known: () => known,
    alive: (at = clock.monotonic()) => !known || (renewedAt !== undefined && at - renewedAt < timeoutMs),
  };
};

export interface LeaseWatchOptions {
  client: Client;
  lease: Required<ObjectRef>;
  clock: Clock;
  /** In [0, 1): spreads retries. */
  random: () => number;
  logger: Logger;
}

export interface LeaseWatch extends Pick<HolderLiveness, 'known'> {
  /** Whether the holder renewed its Lease in time, as far as the server was heard. True while nothing is known yet. */
  alive(): boolean;
  /** Namespace of the installation that holds the Lease or held it last; empty where none says so. */
  installation(): string;
  /** Calls back when the server reports something after which one of the answers is another; not when a Lease just grows old. */
  onChange(callback: () => void): void;
  /** Follows the Lease until the signal aborts; rejects never. */
  run(signal: AbortSignal): Promise<void>;
}

/** Watches that one Lease and nothing else. */
export const createLeaseWatch = (options: LeaseWatchOptions): LeaseWatch => {
  const { client, lease, clock, random, logger } = options;
  const callbacks: (() => void)[] = [];
  const liveness = createHolderLiveness({ clock });
  let installation = '';
  const informer = createInformer<Lease>({
    client,
    resource: LEASES,
    selection: { namespace: lease.namespace, fieldSelector: `metadata.name=${lease.name}` },
    clock,
    random,
    logger,
  });
  const alive = (): boolean => liveness.alive(clock.monotonic() - informer.stalenessMs());
  const observe = (change: () => void): void => {
    const before = [alive(), liveness.known(), installation];
    change();
    const after = [alive(), liveness.known(), installation];
    if (after.some((value, index) => value !== before[index])) for (const callback of callbacks) callback();
  };
  informer.addHandlers({
    onUpsert: (object) =>
      observe(() => {
        liveness.observe(object);
        installation = installationOf(object);
      }),
    onDelete: () => observe(() => liveness.gone()),
  });
  return {
    alive,
    known: () => liveness.known(),
    installation: () => installation,
    onChange: (callback) => void callbacks.push(callback),
    async run(signal) {
      const running = informer.run(signal);
      try {
        await informer.waitForSync(signal);
        if (informer.store.size === 0) observe(() => liveness.gone());
      } catch {
        // Aborted before the first list: nothing was learned, and no caller waits.
      }
      await running;
    },
  };
};
