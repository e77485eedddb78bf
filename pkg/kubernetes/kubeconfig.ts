// Turns a kubeconfig, or the Pod's service account, into a source of credentials. Files are read and followed here, with what Gardener's
// kubeconfigs use (token files, full impersonation, plug-ins that get the cluster's address); the only file that loads client-node, and only
// for users with a plug-in or OpenID Connect: it is half of a command's start.
import { existsSync } from 'node:fs';
import type { RequestOptions } from 'node:https';
import { homedir } from 'node:os';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import type { Cluster, KubeConfig, User } from '@kubernetes/client-node';
import { parse } from 'yaml';
import { type Fields, defined, errorText, isFields } from '../apis/values.ts';
import { systemClock } from './wait.ts';
import { createFileSource, credentialsOf, inClusterSource } from './credentials.ts';
import type { Credentials, FileSource, KubeConfigSource } from './credentials.ts';
import type { Clock } from './types.ts';

export type { KubeConfigSource } from './credentials.ts';

/** The kubeconfig cannot be used; the message names file, context and what is wrong, and holds no credential. */
export class KubeConfigError extends Error {
  override readonly name = 'KubeConfigError';
  readonly code = 'KubeConfigError';
}

/** How often kubeconfig, token and certificate files are looked at. A 401 looks at once. */
const CHECK_INTERVAL_MS = 5_000;
const MAX_LISTED = 20;
/** Names in messages; longer ones are a mistake. */
const MAX_SHOWN = 100;

/** A name in quotes, cut where it is long; anything else by its type, because it may be a credential in the wrong place. */
const shown = (name: unknown): string => {
  if (name === undefined || name === null) return '""';
  if (typeof name !== 'string') return `(a value of type ${typeof name})`;
  return JSON.stringify(name.length > MAX_SHOWN ? `${name.slice(0, MAX_SHOWN)}…` : name);
};

const record = (value: unknown): Fields => (isFields(value) ? value : {});

const records = (value: unknown): Fields[] => (Array.isArray(value) ? value.filter(isFields) : []);

const strings = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];

/** One kubeconfig file as it was read: parsed, and unchecked. */
const readFile = (path: string, source: FileSource) => {
  try {
    const bytes = source.read();
    return { path, bytes, content: record(parse(String(bytes), { logLevel: 'error' })) };
  } catch (error) {
    // The parser quotes the lines around a fault, and those may hold a token: only the first line is kept. Its warnings would, too.
    throw new KubeConfigError(`cannot load ${path}: ${(errorText(error).split('\n', 1)[0] ?? '').slice(0, 300)}`);
  }
};

type KubeconfigFile = ReturnType<typeof readFile>;

/** The kubeconfig files of the default rules, in order of precedence; they need not exist. */
const defaultKubeconfigPaths = (environment: NodeJS.ProcessEnv): string[] => {
  const listed = (environment['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '');
  return listed.length > 0 ? listed : [join(environment['HOME'] ?? homedir(), '.kube', 'config')];
};

/** What a named entry of a list holds, and the file it is from. */
interface Entry {
  readonly path: string;
  readonly fields: Fields;
}

/** The first file that has an entry of this name wins. */
const entryOf = (files: readonly KubeconfigFile[], list: string, name: unknown): Entry | undefined => {
  for (const { path, content } of files) {
    const entry = records(content[list]).find((candidate) => candidate['name'] === name);
    if (entry !== undefined) return { path, fields: record(entry[list.slice(0, -1)]) };
  }
  return undefined;
};

/** Empty is absent. Anything but text is refused, as kubectl does, and never quoted. */
const textAt = ({ path, fields }: Entry, field: string): string | undefined => {
  const value = fields[field];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string') throw new KubeConfigError(`${path}: ${field} must be text, not a ${typeof value}`);
  return value;
};

/** Absolute path that the field names: relative ones are relative to their kubeconfig. */
const fileAt = (entry: Entry, field: string): string | undefined => {
  const path = textAt(entry, field);
  return path === undefined || isAbsolute(path) ? path : join(dirname(entry.path), path);
};

const impersonation = (user: Entry): Credentials['headers'] => {
  const headers: Record<string, string | string[]> = {
    ...defined({ 'impersonate-user': textAt(user, 'as'), 'impersonate-uid': textAt(user, 'as-uid') }),
  };
  const groups = strings(user.fields['as-groups']);
  if (groups.length > 0) headers['impersonate-group'] = groups;
  for (const [key, values] of Object.entries(record(user.fields['as-user-extra'])))
    headers[`impersonate-extra-${encodeURIComponent(key.toLowerCase())}`] = strings(values);
  return headers;
};

const select = (files: readonly KubeconfigFile[], where: string, wanted: string | undefined) => {
  const name = wanted ?? files.map(({ content }) => content['current-context']).find((one) => (one ?? '') !== '');
  const context = typeof name === 'string' ? entryOf(files, 'contexts', name) : undefined;
  if (typeof name !== 'string' || context === undefined) {
    const known = files.flatMap(({ content }) => records(content['contexts'])).map((one) => shown(one['name']));
    const there = known.length === 0 ? 'none' : known.slice(0, MAX_LISTED).join(', ');
    throw new KubeConfigError(`${where} has no context ${shown(name)}; it has ${there}`);
  }
  const follow = (kind: 'cluster' | 'user'): Entry => {
    const to = context.fields[kind];
    const entry = entryOf(files, `${kind}s`, to);
    if (entry !== undefined) return entry;
    if (kind === 'user' && (to ?? '') === '') return { path: context.path, fields: {} };
    throw new KubeConfigError(`${where}: context ${shown(name)} names ${kind} ${shown(to)}, which does not exist`);
  };
  return { context: name, namespace: textAt(context, 'namespace'), cluster: follow('cluster'), user: follow('user') };
};

type Selected = ReturnType<typeof select>;

/** The cluster in client-node's shape, without the file of its authority. */
const clusterOf = ({ context, cluster }: Selected): Cluster => {
  const server = textAt(cluster, 'server')?.replace(/\/$/u, '') ?? '';
  const skipTLSVerify = cluster.fields['insecure-skip-tls-verify'] === true;
  const proxyUrl = textAt(cluster, 'proxy-url');
  const protocol = URL.canParse(server) ? new URL(server).protocol : undefined;
  const refuse = (what: string): never => {
    throw new KubeConfigError(`context ${shown(context)}: ${what}`);
  };
  if (protocol !== 'https:' && protocol !== 'http:') refuse(`server ${shown(server)} is not an https URL`);
  if (protocol === 'http:' && !skipTLSVerify)
    refuse(`server ${shown(server)} needs insecure-skip-tls-verify for plain http`);
  if (proxyUrl !== undefined && !/^https?:/u.test(proxyUrl)) refuse('proxy-url must begin with http:// or https://');
  const [caData, tlsServerName] = ['certificate-authority-data', 'tls-server-name'].map((one) => textAt(cluster, one));
  return { name: 'cluster', server, skipTLSVerify, ...defined({ proxyUrl, caData, tlsServerName }) };
};

type Writable<T> = { -readonly [K in keyof T]: T[K] };

interface ExecConfig {
  apiVersion?: string;
  env?: Array<{ name: string; value: string }> | null;
  provideClusterInfo?: boolean;
}

const PLUGIN_EXTENSION = 'client.authentication.k8s.io/exec';

/** What kubectl puts into the environment of a credential plug-in; gardenlogin, for one, refuses to run without. */
const execInfo = (exec: ExecConfig, cluster: Cluster, { fields }: Entry): { name: string; value: string } => {
  const info = {
    server: cluster.server,
    'tls-server-name': cluster.tlsServerName,
    'insecure-skip-tls-verify': cluster.skipTLSVerify ? true : undefined,
    'certificate-authority-data': cluster.caData,
    'proxy-url': cluster.proxyUrl,
    // What the cluster carries for its plug-in, for example gardenlogin's reference to a Shoot.
    config: records(fields['extensions']).find(({ name }) => name === PLUGIN_EXTENSION)?.['extension'],
  };
  const spec = { interactive: false, ...(exec.provideClusterInfo === true ? { cluster: info } : {}) };
  return {
    name: 'KUBERNETES_EXEC_INFO',
    value: JSON.stringify({ kind: 'ExecCredential', apiVersion: exec.apiVersion, spec }),
  };
};

/** What the fields themselves say, as client-node takes them. */
const requestOf = (cluster: Cluster, { certData, keyData, token, username, password = '' }: User): RequestOptions => {
  const bytes = (data: string | undefined) => (data ? Buffer.from(data, 'base64') : undefined);
  const material = {
    ca: bytes(cluster.caData),
    cert: bytes(certData),
    key: bytes(keyData),
    servername: cluster.tlsServerName,
  };
  return {
    ...defined(material),
    ...(cluster.skipTLSVerify && { rejectUnauthorized: false }),
    ...(username !== undefined && { auth: `${username}:${password}` }),
    headers: (token ?? '') === '' ? {} : { authorization: `Bearer ${token}` },
  };
};

const createConfig = async (cluster: Cluster, user: User): Promise<KubeConfig> => {
  const { KubeConfig: Config } = await import('@kubernetes/client-node');
  const config = new Config();
  config.loadFromClusterAndUser(cluster, user);
  return config;
};

/**
 * A context that is ready for use. client-node gets cluster and user without references to files, which it would read synchronously at
 * each request; a `tokenFile` wins over a token, as in client-go.
 */
const bind = (selected: Selected, open: (path: string) => FileSource) => {
  const { user: entry } = selected;
  const cluster: Writable<Cluster> = clusterOf(selected);
  const exec = isFields(entry.fields['exec']) ? (entry.fields['exec'] as ExecConfig) : undefined;
  const user: Writable<User> = {
    name: 'user',
    ...defined({
      certData: textAt(entry, 'client-certificate-data'),
      keyData: textAt(entry, 'client-key-data'),
      token: textAt(entry, 'token'),
      username: textAt(entry, 'username'),
      password: textAt(entry, 'password'),
      authProvider: entry.fields['auth-provider'] ?? undefined,
    }),
  };
  const followed: Array<{ source: FileSource; write: (content: Buffer) => void }> = [];
  const follow = (path: string | undefined, write: (content: Buffer) => void): void => {
    if (path !== undefined) followed.push({ source: open(path), write });
  };
  follow(fileAt(selected.cluster, 'certificate-authority'), (pem) => (cluster.caData = pem.toString('base64')));
  follow(fileAt(entry, 'client-certificate'), (pem) => (user.certData = pem.toString('base64')));
  follow(fileAt(entry, 'client-key'), (pem) => (user.keyData = pem.toString('base64')));
  follow(fileAt(entry, 'tokenFile'), (token) => (user.token = token.toString('utf8').trim()));
  /** It remembers what plug-ins and OpenID Connect issued. */
  let config: Promise<KubeConfig> | undefined;
  return {
    context: selected.context,
    namespace: selected.namespace,
    cluster: cluster as Readonly<Cluster>,
    headers: impersonation(entry),
    hasPlugin: exec !== undefined,
    /** From the present content of every file, and from plug-ins. */
    async authenticate(): Promise<RequestOptions> {
      for (const { source, write } of followed) write(source.read());
      if (exec) user.exec = { ...exec, env: [...(exec.env ?? []), execInfo(exec, cluster, selected.cluster)] };
      if (exec === undefined && user.authProvider === undefined) return requestOf(cluster, user);
      const request: RequestOptions = {};
      config ??= createConfig(cluster, user);
      await (await config).applyToHTTPSOptions(request);
      return request;
    },
    /** Looks at every file the next time, whatever the interval. */
    expire() {
      for (const { source } of followed) source.expire();
    },
  };
};

/**
 * What files and plug-ins say passes. A crash of client-node's means that a field has a wrong type, that a plug-in printed no
 * credential, or that an id-token has expired, which 2.0.1 never renews (openid-client refuses its issuer); its message quotes what was printed.
 */
const withoutQuotes = (error: unknown, context: string): unknown =>
  error instanceof SyntaxError || error instanceof TypeError || error instanceof RangeError
    ? new KubeConfigError(
        `context ${shown(context)}: its user's entry, or what its plug-in printed, gives no credential; an expired id-token is renewed by kubectl`,
      )
    : error;

export interface LoadKubeConfigOptions {
  /** Path of a kubeconfig; omitted: `$KUBECONFIG`, `~/.kube/config`, then the Pod's service account. */
  kubeconfig?: string;
  context?: string;
  clock?: Clock;
}

/** The service account of the Pod, where the default rules find no kubeconfig. */
const ofPod = ({ context, clock = systemClock }: LoadKubeConfigOptions): KubeConfigSource => {
  const source = inClusterSource({ env: process.env, clock });
  if (source === undefined)
    throw new KubeConfigError('no kubeconfig and no service account found: give --kubeconfig or set KUBECONFIG');
  if (context !== undefined) throw new KubeConfigError(`there is no kubeconfig with context ${shown(context)}`);
  return source;
};

/**
 * Loads a kubeconfig and follows it: the kubeconfig itself, token files, client certificates and authorities are read
 * again when they change, plug-ins are run again when their credential expires or was refused.
 *
 * @throws KubeConfigError when there is none, it cannot be parsed, or the context does not lead to a server. Later, a
 * changed kubeconfig that is no longer usable, or names another server, makes `credentials` reject with it.
 */
export const loadKubeConfig = (options: LoadKubeConfigOptions = {}): KubeConfigSource => {
  const { kubeconfig: path, clock = systemClock } = options;
  const paths = path === undefined ? defaultKubeconfigPaths(process.env).filter((file) => existsSync(file)) : [path];
  if (paths.length === 0) return ofPod(options);
  const where = path ?? 'the default kubeconfig';
  const open = (file: string): FileSource => createFileSource(file, clock, CHECK_INTERVAL_MS);
  const sources = paths.map((file) => ({ path: file, source: open(file) }));
  let seen: readonly KubeconfigFile[] = [];
  let pluginRefused = false;
  let pending: Promise<Credentials> | undefined;

  /** What is refused is refused again the next time. */
  const load = (check: (server: string, proxyUrl: string | undefined) => void): ReturnType<typeof bind> => {
    const files = sources.map((one) => readFile(one.path, one.source));
    const next = bind(select(files, where, options.context), open);
    check(next.cluster.server, next.cluster.proxyUrl);
    seen = files;
    return next;
  };
  let loaded = load(() => undefined);
  const { server, proxyUrl } = loaded.cluster;

  const current = (): ReturnType<typeof bind> => {
    // A source returns the same buffer until its file changed.
    if (!pluginRefused && sources.every(({ source }, index) => source.read() === seen[index]?.bytes)) return loaded;
    loaded = load((nextServer, nextProxy) => {
      if (nextServer !== server || nextProxy !== proxyUrl)
        throw new KubeConfigError(`the kubeconfig now names ${nextServer} instead of ${server}: restart to use it`);
    });
    pluginRefused = false;
    return loaded;
  };
  const evaluate = async (): Promise<Credentials> => {
    const { headers, authenticate, context } = current();
    try {
      return credentialsOf(await authenticate(), headers);
    } catch (error) {
      throw withoutQuotes(error, context);
    }
  };

  return {
    server,
    proxyUrl,
    namespace: loaded.namespace,
    credentials() {
      // client-node starts one plug-in process for each caller while a credential is expired; sharing starts one in all.
      pending ??= evaluate().finally(() => (pending = undefined));
      return pending;
    },
    refresh() {
      for (const { source } of sources) source.expire();
      loaded.expire();
      // Only a new KubeConfig forgets a credential whose plug-in gave no expiry. Not so for OpenID Connect, whose
      // refresh token may be good for one use only.
      pluginRefused = loaded.hasPlugin;
    },
  };
};
