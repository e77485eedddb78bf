// Releases Services in namespaces that are not served any more, whichever process wrote what they still carry.
import type { Client, Clock, Result } from '../../kubernetes/types.ts';
import { CONFLICT_RETRY_MS, writeService } from './apply.ts';
import type { PlanWriter } from './apply.ts';
import { revertLabel } from './label.ts';
import { isOwnPolicy } from './status-writer.ts';
import type { Snapshot } from './types.ts';

/** As the settings reconciler waits (ADR 0009): the namespace's labels may come back. */
const LEAVE_AFTER_MS = 300_000;

export interface LeavingOptions {
  client: Pick<Client, 'patch'>;
  clock: Pick<Clock, 'monotonic'>;
  writer: Pick<PlanWriter, 'release'>;
}

export interface Leaving {
  /** Whether anything that this project set is left on it; `known`: this process has planned it. */
  isLeftBehind(key: string, snapshot: Snapshot, known: boolean): boolean;
  /** Releases it once it has been out of our namespaces for long enough; `done` when it is released. */
  release(key: string, snapshot: Snapshot, signal: AbortSignal): Promise<Result>;
  /** It is served (again), or carries nothing to revert. */
  stays(key: string): void;
  /** It is gone, or served again: what admission writes on it from now on is not left behind. */
  forget(key: string): void;
}

export const createLeaving = ({ client, clock, writer }: LeavingOptions): Leaving => {
  /** Since when the namespace is not served, monotonic milliseconds. */
  const since = new Map<string, number>();
  /** Services that this process released: admission may give them the label again that their annotation asks for. */
  const released = new Set<string>();
  return {
    isLeftBehind: (key, { service, slices, policy }, known) =>
      known ||
      slices.some(({ mark }) => mark !== undefined) ||
      (policy !== undefined && isOwnPolicy(policy)) ||
      (!released.has(key) && revertLabel(service).kind === 'patch'),
    async release(key, { service, slices }, signal) {
      const from = since.get(key) ?? clock.monotonic();
      since.set(key, from);
      const afterMs = from + LEAVE_AFTER_MS - clock.monotonic();
      if (afterMs > 0) return { kind: 'requeue', afterMs };
      const label = revertLabel(service);
      if (label.kind === 'patch' && !(await writeService(service, label, client, signal)))
        return { kind: 'requeue', afterMs: CONFLICT_RETRY_MS };
      const result = await writer.release(slices, signal);
      if (result.kind === 'requeue') return result;
      released.add(key);
      since.delete(key);
      return result;
    },
    stays: (key) => void since.delete(key),
    forget(key) {
      since.delete(key);
      released.delete(key);
    },
  };
};
