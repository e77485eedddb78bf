// Sends HTTP requests over one pooled undici agent, and breaks connections whose other end is gone without a word.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type ClientHttp2Stream, constants } from 'node:http2';
import type { Socket } from 'node:net';
import { Agent, Client, type Dispatcher, ProxyAgent, buildConnector, request } from 'undici';
import { defined, isFields } from '../apis/values.ts';
import { abortable } from './wait.ts';
import { type Credentials, type KubeConfigSource, type TlsMaterial, sameTls } from './credentials.ts';
import type { Clock, Refusal, TimerHandle, Uses } from './types.ts';

/** `code` of the error that ends such a connection. */
export const SILENT_CONNECTION = 'ERR_SILENT_CONNECTION';

const CHECK_INTERVAL_MS = 15_000;

// With a ping every 30 s a living server lets at most two checks pass without a byte; the third is 15 s after a ping
// that was not answered, client-go's ping timeout. Counting checks instead of time forgives a process that was suspended.
const MAX_SILENT_CHECKS = 3;

/**
 * Destroys `socket` once nothing was received over three checks, 45 s; ends by itself when the socket closes.
 *
 * For connections on which the peer must answer pings only: undici sends them but does not mind if no answer comes.
 */
export const guardConnection = (socket: Socket, clock: Clock): void => {
  let received = socket.bytesRead;
  let silent = 0;
  let timer: TimerHandle;
  const check = (): void => {
    silent = socket.bytesRead === received ? silent + 1 : 0;
    received = socket.bytesRead;
    if (silent >= MAX_SILENT_CHECKS) {
      socket.destroy(Object.assign(new Error('the connection does not answer pings'), { code: SILENT_CONNECTION }));
      return;
    }
    timer = clock.setTimeout(check, CHECK_INTERVAL_MS);
  };
  timer = clock.setTimeout(check, CHECK_INTERVAL_MS);
  socket.once('close', () => timer.cancel());
};

/** Node's documented channel for streams of HTTP/2 clients; published before any other code can use the stream. */
const STREAM_CREATED = 'http2.client.stream.created';

/**
 * undici gives up a request with `stream.close()` and `stream.destroy()` in one go. Without a code, `close` waits until the request's body is flushed
 * before it sends RST_STREAM, and `destroy` then forgets to: the server goes on, and nghttp2 asks for the rest of a body that is gone, endlessly and
 * without yielding. With a code the reset is sent at once.
 */
const resetOnClose = (stream: ClientHttp2Stream): void => {
  const close = stream.close.bind(stream);
  stream.close = (code = constants.NGHTTP2_CANCEL, callback) => close(code, callback);
};

const guardStream = (message: unknown): void => {
  if (!isFields(message) || !('stream' in message)) return;
  const stream = message['stream'] as ClientHttp2Stream;
  if (stream.sentHeaders !== undefined) return resetOnClose(stream);
  // This one was not requested: the answer to a request that was given up came before its reset was out, and Node takes it for a
  // stream that the server opened. The reset ends it; a connection that breaks first would be an 'error' event without listener.
  stream.on('error', () => undefined);
};

/**
 * Guards the HTTP/2 streams that are opened from now on; returns what ends that. Streams cannot be distinguished by
 * connection here, so it covers every HTTP/2 client of the process, which asks nothing else of its streams.
 */
export const guardStreams = (): (() => void) => {
  // A function of its own for each guard: ending one must not end another.
  const guard = (message: unknown): void => guardStream(message);
  subscribe(STREAM_CREATED, guard);
  return () => void unsubscribe(STREAM_CREATED, guard);
};

interface TransportOptions extends Uses<'clock'>, Pick<KubeConfigSource, 'server' | 'proxyUrl'> {
  /** Offers HTTP/2 in ALPN. Off, every watch holds a connection of its own. */
  allowH2: boolean;
}

export interface TransportRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path with query below the server's URL. */
  path: string;
  headers: Readonly<Record<string, string>>;
  body?: string;
  /** Leaves the connection that is there to what is open on it. Default false. */
  newConnection?: boolean;
  refusal?: Refusal | undefined;
  /** Aborts the request and, later, the reading of its body. */
  signal: AbortSignal;
}

// Below the idle timeouts of common load balancers (60 s and more), so that we close first and never write to a dead socket.
const KEEP_ALIVE_MS = 30_000;
// client-go's probe of an idle HTTP/2 connection.
const PING_INTERVAL_MS = 30_000;
const CONNECT_TIMEOUT_MS = 10_000;
// Many who ask for a new connection at the same time share one.
const SHARED_CONNECTION_MS = 1_000;
// undici's own ceiling of 100 would open a second connection for the 101st watch; the server's setting lowers it.
const MAX_STREAMS = 1_000;
// What a server sends before it waits for a word from here, a round trip; a stream's is that of Go's client (x/net/http2, transport.go).
const [STREAM_WINDOW_BYTES, CONNECTION_WINDOW_BYTES] = [4 * 2 ** 20, 16 * 2 ** 20];

/**
 * Asks when undici begins to send, which may be long after the request was made: it waits for a connection, and over HTTP/2 for one of
 * the streams that the server allows. After a GOAWAY frame it begins anew.
 */
const askFirst =
  (refusal: Refusal): Dispatcher.DispatcherComposeInterceptor =>
  (dispatch) =>
  (options, handler) => {
    const start = handler.onRequestStart?.bind(handler);
    handler.onRequestStart = (controller, context) => {
      start?.(controller, context);
      const refused = refusal();
      if (refused !== undefined) controller.abort(refused);
    };
    return dispatch(options, handler);
  };

const agentOptions = (allowH2: boolean): Agent.Options => ({
  allowH2,
  keepAliveTimeout: KEEP_ALIVE_MS,
  // Deadlines are the client's, on its own clock; undici would cut quiet watches after five minutes.
  headersTimeout: 0,
  bodyTimeout: 0,
  // Beside `h2Options`: undici 8.12 has its types read `h2Options.settings`, and its code nothing there.
  initialWindowSize: STREAM_WINDOW_BYTES,
  h2Options: {
    pingInterval: PING_INTERVAL_MS,
    maxConcurrentStreams: MAX_STREAMS,
    connectionWindowSize: CONNECTION_WINDOW_BYTES,
  },
});

const createDirectAgent = (options: buildConnector.BuildOptions, allowH2: boolean, clock: Clock): Agent => {
  const connect = buildConnector(options);
  let overHttp2 = false;
  const agent = new Agent({
    ...agentOptions(allowH2),
    connect: (target, callback) =>
      connect(target, (...result) => {
        const [error, socket] = result;
        if (error === null) {
          overHttp2 = 'alpnProtocol' in socket && socket.alpnProtocol === 'h2';
          if (overHttp2) guardConnection(socket, clock);
        }
        callback(...result);
      }),
  });
  // After a GOAWAY frame undici replays unanswered requests on a new connection, but with a pipelining of 1 only once the
  // last watch on the old one has ended. Over HTTP/1.1 more than 1 would queue requests behind watches.
  agent.on('connect', (_origin, targets) => {
    const client = targets.at(-1);
    if (client instanceof Client) client.pipelining = overHttp2 ? MAX_STREAMS : 1;
  });
  return agent;
};

const createAgent = ({ proxyUrl, allowH2, clock }: TransportOptions, tls: TlsMaterial): Dispatcher => {
  const connect: buildConnector.BuildOptions = {
    ...(tls as buildConnector.BuildOptions),
    allowH2,
    timeout: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelay: KEEP_ALIVE_MS,
  };
  if (proxyUrl === undefined) return createDirectAgent(connect, allowH2, clock);
  return new ProxyAgent({ ...agentOptions(allowH2), uri: proxyUrl, requestTls: connect });
};

export type Transport = ReturnType<typeof createTransport>;

export const createTransport = (options: TransportOptions) => {
  const base = new URL(options.server);
  const prefix = base.pathname === '/' ? '' : base.pathname.replace(/\/$/u, '');
  let current: { agent: Dispatcher; tls: TlsMaterial; openedAt: number } | undefined;
  const open = new Set<Dispatcher>();
  const endGuard = options.allowH2 ? guardStreams() : undefined;

  const agentFor = (tls: TlsMaterial, fresh: boolean): Dispatcher => {
    const now = options.clock.monotonic();
    const usable = current !== undefined && (!fresh || now - current.openedAt < SHARED_CONNECTION_MS);
    if (current !== undefined && usable && sameTls(current.tls, tls)) return current.agent;
    const old = current?.agent;
    const agent = createAgent(options, tls);
    current = { agent, tls, openedAt: now };
    open.add(agent);
    // Ends by itself when the last watch on it ends, at most its timeoutSeconds later.
    if (old !== undefined) void old.close().finally(() => open.delete(old));
    return agent;
  };

  return {
    /** Resolves with the head of the answer; the body must be read or destroyed. */
    send(
      { method, path, headers, body, newConnection = false, refusal, signal }: TransportRequest,
      credentials: Credentials,
    ): Promise<Dispatcher.ResponseData> {
      const agent = agentFor(credentials.tls, newConnection);
      const answer = request(`${base.origin}${prefix}${path}`, {
        dispatcher: refusal === undefined ? agent : agent.compose(askFirst(refusal)),
        method,
        headers: { ...headers, ...credentials.headers },
        ...defined({ body }),
        signal,
      });
      return abortable(answer, signal, (late) => late.body.destroy());
    },
    /** Breaks every connection; whatever is pending rejects. */
    async close(): Promise<void> {
      const agents = [...open];
      open.clear();
      current = undefined;
      await Promise.all(agents.map((agent) => agent.destroy()));
      endGuard?.();
    },
  };
};
