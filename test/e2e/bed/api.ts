// A small client for what the bed itself does with the API; it reaches the server through a Unix socket from anywhere.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { createInterface } from 'node:readline';
import type { KeyPair } from './access.ts';

/** An object of the API, read as plainly as it came. */
export type KubernetesObject = Record<string, unknown> & {
  metadata: { name: string; namespace?: string; uid?: string; labels?: Record<string, string> } & Record<
    string,
    unknown
  >;
};

/** What has conditions. */
export interface Conditioned {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

/** What `waitFor` accepts: an object of which this condition is True. */
export const hasCondition =
  (wanted: string) =>
  (object: Conditioned): boolean =>
    object.status?.conditions?.some(({ type, status }) => type === wanted && status === 'True') ?? false;

/** An answer of the API server that is not a success. */
export class ApiFailure extends Error {
  override readonly name = 'ApiFailure';
  /** HTTP status code. */
  readonly status: number;

  constructor(method: string, path: string, status: number, body: string) {
    super(`${method} ${path}: ${status} ${body.slice(0, 500)}`);
    this.status = status;
  }
}

interface WatchEvent<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: T;
}

/** Paths are complete, e.g. `/api/v1/nodes`. Every call throws ApiFailure unless the answer is a success. */
export interface Api {
  get<T = KubernetesObject>(path: string): Promise<T>;
  /** The `items` of a collection. */
  list<T = KubernetesObject>(path: string): Promise<T[]>;
  create<T = KubernetesObject>(path: string, object: object): Promise<T>;
  /** JSON merge patch. */
  patch<T = KubernetesObject>(path: string, change: object): Promise<T>;
  delete(path: string, options?: object): Promise<void>;
  /**
   * Every change of a collection after a list of it, until the signal aborts or the server ends it.
   *
   * @param begin gets what the list held, once the watch is open.
   */
  watch<T = KubernetesObject>(
    path: string,
    signal: AbortSignal,
    begin: (items: readonly T[]) => void,
  ): AsyncIterable<WatchEvent<T>>;
  /** The answer as text, for paths like `/readyz`. */
  text(path: string): Promise<string>;
}

interface ApiOptions {
  /** Unix socket that leads to the API server. */
  readonly socketPath: string;
  /** PEM file of the authority that signed the server's certificate. */
  readonly authority: string;
  readonly client: KeyPair;
}

/** A client for the API server behind `socketPath`. A connection per call: it survives every restart of the server. */
export const createApi = ({ socketPath, authority, client }: ApiOptions): Api => {
  const tls = {
    ca: readFileSync(authority),
    cert: readFileSync(client.certificate),
    key: readFileSync(client.key),
    servername: 'localhost',
    agent: false,
  } as const;

  const call = async (
    method: string,
    path: string,
    body?: object,
    contentType = 'application/json',
  ): Promise<string> => {
    const payload = body === undefined ? undefined : JSON.stringify(body);
    // Node gives a DELETE no length by itself, and the server would then read no body.
    const headers =
      payload === undefined ? {} : { 'content-type': contentType, 'content-length': Buffer.byteLength(payload) };
    const sent = request({ ...tls, socketPath, method, path, headers, timeout: 30_000 });
    sent.on('timeout', () => sent.destroy(new Error(`${method} ${path}: no answer within 30 s`)));
    sent.end(payload);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    let text = '';
    for await (const chunk of response.setEncoding('utf8')) text += chunk as string;
    const status = response.statusCode ?? 0;
    if (status < 200 || status > 299) throw new ApiFailure(method, path, status, text);
    return text;
  };
  const json = async <T>(...args: Parameters<typeof call>): Promise<T> => JSON.parse(await call(...args)) as T;

  /** Lines of a watch; ends without an error when the signal aborts. */
  const lines = async function* (path: string, signal: AbortSignal, open: () => void): AsyncGenerator<string> {
    const sent = request({ ...tls, socketPath, path, signal });
    try {
      sent.end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      if (response.statusCode !== 200) throw new ApiFailure('WATCH', path, response.statusCode ?? 0, '');
      open();
      yield* createInterface({ input: response });
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      sent.destroy();
    }
  };

  return {
    async *watch<T>(
      path: string,
      signal: AbortSignal,
      begin: (items: readonly T[]) => void,
    ): AsyncGenerator<WatchEvent<T>> {
      const { metadata, items } = await json<{ metadata: { resourceVersion: string }; items: readonly T[] }>(
        'GET',
        path,
      );
      const query = `watch=1&resourceVersion=${metadata.resourceVersion}`;
      for await (const line of lines(`${path}${path.includes('?') ? '&' : '?'}${query}`, signal, () => begin(items)))
        yield JSON.parse(line) as WatchEvent<T>;
    },
    get: (path) => json('GET', path),
    list: async <T>(path: string) => (await json<{ items: T[] }>('GET', path)).items,
    create: (path, object) => json('POST', path, object),
    patch: (path, change) => json('PATCH', path, change, 'application/merge-patch+json'),
    delete: async (path, options) => void (await call('DELETE', path, options)),
    text: (path) => call('GET', path),
  };
};
