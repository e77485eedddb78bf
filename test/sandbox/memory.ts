// A connection to the sandbox without a wire: what a client sends is answered by the router in this process, so that it is
// known at any time whether anything is on its way.
import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { Transport, TransportRequest } from '../../pkg/kubernetes/transport.ts';
import { createExchange, type Exchange } from './exchange.ts';

export interface MemoryConnection extends Transport {
  /** Requests without an answer, and answers and watches of which something has not been read yet. */
  readonly pending: number;
}

const cut = (): Error => Object.assign(new Error('the connection was cut'), { code: 'UND_ERR_SOCKET' });

/** Both ends of one request: a response to the router, a head and a body to the client. */
class MemoryResponse extends EventEmitter {
  statusCode = 200;
  /** Where the router resets the connection of HTTP/1.1. */
  readonly socket: { destroy(): void };
  readonly head: Promise<Dispatcher.ResponseData>;
  readonly #headers: Record<string, string | string[]> = {};
  readonly #body = new Readable({ read: () => undefined });
  #settle = { resolve: (_: Dispatcher.ResponseData): void => undefined, reject: (_: Error): void => undefined };
  #answered = false;

  constructor(resetConnection: () => void) {
    super();
    this.socket = { destroy: resetConnection };
    this.head = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    // The client may be gone before it looks.
    this.head.catch(() => undefined);
    this.#body.on('error', () => undefined);
    this.#body.once('close', () => this.emit('close'));
  }

  get pending(): boolean {
    return !this.#answered || this.#body.readableLength > 0 || (this.#body.readableEnded && !this.#body.closed);
  }

  setHeader(name: string, value: string | string[]): void {
    this.#headers[name] = value;
  }

  flushHeaders(): void {
    if (this.#answered) return;
    this.#answered = true;
    const { statusCode } = this;
    this.#settle.resolve({
      statusCode,
      headers: this.#headers,
      body: this.#body,
    } as unknown as Dispatcher.ResponseData);
  }

  write(chunk: string): void {
    this.#body.push(Buffer.from(chunk));
  }

  end(text = ''): void {
    if (text !== '') this.write(text);
    this.#body.push(null);
    this.flushHeaders();
  }

  /** Ends it for both, whatever has been answered. */
  break(reason: Error): void {
    this.#answered = true;
    this.#settle.reject(reason);
    this.#body.destroy(reason);
  }
}

const requestOf = (
  { method, path, headers, body }: TransportRequest,
  own: Readonly<Record<string, string | string[]>>,
) =>
  Object.assign(Readable.from(body === undefined ? [] : [Buffer.from(body)]), {
    method,
    url: path,
    headers: Object.fromEntries(
      Object.entries({ ...headers, ...own }).map(([key, value]) => [key.toLowerCase(), value]),
    ),
  });

/** Opens one; `route` is the sandbox's router. */
export const connectInMemory = (route: (exchange: Exchange) => void): MemoryConnection => {
  const open = new Set<MemoryResponse>();
  const breakAll = (): void => {
    for (const response of open) response.break(cut());
  };
  let closed = false;
  return {
    get pending() {
      return [...open].filter(({ pending }) => pending).length;
    },
    send(request, credentials) {
      const { signal } = request;
      if (signal.aborted) return Promise.reject(signal.reason as Error);
      if (closed) return Promise.reject(cut());
      const response = new MemoryResponse(breakAll);
      const abort = (): void => response.break(signal.reason as Error);
      open.add(response);
      signal.addEventListener('abort', abort, { once: true });
      response.once('close', () => {
        open.delete(response);
        signal.removeEventListener('abort', abort);
      });
      const incoming = requestOf(request, credentials.headers) as unknown as IncomingMessage;
      // Not before the caller waits, as on a wire.
      setImmediate(() => route(createExchange(incoming, response as unknown as ServerResponse)));
      return response.head;
    },
    close() {
      closed = true;
      breakAll();
      return Promise.resolve();
    },
  };
};
