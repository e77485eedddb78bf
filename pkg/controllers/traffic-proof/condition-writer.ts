// Writes the condition TrafficDistributionHonored: server-side apply of that one condition, when it changes, and slowly.
//
// Each write of a Service makes the EndpointSlice controller sync it (pkg/controller/endpointslice of Kubernetes), so a change of
// one Service is written at most once a minute, and five changes a second of all.
import type { Service } from '../../apis/core.ts';
import type { Condition } from '../../apis/meta.ts';
import { CONDITION_HONORED } from '../../apis/names.ts';
import { refOfKey } from '../../apis/values.ts';
import { SERVICES } from '../../apis/resources.ts';
import { isNotFound } from '../../kubernetes/errors.ts';
import { createTokenBucket } from '../../kubernetes/rate-limiter.ts';
import { sleep } from '../../kubernetes/wait.ts';
import type { Client, Clock } from '../../kubernetes/types.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { Verdict } from '../../traffic/proof.ts';

/** Of server-side apply: what it owns is the one condition. */
export const FIELD_MANAGER = 'topology-traffic-proof';
/** Five within any second: none is saved up. */
const RATE = { ratePerSecond: 5, burst: 1 };
export const LEAST_BETWEEN_MS = 60_000;
const LOOK_MS = 500;

export interface ConditionWriterOptions {
  readonly client: Pick<Client, 'get' | 'patch'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface ConditionWriter {
  /** Asks for the condition of a Service (`namespace/name`). */
  set(key: string, verdict: Verdict): void;
  /** Asks for its removal. */
  withdraw(key: string): void;
  /** Forgets Services that are gone. */
  keep(present: ReadonlySet<string>): void;
  /** Writes until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

interface Entry {
  wanted: Verdict | undefined;
  /** What the Service is known to say; undefined before it was read. */
  written: { readonly condition: Condition | undefined; readonly nodes: string } | undefined;
  writtenAt: number | undefined;
}

export const honoredIn = ({ status }: Service): Condition | undefined =>
  status?.conditions?.find(({ type }) => type === CONDITION_HONORED);

/** Nodes come and go in a message; numbers alone are no news. */
const isNews = ({ wanted, written }: Entry): boolean => {
  if (written === undefined) return true;
  const { condition, nodes } = written;
  if (wanted === undefined || condition === undefined) return wanted !== undefined || condition !== undefined;
  return wanted.status !== condition.status || wanted.reason !== condition.reason || wanted.nodes.join() !== nodes;
};

const apply = async (
  client: Pick<Client, 'patch'>,
  ref: { namespace: string; name: string },
  condition: Condition | undefined,
  signal: AbortSignal,
): Promise<void> => {
  const patch = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: ref,
    // Without the condition apply takes off what this manager owned.
    ...(condition === undefined ? {} : { status: { conditions: [condition] } }),
  };
  const options = { fieldManager: FIELD_MANAGER, force: true, subresource: 'status' as const };
  await client.patch(SERVICES, ref, 'apply', patch, options, signal);
};

/** Removes the condition of all Services, at the same rate; returns how many had one. */
export const removeConditions = async (
  { client, clock }: { client: Pick<Client, 'pages' | 'patch'>; clock: Clock },
  signal: AbortSignal,
): Promise<number> => {
  const bucket = createTokenBucket({ clock, ...RATE });
  let removed = 0;
  for await (const { items } of client.pages<Service>(SERVICES, {}, signal)) {
    for (const { metadata = {} } of items.filter((service) => honoredIn(service) !== undefined)) {
      await sleep(clock, bucket.reserve(), signal);
      await apply(client, { namespace: metadata.namespace ?? '', name: metadata.name ?? '' }, undefined, signal);
      removed += 1;
    }
  }
  return removed;
};

export const createConditionWriter = ({ client, clock, logger }: ConditionWriterOptions): ConditionWriter => {
  const entries = new Map<string, Entry>();
  const bucket = createTokenBucket({ clock, ...RATE });

  const entryOf = (key: string): Entry => {
    const known = entries.get(key);
    if (known !== undefined) return known;
    const entry: Entry = { wanted: undefined, written: undefined, writtenAt: undefined };
    entries.set(key, entry);
    return entry;
  };

  /** What a leader before this one wrote is not written again. */
  const look = async (key: string, entry: Entry, signal: AbortSignal): Promise<void> => {
    const condition = honoredIn(await client.get<Service>(SERVICES, refOfKey(key), signal));
    const isSame = condition?.status === entry.wanted?.status && condition?.reason === entry.wanted?.reason;
    entry.written = { condition, nodes: isSame ? (entry.wanted?.nodes.join() ?? '') : '' };
  };

  const next = (wanted: Verdict, before: Condition | undefined): Condition => ({
    type: CONDITION_HONORED,
    status: wanted.status,
    reason: wanted.reason,
    message: wanted.message,
    lastTransitionTime:
      before?.status === wanted.status && before.lastTransitionTime !== undefined
        ? before.lastTransitionTime
        : new Date(clock.now()).toISOString(),
  });

  const write = async (key: string, entry: Entry, signal: AbortSignal): Promise<void> => {
    if (entry.written === undefined) await look(key, entry, signal);
    if (!isNews(entry)) return;
    const { wanted, written } = entry;
    const condition = wanted === undefined ? undefined : next(wanted, written?.condition);
    await apply(client, refOfKey(key), condition, signal);
    entry.written = { condition, nodes: wanted?.nodes.join() ?? '' };
    entry.writtenAt = clock.monotonic();
    logger.info('traffic distribution judged', { service: key, status: condition?.status, reason: condition?.reason });
  };

  const isDue = (entry: Entry): boolean =>
    isNews(entry) && (entry.writtenAt === undefined || clock.monotonic() - entry.writtenAt >= LEAST_BETWEEN_MS);

  const pass = async (signal: AbortSignal): Promise<void> => {
    for (const [key, entry] of entries) {
      if (!isDue(entry)) continue;
      await sleep(clock, bucket.reserve(), signal);
      try {
        await write(key, entry, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (isNotFound(error)) entries.delete(key);
        else {
          // As after a write: what is refused once a minute does no harm.
          entry.writtenAt = clock.monotonic();
          logger.warn('cannot write the condition of a Service', { service: key, error });
        }
      }
      if (entry.wanted === undefined && entry.written?.condition === undefined) entries.delete(key);
    }
  };

  return {
    set: (key, verdict) => void (entryOf(key).wanted = verdict),
    withdraw: (key) => void (entryOf(key).wanted = undefined),
    keep(present) {
      for (const key of entries.keys()) if (!present.has(key)) entries.delete(key);
    },
    async run(signal) {
      try {
        while (!signal.aborted) {
          await pass(signal);
          await sleep(clock, LOOK_MS, signal);
        }
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    },
  };
};
