// Prepares client-node's cluster and user objects: files are followed by us, plug-ins get the input that kubectl gives.
import type { Cluster, User } from '@kubernetes/client-node';
import type { FileSource } from './file-source.ts';

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** A cluster and a user without file references, and how to bring them up to date. */
export interface Bound {
  readonly cluster: Cluster;
  readonly user: User;
  /** Copies the present content of every file into the two objects. */
  update(): void;
  /** Looks at every file at the next `update`, whatever the interval. */
  expire(): void;
}

export interface BindOptions {
  cluster: Cluster;
  user: User;
  /** From the kubeconfig; wins over `token`, as in client-go. */
  tokenFile: string | undefined;
  /** From the cluster's extensions, for the plug-in. */
  pluginConfig: unknown;
  open: (path: string) => FileSource;
}

interface ExecConfig {
  apiVersion?: string;
  env?: Array<{ name: string; value: string }> | null;
  provideClusterInfo?: boolean;
}

const EXEC_INFO = 'KUBERNETES_EXEC_INFO';

const clusterInfo = (
  { server, tlsServerName, skipTLSVerify, caData, proxyUrl }: Cluster,
  config: unknown,
): unknown => ({
  server,
  'tls-server-name': tlsServerName,
  'insecure-skip-tls-verify': skipTLSVerify ? true : undefined,
  'certificate-authority-data': caData,
  'proxy-url': proxyUrl,
  config,
});

/** What kubectl puts into the environment of a credential plug-in; gardenlogin, for one, refuses to run without. */
const execInfo = (exec: ExecConfig, cluster: Cluster, config: unknown): string =>
  JSON.stringify({
    kind: 'ExecCredential',
    apiVersion: exec.apiVersion,
    spec: {
      interactive: false,
      ...(exec.provideClusterInfo === true ? { cluster: clusterInfo(cluster, config) } : {}),
    },
  });

/** The token file that client-node found by itself: that of a Pod's service account. */
const inClusterTokenFile = (user: User): string | undefined => {
  const provider = user.authProvider as { config?: { tokenFile?: unknown } } | null | undefined;
  return typeof provider?.config?.tokenFile === 'string' ? provider.config.tokenFile : undefined;
};

/**
 * Moves every file reference out of client-node's objects, which it would read synchronously at each request (and a
 * token file only once a minute).
 */
export const bindFiles = ({ cluster, user, tokenFile, pluginConfig, open }: BindOptions): Bound => {
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
    cluster: boundCluster,
    user: boundUser,
    update() {
      for (const { source, write } of followed) write(source.read());
      if (exec === undefined || exec === null) return;
      const info = { name: EXEC_INFO, value: execInfo(exec, boundCluster, pluginConfig) };
      boundUser.exec = { ...exec, env: [...(exec.env ?? []), info] };
    },
    expire() {
      for (const { source } of followed) source.expire();
    },
  };
};
