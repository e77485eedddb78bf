// What the contract suite needs to know about the API server that it checks, and a namespace of its own on it.
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { createApi, text, type Api, type Json } from './api.ts';

/** An API server under test, with its EndpointSlice, namespace and garbage collection controllers running. */
export interface ContractServer {
  /** Kubeconfig (YAML) of a user who may do everything. */
  readonly kubeconfig: string;
  /** Name of that user as webhooks see it. */
  readonly user: string;
  /** Minor version, for what differs by version. */
  readonly minor: number;
}

/** One test group's view of the server. */
export interface Scope {
  readonly api: Api;
  readonly server: ContractServer;
  readonly namespace: string;
  /** Path of a namespaced core resource, for example `core('services', 'web')`. */
  core(plural: string, name?: string): string;
  /** Path of a namespaced resource of a group version. */
  group(groupVersion: string, plural: string, name?: string): string;
  dispose(): Promise<void>;
}

export const unique = (prefix: string): string => `${prefix}-${randomBytes(4).toString('hex')}`;

export const createScope = async (server: ContractServer): Promise<Scope> => {
  const api = await createApi(server.kubeconfig);
  const namespace = unique('contract');
  const created = await api.post('/api/v1/namespaces', { metadata: { name: namespace } });
  if (created.status !== 201) throw new Error(`namespace not created: ${created.text}`);
  const suffix = (name: string | undefined): string => (name === undefined ? '' : `/${name}`);
  return {
    api,
    server,
    namespace,
    core: (plural, name) => `/api/v1/namespaces/${namespace}/${plural}${suffix(name)}`,
    group: (groupVersion, plural, name) => `/apis/${groupVersion}/namespaces/${namespace}/${plural}${suffix(name)}`,
    async dispose() {
      await api.delete(`/api/v1/namespaces/${namespace}`);
    },
  };
};

const WAIT_MS = 60_000;
const POLL_MS = 20;

/** Polls until `read` returns something; fails with the last state after a generous while. */
export const eventually = async <T>(
  what: string,
  read: () => Promise<T | undefined>,
  state: () => unknown = () => '',
): Promise<T> => {
  const end = Date.now() + WAIT_MS;
  for (;;) {
    const value = await read();
    if (value !== undefined) return value;
    if (Date.now() > end) throw new Error(`${what} did not happen: ${JSON.stringify(state())}`);
    await pause(POLL_MS);
  }
};

/** A Service with one port. */
export const aService = (
  name: string,
  spec: Record<string, unknown> = {},
  metadata: Record<string, unknown> = {},
): unknown => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, ...metadata },
  spec: { ports: [{ port: 80 }], ...spec },
});

export const aConfigMap = (
  name: string,
  data: Record<string, string> = {},
  labels: Record<string, string> = {},
): unknown => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels }, data });

export const versionOf = (object: Json): string => text(object['metadata']?.['resourceVersion'] ?? '');
