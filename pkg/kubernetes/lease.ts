// A Lease: what a holder writes, one try to take or renew it by when this process saw it change, and whether its holder is alive.
import type { Lease } from '../apis/core.ts';
import type { ObjectMeta, ObjectRef, OwnerReference } from '../apis/meta.ts';
import { ANNOTATION_INSTALLATION } from '../apis/names.ts';
import { defined } from '../apis/values.ts';
import { LEASES } from '../apis/resources.ts';
import { ifFound, isAlreadyExists, isConflict, isNotFound } from './errors.ts';
import { createInformer } from './informer.ts';
import type { ClientContext, Clock, Uses } from './types.ts';

/** Milliseconds since the epoch as meta/v1 MicroTime: RFC 3339 with exactly six digits, which Go's parser insists on. */
export const microTime = (ms: number): string => new Date(ms).toISOString().replace('Z', '000Z');

export const holderOf = (lease: Lease): string => lease.spec?.holderIdentity ?? '';

/** What a holder puts on a Lease beside its name when it takes it; the marks of the holder before go. */
interface HolderMarks {
  /** Namespace of the holder's installation, where several share the Lease. */
  readonly installation?: string;
  /** What the Lease goes with. */
  readonly owner?: OwnerReference | undefined;
}

/** Namespace of the installation that holds the Lease, as it says; empty where it does not. */
export const installationOf = (lease: Lease): string => lease.metadata?.annotations?.[ANNOTATION_INSTALLATION] ?? '';

/** Leases count whole seconds; rounded up, so that followers never wait less than the holder believes. */
const durationSeconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1_000));

const marked = (metadata: ObjectMeta, marks: HolderMarks | undefined): ObjectMeta => {
  if (marks === undefined) return metadata;
  const { installation, owner } = marks;
  const annotations = defined({ ...metadata.annotations, [ANNOTATION_INSTALLATION]: installation });
  return defined({ ...metadata, annotations, ownerReferences: owner && [owner] });
};

/** The Lease that takes or renews leadership, from what the server holds (absent: to create). */
export const claimLease = (
  ref: ObjectRef,
  current: Lease | undefined,
  options: Pick<LeaseLockOptions, 'identity' | 'leaseDurationMs'> & {
    /** Wall clock, milliseconds since the epoch. */
    readonly now: number;
    /** Default: none, and those that are there stay. */
    readonly marks?: HolderMarks | undefined;
  },
): Lease => {
  const { identity, leaseDurationMs, now, marks } = options;
  const spec = current?.spec;
  const renews = current !== undefined && holderOf(current) === identity;
  const time = microTime(now);
  return {
    ...current,
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: renews ? { ...ref, ...current.metadata } : marked({ ...ref, ...current?.metadata }, marks),
    spec: {
      ...spec,
      holderIdentity: identity,
      leaseDurationSeconds: durationSeconds(leaseDurationMs),
      acquireTime: renews ? (spec?.acquireTime ?? time) : time,
      renewTime: time,
      leaseTransitions: (spec?.leaseTransitions ?? 0) + (renews || current === undefined ? 0 : 1),
    },
  };
};

/** The Lease that gives leadership up: no holder, and followers need not wait (client-go's values). */
export const releaseLease = (current: Lease, now: number): Lease => ({
  ...current,
  spec: {
    ...current.spec,
    holderIdentity: '',
    leaseDurationSeconds: 1,
    acquireTime: microTime(now),
    renewTime: microTime(now),
  },
});

export interface LeaseLockOptions extends Uses<'client' | 'clock', 'get' | 'create' | 'update'> {
  namespace: string;
  name: string;
  /** Of who takes it; must differ from every other candidate's, also from this process' last life. */
  identity: string;
  /** How long candidates wait after the last renewal they saw, milliseconds. Written in whole seconds, rounded up. */
  leaseDurationMs: number;
  /** What the Lease is marked with when it is taken. Default: nothing. */
  marks?: ((signal: AbortSignal) => Promise<HolderMarks>) | undefined;
  /** Hears each change of the holder that is observed; empty: none. */
  onHolder?: (holder: string) => void;
}

export type Attempt =
  /** This process holds the Lease; `sentAt` (monotonic) is before the write that made it so. */
  | { readonly kind: 'held'; readonly sentAt: number }
  | { readonly kind: 'other'; readonly holder: string }
  /** Another writer was faster: who holds it shows at the next try. */
  | { readonly kind: 'contended' };

export const createLeaseLock = (options: LeaseLockOptions) => {
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
  const isValid = (current: Lease): boolean =>
    clock.monotonic() < observedAt + ((current.spec?.leaseDurationSeconds ?? 0) * 1_000 || leaseDurationMs);

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

  const read = (signal: AbortSignal): Promise<Lease | undefined> => ifFound(client.get<Lease>(LEASES, ref, signal));

  return {
    /** Takes the Lease if it is free or expired, renews it if this process holds it. Rejects with what the client rejects with. */
    async tryAcquireOrRenew(signal: AbortSignal): Promise<Attempt> {
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
    /** Releases the Lease if this process still holds it. */
    async release(signal: AbortSignal): Promise<void> {
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

export type LeaseLock = ReturnType<typeof createLeaseLock>;

/** A Lease that was not renewed for this long belongs to a holder that is gone. */
export const HOLDER_TIMEOUT_MS = 600_000;

/** Whether the holder is alive, judged by renewals seen on our own clock, so that clocks need not agree. */
export const createHolderLiveness = (clock: Pick<Clock, 'now' | 'monotonic'>) => {
  let renewal: string | undefined;
  /** Monotonic time of the last renewal; undefined: none is known. */
  let renewedAt: number | undefined;
  let known = false;

  /** A Lease met for the first time may be old already; only that age depends on the other's clock. */
  const firstAge = (renewTime: string | undefined): number => {
    const age = clock.now() - Date.parse(renewTime ?? '');
    return Number.isNaN(age) ? HOLDER_TIMEOUT_MS : Math.max(0, age);
  };

  return {
    /** A Lease as the server holds it. */
    observe({ spec }: Lease): void {
      const renewTime = spec?.renewTime ?? undefined;
      if (known && renewedAt !== undefined && renewTime === renewal) return;
      renewedAt = clock.monotonic() - (known && renewedAt !== undefined ? 0 : firstAge(renewTime));
      renewal = renewTime;
      known = true;
    },
    /** There is no Lease (any more): it is not held until one appears. */
    gone(): void {
      known = true;
      renewal = undefined;
      renewedAt = undefined;
    },
    /** Whether the server has reported a Lease, or its absence. */
    known: (): boolean => known,
    /**
     * True while nothing is known yet: a restart of who watches is no reason to drop anything.
     *
     * @param at - up to when the server was heard, monotonic milliseconds; default: now. Who is cut off learns of no renewal.
     */
    alive: (at = clock.monotonic()): boolean =>
      !known || (renewedAt !== undefined && at - renewedAt < HOLDER_TIMEOUT_MS),
  };
};

export const createLeaseWatch = (options: ClientContext & { lease: Required<ObjectRef> }) => {
  const { lease, clock } = options;
  const callbacks: (() => void)[] = [];
  const liveness = createHolderLiveness(clock);
  let installation = '';
  const informer = createInformer<Lease>({
    ...options,
    resource: LEASES,
    selection: { namespace: lease.namespace, fieldSelector: `metadata.name=${lease.name}` },
    onUpsert: (object) =>
      observe(() => {
        liveness.observe(object);
        installation = installationOf(object);
      }),
    onDelete: () => observe(() => liveness.gone()),
  });
  const alive = (): boolean => liveness.alive(clock.monotonic() - informer.stalenessMs());
  const observe = (change: () => void): void => {
    const before = [alive(), liveness.known(), installation];
    change();
    const after = [alive(), liveness.known(), installation];
    if (after.some((value, index) => value !== before[index])) for (const callback of callbacks) callback();
  };
  return {
    /** Whether the holder renewed its Lease in time, as far as the server was heard. True while nothing is known yet. */
    alive,
    known: (): boolean => liveness.known(),
    /** Namespace of the installation that holds the Lease or held it last; empty where none says so. */
    installation: (): string => installation,
    /** Calls back when the server reports something after which one of the answers is another; not when a Lease just grows old. */
    onChange: (callback: () => void): void => void callbacks.push(callback),
    /** Follows the Lease until the signal aborts; rejects never. */
    async run(signal: AbortSignal): Promise<void> {
      const running = informer.run(signal);
      try {
        await informer.waitForSync(signal);
        if (informer.store.size() === 0) observe(() => liveness.gone());
      } catch {
        // Aborted before the first list: nothing was learned, and no caller waits.
      }
      await running;
    },
  };
};

export type LeaseWatch = ReturnType<typeof createLeaseWatch>;
