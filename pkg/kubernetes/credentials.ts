// What the client needs of a kubeconfig, where the server is and how to authenticate, and of files that rotate under us.
import { existsSync, readFileSync, statSync } from 'node:fs';
import type { RequestOptions } from 'node:https';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Dispatcher } from 'undici';
import type { Clock } from './types.ts';

/** TLS options of a connection; PEM unless noted. Values are compared by content to decide whether a new connection is due. */
export interface TlsMaterial {
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  /** Name expected in the server's certificate; default: the host of the URL. */
  readonly servername?: string;
  /** False only for `insecure-skip-tls-verify`. */
  readonly rejectUnauthorized?: boolean;
}

/** Everything that authenticates one request. Headers are secret: never log them. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly tls: TlsMaterial;
}

export interface KubeConfigSource {
  /** URL of the API server, without a trailing slash; may carry a path. */
  readonly server: string;
  /** Namespace of the context, or that of the Pod when in-cluster. */
  readonly namespace: string | undefined;
  readonly proxyUrl: string | undefined;
  /**
   * Current credentials. Cheap enough for every request: files are read only after they changed, plug-ins run only
   * when their credential expired. Concurrent callers share one evaluation.
   *
   * @throws Error when a file cannot be read or a plug-in fails; its message never holds a credential.
   */
  credentials(): Promise<Credentials>;
  /** The server refused the credentials: look at every file again at the next call. */
  refresh(): void;
}

/** What a request would be sent with, beside headers of the kubeconfig's own. */
export const credentialsOf = (options: RequestOptions, own: Credentials['headers']): Credentials => {
  const { ca, cert, key, servername, rejectUnauthorized } = options;
  const tls = Object.entries({ ca, cert, key, servername, rejectUnauthorized });
  const headers: Record<string, string | string[]> = { ...own };
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    // Tokens from plug-ins may end in a newline, which HTTP would refuse.
    if (value !== undefined && value !== null) headers[name.toLowerCase()] = String(value).trim();
  }
  if (typeof options.auth === 'string')
    headers['authorization'] = `Basic ${Buffer.from(options.auth).toString('base64')}`;
  return { headers, tls: Object.fromEntries(tls.filter(([, value]) => value !== undefined && value !== null)) };
};

/** A 401 was refused before anything was done: it is worth one more try where the credentials have changed meanwhile. */
export const authenticated = async (
  source: { credentials(): Credentials | Promise<Credentials>; refresh(): void },
  send: (credentials: Credentials) => Promise<Dispatcher.ResponseData>,
): Promise<Dispatcher.ResponseData> => {
  const refused = await source.credentials();
  const answer = await send(refused);
  if (answer.statusCode !== 401) return answer;
  source.refresh();
  const renewed = await source.credentials();
  if (JSON.stringify(refused.headers) === JSON.stringify(renewed.headers)) return answer;
  // Read to its end, so that the connection stays usable.
  await answer.body.dump();
  return await send(renewed);
};

/** Whether a connection opened with `left` may serve requests that need `right`. */
export const sameTls = (left: TlsMaterial, right: TlsMaterial): boolean => isDeepStrictEqual(left, right);

// A mounted Secret or token changes by a swapped symbolic link: another inode, which stat sees through the link.
const stampOf = (path: string): string => {
  const { ino, size, mtimeMs, ctimeMs } = statSync(path);
  return `${ino}:${size}:${mtimeMs}:${ctimeMs}`;
};

export type FileSource = ReturnType<typeof createFileSource>;

/** The file is looked at (stat) no more often than each `intervalMs`; it is read only when its stamp changed. */
export const createFileSource = (path: string, clock: Clock, intervalMs: number) => {
  let content: Buffer | undefined;
  let stamp: string | undefined;
  let checkedAt = Number.NEGATIVE_INFINITY;

  const look = (): Buffer => {
    const next = stampOf(path);
    if (content === undefined || next !== stamp) {
      // The stamp is taken before the content: a change in between is seen at the next look, never missed.
      content = readFileSync(path);
      stamp = next;
    }
    return content;
  };

  return {
    /**
     * Content of the file now.
     *
     * @throws Error of the file system when the file was never readable; afterwards the last good content stays, because
     * a rotation may leave an instant without a file.
     */
    read(): Buffer {
      if (content !== undefined && clock.monotonic() - checkedAt < intervalMs) return content;
      checkedAt = clock.monotonic();
      try {
        return look();
      } catch (error) {
        if (content === undefined) throw error;
        return content;
      }
    },
    /** Looks at the file at the next `read`, whatever the interval. */
    expire: (): void => void (checkedAt = Number.NEGATIVE_INFINITY),
  };
};

// The service account of a Pod as a source of credentials, without a kubeconfig. As client-go's rest.InClusterConfig has it.

const FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';
const CHECK_INTERVAL_MS = 5_000;

/** Undefined outside of a Pod, and where the environment names a kubeconfig. `folder`: of the token and the authority's certificate. */
export const inClusterSource = (options: {
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
  readonly folder?: string;
}): KubeConfigSource | undefined => {
  const { env, clock, folder = FOLDER } = options;
  const { KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_SERVICE_PORT: port = '' } = env;
  const tokenFile = join(folder, 'token');
  if (host === '' || port === '' || (env['KUBECONFIG'] ?? '') !== '' || !existsSync(tokenFile)) return undefined;
  const token = createFileSource(tokenFile, clock, CHECK_INTERVAL_MS);
  const authority = createFileSource(join(folder, 'ca.crt'), clock, CHECK_INTERVAL_MS);
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    namespace: existsSync(join(folder, 'namespace'))
      ? readFileSync(join(folder, 'namespace'), 'utf8').trim()
      : undefined,
    proxyUrl: undefined,
    // Asynchronous as the type has it: what cannot be read is a rejection.
    credentials: async () =>
      Promise.resolve({
        headers: { authorization: `Bearer ${token.read().toString('utf8').trim()}` },
        tls: { ca: authority.read() },
      }),
    refresh() {
      token.expire();
      authority.expire();
    },
  };
};
