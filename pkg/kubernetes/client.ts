// The client of the Kubernetes API, raw JSON over one pooled HTTP/2 connection; and clients that check every write before it is sent.
import { defined, scopedRefOf } from '../apis/values.ts';
import type { KubernetesObject } from '../apis/meta.ts';
import type { Resource } from '../apis/resources.ts';
import {
  CONTENT_TYPES,
  asList,
  asObject,
  collectionPath,
  listQuery,
  objectPath,
  pagesOf,
  watchQuery,
  withQuery,
  writeQuery,
} from './request.ts';
import { systemClock } from './wait.ts';
import { type ExchangeOptions, type Call, type Exchange, createExchange } from './exchange.ts';
import { createTransport } from './transport.ts';
import type { Client, DeleteOptions, ListOptions, Refusal, WatchEvent, WatchOptions } from './types.ts';
import { readEvents, watchTimeoutSeconds } from './watch.ts';

const DEFAULT_TIMEOUT_MS = 30_000;

// The server ends a watch at timeoutSeconds itself; later than this, the connection is dead without saying so.
const WATCH_GRACE_SECONDS = 15;

const deleteBody = ({ gracePeriodSeconds, preconditions }: DeleteOptions): unknown => ({
  apiVersion: 'v1',
  kind: 'DeleteOptions',
  // In the body, not the query: the server ignores query options of a DELETE that has a body.
  ...defined({ gracePeriodSeconds, preconditions }),
});

const createWatch = (exchange: Exchange, random: () => number): Client['watch'] =>
  async function* watch<T extends KubernetesObject>(
    resource: Resource,
    options: WatchOptions,
    signal: AbortSignal,
  ): AsyncGenerator<WatchEvent<T>, void> {
    const seconds = options.timeoutSeconds ?? watchTimeoutSeconds(random);
    const path = withQuery(collectionPath(resource, options.namespace), watchQuery(options, seconds));
    const call: Call = { method: 'GET', path };
    const { body, deadline: opened } = await exchange.open(call, signal);
    using deadline = opened;
    try {
      deadline.restart((seconds + WATCH_GRACE_SECONDS) * 1000);
      options.onOpen?.();
      for await (const event of readEvents<T>(body, { method: 'GET', path }, signal)) yield event;
    } catch (error) {
      throw exchange.failure(error, call, deadline, signal);
    } finally {
      body.destroy();
    }
  };

const createWrites = (exchange: Exchange): Pick<Client, 'create' | 'update' | 'patch' | 'delete'> => {
  const write = async <T extends KubernetesObject>(
    resource: Resource,
    name: string | undefined,
    call: Call,
    signal: AbortSignal | undefined,
  ): Promise<T> => asObject<T>(await exchange.json(call, signal), resource, name, call);

  return {
    create: async (resource, object, options = {}, signal) => {
      const path = withQuery(collectionPath(resource, object.metadata?.namespace), writeQuery(options));
      const call: Call = { method: 'POST', path, body: object, refusal: options.refusal };
      return await write(resource, object.metadata?.name, call, signal);
    },
    update: async (resource, object, options = {}, signal) => {
      const ref = scopedRefOf(object);
      const path = withQuery(objectPath(resource, ref, options.subresource), writeQuery(options));
      const call: Call = { method: 'PUT', path, body: object, refusal: options.refusal };
      return await write(resource, ref.name, call, signal);
    },
    patch: async (resource, ref, type, patch, options = {}, signal) => {
      const path = withQuery(objectPath(resource, ref, options.subresource), writeQuery(options));
      const { refusal } = options;
      const call: Call = { method: 'PATCH', path, body: patch, contentType: CONTENT_TYPES[type], refusal };
      return await write(resource, ref.name, call, signal);
    },
    delete: async (resource, ref, options = {}, signal) => {
      const path = objectPath(resource, ref);
      await exchange.json({ method: 'DELETE', path, body: deleteBody(options), refusal: options.refusal }, signal);
    },
  };
};

/**
 * Creates a client for one server and one identity. Close it when done: its connection and timers live until then.
 *
 * Requests refused with 429, and reads refused with 503 and a `Retry-After`, are sent again a few times. Nothing else
 * is: the caller's work queue knows better. Defaults: 30 s for a request, HTTP over one pooled connection, Math.random.
 */
export const createClient = (
  options: Pick<ExchangeOptions, 'config' | 'userAgent'> & Partial<ExchangeOptions>,
): Client => {
  const { config, userAgent, requestTimeoutMs = DEFAULT_TIMEOUT_MS, random = Math.random } = options;
  const clock = options.clock ?? systemClock;
  const { server, proxyUrl } = config;
  const transport = options.transport ?? createTransport({ server, proxyUrl, allowH2: true, clock });
  const exchange = createExchange({ config, transport, userAgent, requestTimeoutMs, clock, random });

  const list: Client['list'] = async <T extends KubernetesObject>(
    resource: Resource,
    listOptions: ListOptions = {},
    signal?: AbortSignal,
  ) => {
    const path = withQuery(collectionPath(resource, listOptions.namespace), listQuery(listOptions));
    const call: Call = { method: 'GET', path, newConnection: listOptions.newConnection === true };
    return asList<T>(await exchange.json(call, signal), resource, call);
  };

  return {
    server: new URL(server).origin,
    get: async (resource, ref, signal) => {
      const call: Call = { method: 'GET', path: objectPath(resource, ref) };
      return asObject(await exchange.json(call, signal), resource, ref.name, call);
    },
    list,
    pages: <T extends KubernetesObject>(resource: Resource, listOptions: ListOptions = {}, signal?: AbortSignal) => {
      const request = { method: 'GET', path: collectionPath(resource, listOptions.namespace) };
      return pagesOf<T>((asked, pageSignal) => list(resource, asked, pageSignal), request, listOptions, signal);
    },
    ...createWrites(exchange),
    watch: createWatch(exchange, random),
    raw: async (path, signal) => await exchange.json({ method: 'GET', path }, signal),
    text: async (path, signal, headers = {}) => await exchange.text({ method: 'GET', path, headers }, signal),
    close: () => transport.close(),
  };
};

/** Reads as `client` does; a write is sent where `refusal` says undefined, and rejects with what it says otherwise. */
export const createGuardedClient = (client: Client, refusal: Refusal): Client => {
  /** Runs the write, or does not. Options that refuse by themselves are asked as well. */
  const guarded = <O extends { refusal?: Refusal }, R>(
    options: O | undefined,
    write: (options: O & { refusal: Refusal }) => Promise<R>,
  ): Promise<R> => {
    const both = (): Error | undefined => refusal() ?? options?.refusal?.();
    const refused = both();
    return refused === undefined ? write({ ...(options as O), refusal: both }) : Promise.reject(refused);
  };
  return {
    ...client,
    create: (resource, object, options, signal) =>
      guarded(options, (asking) => client.create(resource, object, asking, signal)),
    update: (resource, object, options, signal) =>
      guarded(options, (asking) => client.update(resource, object, asking, signal)),
    patch: (resource, ref, type, patch, options, signal) =>
      guarded(options, (asking) => client.patch(resource, ref, type, patch, asking, signal)),
    delete: (resource, ref, options, signal) =>
      guarded(options, (asking) => client.delete(resource, ref, asking, signal)),
  };
};

/** A write that was not sent because another process leads, or may lead by now. */
export class NotLeadingError extends Error {
  override readonly name = 'NotLeadingError';

  constructor() {
    super('not sent: this process no longer holds the lease');
  }
}

/** Reads as `client` does; each write asks `holds` first and rejects with NotLeadingError where the answer is no. */
export const createFencedClient = (client: Client, holds: () => boolean): Client =>
  createGuardedClient(client, () => (holds() ? undefined : new NotLeadingError()));
