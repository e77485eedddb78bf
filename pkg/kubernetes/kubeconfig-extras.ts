// Reads what client-node leaves out of a kubeconfig: token files (Gardener uses them), full impersonation, plug-in input.
import { homedir } from 'node:os';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { isFields } from '../apis/fields.ts';
import type { Fields } from '../apis/fields.ts';

/** One kubeconfig file as it was read. */
export interface KubeconfigFile {
  path: string;
  /** Parsed, and unchecked. */
  content: unknown;
}

export interface UserExtras {
  /** Absolute path of the user's `tokenFile`. */
  tokenFile: string | undefined;
  /** Impersonation headers beside `Impersonate-User`, names in lower case. */
  headers: Readonly<Record<string, string | string[]>>;
}

interface Named {
  name?: unknown;
  [key: string]: unknown;
}

const record = (value: unknown): Fields => (isFields(value) ? value : {});

const strings = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];

/** The kubeconfig files of the default rules, in order of precedence; they need not exist. */
export const defaultKubeconfigPaths = (environment: NodeJS.ProcessEnv): string[] => {
  const listed = (environment['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '');
  return listed.length > 0 ? listed : [join(environment['HOME'] ?? homedir(), '.kube', 'config')];
};

/** The entry `name` of a named list (`users`, `clusters`), and the file it is from: the first file that has it wins. */
const find = (
  files: readonly KubeconfigFile[],
  list: string,
  name: string,
): { path: string; entry: Record<string, unknown> } | undefined => {
  for (const { path, content } of files) {
    const entries = record(content)[list];
    const entry = (Array.isArray(entries) ? (entries as Named[]) : []).find((candidate) => candidate?.name === name);
    if (entry !== undefined) return { path, entry };
  }
  return undefined;
};

const impersonation = (user: Record<string, unknown>): UserExtras['headers'] => {
  const headers: Record<string, string | string[]> = {};
  if (typeof user['as-uid'] === 'string') headers['impersonate-uid'] = user['as-uid'];
  const groups = strings(user['as-groups']);
  if (groups.length > 0) headers['impersonate-group'] = groups;
  for (const [key, values] of Object.entries(record(user['as-user-extra']))) {
    headers[`impersonate-extra-${encodeURIComponent(key.toLowerCase())}`] = strings(values);
  }
  return headers;
};

/** What the user `name` says beyond client-node's model. */
export const userExtras = (files: readonly KubeconfigFile[], name: string): UserExtras => {
  const found = find(files, 'users', name);
  if (found === undefined) return { tokenFile: undefined, headers: {} };
  const user = record(found.entry['user']);
  const { tokenFile } = user;
  const given = typeof tokenFile === 'string' && tokenFile !== '' ? tokenFile : undefined;
  return {
    tokenFile: given === undefined || isAbsolute(given) ? given : join(dirname(found.path), given),
    headers: impersonation(user),
  };
};

const PLUGIN_EXTENSION = 'client.authentication.k8s.io/exec';

/** Configuration that the cluster `name` carries for its plug-in, for example gardenlogin's reference to a Shoot. */
export const pluginConfig = (files: readonly KubeconfigFile[], name: string): unknown => {
  const extensions = record(find(files, 'clusters', name)?.entry['cluster'])['extensions'];
  const entries = Array.isArray(extensions) ? (extensions as Named[]) : [];
  return entries.find((candidate) => candidate?.name === PLUGIN_EXTENSION)?.['extension'];
};
