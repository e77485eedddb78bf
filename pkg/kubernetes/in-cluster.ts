// The service account of a Pod as a source of credentials, without the library for kubeconfigs: that is 13 MB of a process whose
// memory is counted on every Node. As client-go's rest.InClusterConfig has it.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeConfigSource } from './credentials.ts';
import { createFileSource } from './file-source.ts';
import type { Clock } from './types.ts';

const FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';
const CHECK_INTERVAL_MS = 5_000;

export interface InClusterOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
  /** Of the token and the authority's certificate. Default: where the kubelet mounts them. */
  readonly folder?: string;
}

/** Undefined outside of a Pod, and where the environment names a kubeconfig. */
export const inClusterSource = ({ env, clock, folder = FOLDER }: InClusterOptions): KubeConfigSource | undefined => {
  const { KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_SERVICE_PORT: port = '' } = env;
  const tokenFile = join(folder, 'token');
  if (host === '' || port === '' || (env['KUBECONFIG'] ?? '') !== '' || !existsSync(tokenFile)) return undefined;
  const token = createFileSource(tokenFile, clock, CHECK_INTERVAL_MS);
  const authority = createFileSource(join(folder, 'ca.crt'), clock, CHECK_INTERVAL_MS);
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    namespace: undefined,
    context: 'in-cluster',
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
