// Plain HTTP access to an API server by kubeconfig, so that the contract is checked on the wire and not through a client's eyes.
import { request, type RequestOptions } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { KubeConfig } from '@kubernetes/client-node';

/** Any JSON of the API; tests read deep into answers to what they wrote themselves, so leaves look like objects too. */
export interface Json {
  [field: string]: Json;
}

/** A value as text: strings as they are, everything else as JSON. */
export const text = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));

/** A value that is a list. */
export const list = (value: Json | undefined): Json[] => (Array.isArray(value) ? (value as Json[]) : []);

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  /** The body as JSON; empty when it is none. */
  readonly body: Json;
}

export interface CallOptions {
  readonly body?: unknown;
  readonly contentType?: string;
  readonly headers?: Record<string, string>;
}

export interface WatchFrame {
  readonly type: string;
  readonly object: Json;
}

/** A watch that collects its events. */
export interface Watching {
  readonly status: number;
  readonly events: readonly WatchFrame[];
  readonly ended: boolean;
  /** Resolves with the first event (from `start` on) that matches; fails after a generous while. */
  until(matches: (event: WatchFrame) => boolean, start?: number): Promise<WatchFrame>;
  /** Resolves when the server ends the watch. */
  end(): Promise<void>;
  stop(): void;
}

export interface Api {
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  get(path: string): Promise<Answer>;
  post(path: string, body: unknown): Promise<Answer>;
  put(path: string, body: unknown): Promise<Answer>;
  patch(path: string, type: 'json' | 'merge' | 'strategic', body: unknown): Promise<Answer>;
  delete(path: string, body?: unknown): Promise<Answer>;
  watch(path: string): Promise<Watching>;
}

const WAIT_MS = 60_000;
const PATCH_TYPES = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
};

const parse = (body: string): Json => {
  try {
    return JSON.parse(body) as Json;
  } catch {
    return {};
  }
};

const readText = async (response: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
};

const connect = async (kubeconfig: string): Promise<{ server: URL; options: RequestOptions }> => {
  const config = new KubeConfig();
  config.loadFromString(kubeconfig);
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options as Parameters<KubeConfig['applyToHTTPSOptions']>[0]);
  return { server: new URL(config.getCurrentCluster()?.server ?? ''), options: { ...options, agent: false } };
};

const collect = (response: IncomingMessage): Watching => {
  const events: WatchFrame[] = [];
  const waiters = new Set<() => void>();
  let rest = '';
  let ended = false;
  const wake = (): void => {
    for (const waiter of waiters) waiter();
  };
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line !== '') events.push(JSON.parse(line) as WatchFrame);
    wake();
  });
  const finish = (): void => {
    ended = true;
    wake();
  };
  response.on('close', finish).on('error', finish);

  const wait = <T>(ready: () => T | undefined, what: string): Promise<T> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiters.delete(check);
        reject(new Error(`${what}; seen: ${JSON.stringify(events)}`));
      }, WAIT_MS);
      const check = (): void => {
        const value = ready();
        if (value === undefined) return;
        clearTimeout(timer);
        waiters.delete(check);
        resolve(value);
      };
      waiters.add(check);
      check();
    });

  return {
    status: response.statusCode ?? 0,
    events,
    get ended() {
      return ended;
    },
    until: (matches, start = 0) => wait(() => events.slice(start).find((event) => matches(event)), 'no event matched'),
    end: () => wait(() => (ended ? true : undefined), 'the watch did not end').then(() => undefined),
    stop: () => void response.destroy(),
  };
};

/** Access as the user of a kubeconfig (YAML). Every call uses a connection of its own. */
export const createApi = async (kubeconfig: string): Promise<Api> => {
  const { server, options } = await connect(kubeconfig);

  const send = (method: string, path: string, { body, contentType, headers }: CallOptions): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const payload = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
      const outgoing = request(
        {
          ...options,
          host: server.hostname,
          port: server.port,
          method,
          path,
          headers: {
            ...(options.headers as Record<string, string> | undefined),
            accept: 'application/json',
            ...(payload === undefined
              ? {}
              : {
                  'content-type': contentType ?? 'application/json',
                  'content-length': String(Buffer.byteLength(payload)),
                }),
            ...headers,
          },
        },
        resolve,
      );
      outgoing.on('error', reject);
      outgoing.end(payload);
    });

  const call = async (method: string, path: string, callOptions: CallOptions = {}): Promise<Answer> => {
    const response = await send(method, path, callOptions);
    const answered = await readText(response);
    return { status: response.statusCode ?? 0, headers: response.headers, text: answered, body: parse(answered) };
  };

  return {
    call,
    get: (path) => call('GET', path),
    post: (path, body) => call('POST', path, { body }),
    put: (path, body) => call('PUT', path, { body }),
    patch: (path, type, body) => call('PATCH', path, { body, contentType: PATCH_TYPES[type] }),
    delete: (path, body) => call('DELETE', path, body === undefined ? {} : { body }),
    watch: async (path) => collect(await send('GET', path, {})),
  };
};
