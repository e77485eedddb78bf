// Records Kubernetes Events without ever getting in the way: repeats are counted on one Event, floods and failures are dropped.
import { defined, keptIn, timeText } from '../apis/values.ts';
import type { Event } from '../apis/core.ts';
import { EVENTS } from '../apis/resources.ts';
import { ApiError, ifFound, isAlreadyExists } from './errors.ts';
import { type TokenBucket, createLru, createTokenBucket } from './rate-limiter.ts';
import { abortable, pause } from './wait.ts';
import type { Clock, EventInput, EventRecorder, Uses } from './types.ts';

/** How often and when an event happened; milliseconds since the epoch. */
interface Occurrences {
  count: number;
  firstAt: number;
  lastAt: number;
}

/** Longest message that the events API accepts, characters. */
const MAX_MESSAGE = 1_024;

/** Longest object name, minus a dot and 16 hexadecimal digits. */
const MAX_NAME = 253 - 17;

/** The API refuses an Event outside the namespace of its object; those of cluster-scoped objects live in `default`. */
const eventNamespace = ({ regarding: { namespace } }: EventInput): string => namespace || 'default';

/** An Event's name: that of its object, made a DNS name where it is none, and a number that makes it unique. */
export const eventName = ({ regarding }: EventInput, unique: bigint): string => {
  const base = regarding.name
    .toLowerCase()
    .replaceAll(/[^a-z0-9.-]/g, '-')
    .replaceAll(/^[.-]+|[.-]+$/g, '');
  return `${(base === '' ? 'event' : base).slice(0, MAX_NAME).replace(/[.-]+$/, '')}.${unique.toString(16).padStart(16, '0')}`;
};

const buildEvent = (
  event: EventInput,
  name: string,
  { count, firstAt, lastAt }: Occurrences,
  { component, instance }: EventRecorderOptions,
): Event => ({
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name, namespace: eventNamespace(event) },
  involvedObject: event.regarding,
  type: event.type,
  reason: event.reason,
  message: event.message.length > MAX_MESSAGE ? `${event.message.slice(0, MAX_MESSAGE - 1)}…` : event.message,
  source: { component },
  reportingComponent: component,
  reportingInstance: instance,
  firstTimestamp: timeText(firstAt),
  lastTimestamp: timeText(lastAt),
  count,
});

type EventDropReason = 'Flood' | 'QueueFull' | 'Refused' | 'Unreachable' | 'Stopped';

export interface EventRecorderOptions extends Uses<'client' | 'clock' | 'logger', 'create' | 'patch'> {
  component: string;
  /** This process, for example the Pod's name. */
  instance: string;
  /** Events that wait to be sent; more are dropped. Default 1,000. */
  queueSize?: number;
  onDropped?: (reason: EventDropReason) => void;
}

const REMEMBERED = 4_096;
/** Events of one object that may come at once (client-go's spam filter). */
const BURST_PER_OBJECT = 25;
/** Events of one object in the long run, a second. */
const RATE_PER_OBJECT = 1 / 300;

/** Tries of one event while the server cannot be reached, and milliseconds between two. */
const ATTEMPTS = 4;
const RETRY_MS = 2_000;

type Pending = Occurrences & { readonly event: EventInput };

const objectKey = ({ regarding }: EventInput): string =>
  JSON.stringify([regarding.apiVersion, regarding.kind, regarding.namespace, regarding.name, regarding.uid]);

const eventKey = (event: EventInput): string =>
  JSON.stringify([objectKey(event), event.type, event.reason, event.message]);

/** Per object, so that one that flaps cannot crowd out the others. */
const createSpamFilter = (clock: Clock): ((event: EventInput) => boolean) => {
  const buckets = createLru<TokenBucket>(REMEMBERED);
  return (event) => {
    const rate = { ratePerSecond: RATE_PER_OBJECT, burst: BURST_PER_OBJECT };
    return keptIn(buckets, objectKey(event), () => createTokenBucket({ clock, ...rate })).tryTake();
  };
};

const createWriter = (options: EventRecorderOptions): ((pending: Pending, signal: AbortSignal) => Promise<void>) => {
  const { client, clock } = options;
  const known = createLru<Occurrences & { readonly name: string }>(REMEMBERED);
  let sequence = 0n;

  const uniqueNumber = (): bigint => {
    sequence += 1n;
    return BigInt(clock.now()) * 1_000_000n + (sequence % 1_000_000n);
  };

  const create = async (key: string, pending: Pending, signal: AbortSignal): Promise<void> => {
    const { event, count, firstAt, lastAt } = pending;
    for (let retried = false; ; retried = true) {
      const name = eventName(event, uniqueNumber());
      try {
        await client.create(EVENTS, buildEvent(event, name, pending, options), {}, signal);
        known.set(key, { name, count, firstAt, lastAt });
        return;
      } catch (error) {
        // Another process took this very name in this very millisecond.
        if (retried || !isAlreadyExists(error)) throw error;
      }
    }
  };

  return async (pending, signal) => {
    const { event, lastAt } = pending;
    const key = eventKey(event);
    const before = known.get(key);
    if (before === undefined) return create(key, pending, signal);
    const count = before.count + pending.count;
    const ref = { namespace: eventNamespace(event), name: before.name };
    const patch = { count, lastTimestamp: timeText(lastAt) };
    if ((await ifFound(client.patch(EVENTS, ref, 'merge', patch, {}, signal))) !== undefined)
      return known.set(key, { ...before, count, lastAt });
    // Events live for an hour by default: the next one starts with the count so far.
    known.delete(key);
    return create(key, { ...pending, count, firstAt: before.firstAt }, signal);
  };
};

/** Keeps failures out of the log after the first of each kind. */
const createComplaints = ({ logger, onDropped }: EventRecorderOptions) => {
  const said = new Set<EventDropReason>();
  return (reason: EventDropReason, event: EventInput, error?: unknown): void => {
    onDropped?.(reason);
    const fields = { cause: reason, event: event.reason, object: event.regarding, ...defined({ error }) };
    if (said.has(reason)) logger.debug('event dropped', fields);
    else logger.warn('event dropped; further ones for this cause are logged at debug level only', fields);
    said.add(reason);
  };
};

/** Sends in the background; when `signal` aborts, what waits is dropped. */
export const createEventRecorder = (options: EventRecorderOptions, signal: AbortSignal): EventRecorder => {
  const { clock, queueSize = 1_000 } = options;
  const allow = createSpamFilter(options.clock);
  const write = createWriter(options);
  const drop = createComplaints(options);
  /** By event, oldest first: repeats that wait are counted and sent once. */
  const queue = new Map<string, Pending>();
  let sending: Promise<void> | undefined;

  const send = async (pending: Pending): Promise<void> => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await write(pending, signal);
        return;
      } catch (error) {
        if (signal.aborted) return drop('Stopped', pending.event);
        // An answer is final (the namespace is gone, we are not allowed to, …); no answer may change.
        if (error instanceof ApiError && error.status < 500) return drop('Refused', pending.event, error);
        if (attempt >= ATTEMPTS) return drop('Unreachable', pending.event, error);
        await pause(clock, RETRY_MS, signal);
      }
    }
  };

  const drain = async (): Promise<void> => {
    for (let [next] = queue; next !== undefined; [next] = queue) {
      const [key, pending] = next;
      queue.delete(key);
      await send(pending);
    }
    sending = undefined;
  };

  return {
    record(event) {
      if (signal.aborted) return drop('Stopped', event);
      if (!allow(event)) return drop('Flood', event);
      const now = clock.now();
      const key = eventKey(event);
      const waiting = queue.get(key);
      if (waiting !== undefined) {
        waiting.count += 1;
        waiting.lastAt = now;
        return undefined;
      }
      if (queue.size >= queueSize) return drop('QueueFull', event);
      queue.set(key, { event, count: 1, firstAt: now, lastAt: now });
      sending ??= Promise.resolve().then(drain);
      return undefined;
    },
    async flush(limit) {
      limit?.throwIfAborted();
      if (sending === undefined) return;
      await (limit === undefined ? sending : abortable(sending, limit));
    },
  };
};
