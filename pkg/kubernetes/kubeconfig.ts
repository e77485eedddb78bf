// Turns a kubeconfig, or the Pod's service account, into a source of credentials. The only file that loads client-node.
// Prepares client-node's cluster and user objects: files are followed by us, plug-ins get the input that kubectl gives.
// Reads what client-node leaves out of a kubeconfig: token files (Gardener uses them), full impersonation, plug-in input.
import { existsSync } from 'node:fs';
import type { RequestOptions } from 'node:https';
import { homedir } from 'node:os';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { type Cluster, KubeConfig, type User } from '@kubernetes/client-node';
import { parse } from 'yaml';
import { type Fields, errorText, isFields } from '../apis/values.ts';
import { systemClock } from './wait.ts';
import { createFileSource } from './credentials.ts';
import type { Credentials, FileSource, KubeConfigSource, TlsMaterial } from './credentials.ts';
import type { Clock } from './types.ts';

type Writable<T> = { -readonly [K in keyof T]: T[K] };

interface ExecConfig {
  apiVersion?: string;
  env?: Array<{ name: string; value: string }> | null;
  provideClusterInfo?: boolean;
}

/** What kubectl puts into the environment of a credential plug-in; gardenlogin, for one, refuses to run without. */
const execInfo = (exec: ExecConfig, cluster: Cluster, config: unknown): { name: string; value: string } => {
  const info = {
    server: cluster.server,
    'tls-server-name': cluster.tlsServerName,
    'insecure-skip-tls-verify': cluster.skipTLSVerify ? true : undefined,
    'certificate-authority-data': cluster.caData,
    'proxy-url': cluster.proxyUrl,
    config,
  };
  const spec = { interactive: false, ...(exec.provideClusterInfo === true ? { cluster: info } : {}) };
  return {
    name: 'KUBERNETES_EXEC_INFO',
    value: JSON.stringify({ kind: 'ExecCredential', apiVersion: exec.apiVersion, spec }),
  };
};

/** The token file that client-node found by itself: that of a Pod's service account. */
const inClusterTokenFile = (user: User): string | undefined => {
  const provider = user.authProvider as { config?: { tokenFile?: unknown } } | null | undefined;
  return typeof provider?.config?.tokenFile === 'string' ? provider.config.tokenFile : undefined;
};

/**
 * A cluster and a user without file references, which client-node would read synchronously at each request (and a token file only
 * once a minute), and how to bring them up to date. A `tokenFile` wins over a token, as in client-go; `plugin` is configuration for it.
 */
const bindFiles = (
  { cluster, user }: Pick<Selected, 'cluster' | 'user'>,
  { tokenFile, plugin }: UserExtras,
  open: (path: string) => FileSource,
) => {
  const boundCluster: Writable<Cluster> = { ...cluster };
  const boundUser: Writable<User> = { ...user };
  const followed: Array<{ source: FileSource; write: (content: Buffer) => void }> = [];
  const follow = (path: string | null | undefined, write: (content: Buffer) => void): void => {
    if (path !== undefined && path !== null && path !== '') followed.push({ source: open(path), write });
  };
  const token = tokenFile ?? inClusterTokenFile(user);
  follow(cluster.caFile, (content) => (boundCluster.caData = content.toString('base64')));
  follow(user.certFile, (content) => (boundUser.certData = content.toString('base64')));
  follow(user.keyFile, (content) => (boundUser.keyData = content.toString('base64')));
  follow(token, (content) => (boundUser.token = content.toString('utf8').trim()));
  delete boundCluster.caFile;
  delete boundUser.certFile;
  delete boundUser.keyFile;
  if (token !== undefined) delete boundUser.authProvider;

  const exec = user.exec as ExecConfig | null | undefined;
  return {
    cluster: boundCluster as Cluster,
    user: boundUser as User,
    /** Copies the present content of every file into the two objects. */
    update() {
      for (const { source, write } of followed) write(source.read());
      if (exec === undefined || exec === null) return;
      boundUser.exec = { ...exec, env: [...(exec.env ?? []), execInfo(exec, boundCluster, plugin)] };
    },
    /** Looks at every file at the next `update`, whatever the interval. */
    expire() {
      for (const { source } of followed) source.expire();
    },
  };
};

/** One kubeconfig file as it was read: parsed, and unchecked. */
interface KubeconfigFile {
  path: string;
  content: unknown;
}

/** What the files say beyond client-node's model. */
interface UserExtras {
  /** Absolute path of the user's `tokenFile`. */
  tokenFile: string | undefined;
  /** Impersonation headers beside `Impersonate-User`, names in lower case. */
  headers: Readonly<Record<string, string | string[]>>;
  /** Configuration that the cluster carries for its plug-in, for example gardenlogin's reference to a Shoot. */
  plugin: unknown;
}

const record = (value: unknown): Fields => (isFields(value) ? value : {});

const records = (value: unknown): Fields[] => (Array.isArray(value) ? value.filter(isFields) : []);

const strings = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];

/** The kubeconfig files of the default rules, in order of precedence; they need not exist. */
const defaultKubeconfigPaths = (environment: NodeJS.ProcessEnv): string[] => {
  const listed = (environment['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '');
  return listed.length > 0 ? listed : [join(environment['HOME'] ?? homedir(), '.kube', 'config')];
};

/** The entry `name` of a named list (`users`, `clusters`), and the file it is from: the first file that has it wins. */
const find = (files: readonly KubeconfigFile[], list: string, name: string): { path: string; entry: Fields } => {
  for (const { path, content } of files) {
    const entry = records(record(content)[list]).find((candidate) => candidate['name'] === name);
    if (entry !== undefined) return { path, entry };
  }
  return { path: '', entry: {} };
};

const impersonation = (user: Fields): UserExtras['headers'] => {
  const headers: Record<string, string | string[]> = {};
  if (typeof user['as-uid'] === 'string') headers['impersonate-uid'] = user['as-uid'];
  const groups = strings(user['as-groups']);
  if (groups.length > 0) headers['impersonate-group'] = groups;
  for (const [key, values] of Object.entries(record(user['as-user-extra']))) {
    headers[`impersonate-extra-${encodeURIComponent(key.toLowerCase())}`] = strings(values);
  }
  return headers;
};

const PLUGIN_EXTENSION = 'client.authentication.k8s.io/exec';

const extrasOf = (files: readonly KubeconfigFile[], { user, cluster }: Selected): UserExtras => {
  const { path, entry } = find(files, 'users', user.name);
  const own = record(entry['user']);
  const { tokenFile: file } = own;
  const given = typeof file === 'string' && file !== '' ? file : undefined;
  const { extensions } = record(find(files, 'clusters', cluster.name).entry['cluster']);
  return {
    tokenFile: given === undefined || isAbsolute(given) ? given : join(dirname(path), given),
    headers: impersonation(own),
    plugin: records(extensions).find(({ name }) => name === PLUGIN_EXTENSION)?.['extension'],
  };
};

export type { KubeConfigSource } from './credentials.ts';

export interface LoadKubeConfigOptions {
  /** Path of a kubeconfig; omitted: `$KUBECONFIG`, `~/.kube/config`, then the Pod's service account. */
  kubeconfig?: string;
  /** Name of the context; omitted: the kubeconfig's current one. */
  context?: string;
  /** How often kubeconfig, token and certificate files are looked at, milliseconds; default 5 s. A 401 looks at once. */
  fileCheckIntervalMs?: number;
  /** Default: the system's. */
  clock?: Clock;
}

/** The kubeconfig cannot be used; the message names file, context and what is wrong, and holds no credential. */
export class KubeConfigError extends Error {
  override readonly name = 'KubeConfigError';
  readonly code = 'KubeConfigError';
}

interface Selected {
  cluster: Cluster;
  user: User;
  context: string;
  namespace: string | undefined;
}

/** A kubeconfig as loaded at one moment. */
interface Loaded extends Selected {
  bound: ReturnType<typeof bindFiles>;
  extras: UserExtras;
  /** client-node's state: it remembers what plug-ins and OpenID Connect issued. */
  config: KubeConfig;
}

const DEFAULT_CHECK_INTERVAL_MS = 5_000;
/** Contexts that a message lists. */
const MAX_LISTED = 20;

// Where client-node finds neither a kubeconfig nor a service account it falls back to plain HTTP on this address.
const FALLBACK_SERVER = 'http://localhost:8080';

/** Names in messages; longer ones are a mistake. */
const MAX_SHOWN = 100;

/** A name in quotes, cut where it is long; anything else by its type, because it may be a credential in the wrong place. */
const shown = (name: unknown): string => {
  if (name === undefined || name === null) return '""';
  if (typeof name !== 'string') return `(a value of type ${typeof name})`;
  return JSON.stringify(name.length > MAX_SHOWN ? `${name.slice(0, MAX_SHOWN)}…` : name);
};

/** The YAML parsers quote the lines around a fault, and those may hold a token: only the first line is kept. */
const firstLineOf = (error: unknown): string => (errorText(error).split('\n', 1)[0] ?? '').slice(0, 300);

const parseRules = (path: string | undefined, sources: readonly FileSource[], where: string) => {
  const config = new KubeConfig();
  try {
    // Read before client-node reads: a change in between shows as a change later, and is never missed.
    const seen = sources.map((source) => source.read());
    if (path === undefined) config.loadFromDefault();
    else config.loadFromFile(path);
    return { config, seen };
  } catch (error) {
    throw new KubeConfigError(`cannot load ${where}: ${firstLineOf(error)}`);
  }
};

const select = (config: KubeConfig, where: string, wanted: string | undefined): Selected => {
  const name = wanted ?? config.getCurrentContext();
  const context = config.getContextObject(name);
  if (context === null) {
    const known = config.getContexts().map((candidate) => shown(candidate.name));
    const there = known.length === 0 ? 'none' : known.slice(0, MAX_LISTED).join(', ');
    throw new KubeConfigError(`${where} has no context ${shown(name)}; it has ${there}`);
  }
  const leadsNowhere = (kind: string, to: unknown): KubeConfigError =>
    new KubeConfigError(`${where}: context ${shown(name)} names ${kind} ${shown(to)}, which does not exist`);
  const cluster = config.getCluster(context.cluster);
  if (cluster === null) throw leadsNowhere('cluster', context.cluster);
  const user = config.getUser(context.user);
  if (user === null && (context.user ?? '') !== '') throw leadsNowhere('user', context.user);
  // Without any user client-node would leave out the cluster's authority as well.
  return { cluster, user: user ?? { name: 'anonymous' }, context: name, namespace: context.namespace };
};

const checkServer = ({ cluster, context }: Selected, fromRules: boolean): void => {
  const { server, skipTLSVerify, proxyUrl } = cluster;
  if (fromRules && server === FALLBACK_SERVER && context === 'loaded-context') {
    throw new KubeConfigError('no kubeconfig and no service account found: give --kubeconfig or set KUBECONFIG');
  }
  const protocol = URL.canParse(server) ? new URL(server).protocol : undefined;
  if (protocol !== 'https:' && protocol !== 'http:') {
    throw new KubeConfigError(`context ${shown(context)}: server ${shown(server)} is not an https URL`);
  }
  if (protocol === 'http:' && !skipTLSVerify) {
    throw new KubeConfigError(
      `context ${shown(context)}: server ${shown(server)} needs insecure-skip-tls-verify for plain http`,
    );
  }
  if (proxyUrl !== undefined && !/^https?:/u.test(proxyUrl)) {
    throw new KubeConfigError(`context ${shown(context)}: proxy-url must begin with http:// or https://`);
  }
};

const tlsOf = ({ ca, cert, key, pfx, passphrase, servername, rejectUnauthorized }: RequestOptions): TlsMaterial => {
  const entries = Object.entries({ ca, cert, key, pfx, passphrase, servername, rejectUnauthorized });
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined && value !== null));
};

/** Our parser is another than client-node's, and may refuse what that one took. */
const parsedFile = (path: string, text: string): KubeconfigFile => {
  try {
    return { path, content: parse(text) as unknown };
  } catch (error) {
    throw new KubeConfigError(`cannot load ${path}: ${firstLineOf(error)}`);
  }
};

/** Of a field whose value has a type that it must not have: client-node checks hardly any. */
const isCrash = (error: unknown): boolean =>
  error instanceof SyntaxError || error instanceof TypeError || error instanceof RangeError;

/**
 * What files and plug-ins say passes. A crash of client-node's means that a plug-in printed no credential, and its message
 * quotes what was printed.
 */
const withoutQuotes = (error: unknown, context: string): unknown =>
  isCrash(error)
    ? new KubeConfigError(
        `context ${shown(context)}: its user's entry, or what its plug-in printed, gives no credential`,
      )
    : error;

const headersOf = (options: RequestOptions, extras: UserExtras): Credentials['headers'] => {
  const headers: Record<string, string | string[]> = { ...extras.headers };
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    // Tokens from plug-ins may end in a newline, which HTTP would refuse.
    if (value !== undefined && value !== null) headers[name.toLowerCase()] = String(value).trim();
  }
  if (typeof options.auth === 'string') {
    headers['authorization'] = `Basic ${Buffer.from(options.auth).toString('base64')}`;
  }
  return headers;
};

/** Reads the kubeconfig files once, or again after they changed. */
const createLoader = (options: LoadKubeConfigOptions, open: (path: string) => FileSource) => {
  const { kubeconfig: path } = options;
  const where = path ?? 'the default kubeconfig';
  const paths = path === undefined ? defaultKubeconfigPaths(process.env).filter((file) => existsSync(file)) : [path];
  const sources = paths.map((file) => open(file));
  let seen: Buffer[] = [];

  const read = (): { loaded: Loaded; texts: Buffer[] } => {
    const { config, seen: texts } = parseRules(path, sources, where);
    const selected = select(config, where, options.context);
    checkServer(selected, path === undefined);
    const files = paths.map((file, index) => parsedFile(file, String(texts[index])));
    const extras = extrasOf(files, selected);
    const bound = bindFiles(selected, extras, open);
    const own = new KubeConfig();
    own.loadFromClusterAndUser(bound.cluster, bound.user);
    return { loaded: { ...selected, bound, extras, config: own }, texts };
  };
  const load = (): { loaded: Loaded; texts: Buffer[] } => {
    try {
      return read();
    } catch (error) {
      throw isCrash(error) ? new KubeConfigError(`${where}: a field has a value of a wrong type`) : error;
    }
  };
  return {
    /** What the files say now; `check` may throw, and what was refused is refused again the next time. */
    load(check: (next: Loaded) => void): Loaded {
      const { loaded, texts } = load();
      check(loaded);
      seen = texts;
      return loaded;
    },
    /** Whether a file's content differs from what was loaded. A source returns the same buffer until it changed. */
    changed: (): boolean => sources.some((source, index) => source.read() !== seen[index]),
    expire: (): void => sources.forEach((source) => source.expire()),
  };
};

/**
 * Loads a kubeconfig and follows it: the kubeconfig itself, token files, client certificates and authorities are read
 * again when they change, plug-ins are run again when their credential expires or was refused.
 *
 * @throws KubeConfigError when there is none, it cannot be parsed, or the context does not lead to a server. Later, a
 * changed kubeconfig that is no longer usable, or names another server, makes `credentials` reject with it.
 */
export const loadKubeConfig = (options: LoadKubeConfigOptions = {}): KubeConfigSource => {
  const { clock = systemClock, fileCheckIntervalMs = DEFAULT_CHECK_INTERVAL_MS } = options;
  const loader = createLoader(options, (path) => createFileSource(path, clock, fileCheckIntervalMs));
  let loaded = loader.load(() => undefined);
  const { server, proxyUrl } = loaded.cluster;
  let pluginRefused = false;
  let pending: Promise<Credentials> | undefined;

  const current = (): Loaded => {
    if (!pluginRefused && !loader.changed()) return loaded;
    loaded = loader.load((next) => {
      if (next.cluster.server !== server || next.cluster.proxyUrl !== proxyUrl) {
        throw new KubeConfigError(
          `the kubeconfig now names ${next.cluster.server} instead of ${server}: restart to use it`,
        );
      }
    });
    pluginRefused = false;
    return loaded;
  };
  const evaluate = async (): Promise<Credentials> => {
    const { bound, config, extras } = current();
    const request: RequestOptions = {};
    try {
      bound.update();
      await config.applyToHTTPSOptions(request);
    } catch (error) {
      throw withoutQuotes(error, loaded.context);
    }
    return { headers: headersOf(request, extras), tls: tlsOf(request) };
  };

  return {
    server,
    proxyUrl,
    namespace: loaded.namespace,
    context: loaded.context,
    credentials() {
      // client-node starts one plug-in process for each caller while a credential is expired; sharing starts one in all.
      pending ??= evaluate().finally(() => (pending = undefined));
      return pending;
    },
    refresh() {
      loader.expire();
      loaded.bound.expire();
      // Only a new KubeConfig forgets a credential whose plug-in gave no expiry. Not so for OpenID Connect, whose
      // refresh token may be good for one use only.
      pluginRefused = loaded.user.exec !== undefined && loaded.user.exec !== null;
    },
  };
};
