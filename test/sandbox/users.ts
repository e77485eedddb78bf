// Users of the sandbox: bearer tokens, and the kubeconfigs that carry them.
import { randomBytes } from 'node:crypto';
import { stringify } from 'yaml';
import type { Actor } from './writer.ts';

export interface Users {
  /** The token of a user; the same user keeps the same token, the newest groups count. */
  tokenOf(username: string, groups: readonly string[]): string;
  /** Who a request's Authorization header names. */
  authenticate(authorization: string): Actor | undefined;
}

export const createUsers = (): Users => {
  const tokens = new Map<string, string>();
  const actors = new Map<string, Actor>();
  return {
    tokenOf(username, groups) {
      const token = tokens.get(username) ?? randomBytes(24).toString('base64url');
      tokens.set(username, token);
      actors.set(token, { username, groups: [...new Set([...groups, 'system:authenticated'])] });
      return token;
    },
    authenticate: (authorization) => actors.get(/^Bearer\s+(\S+)$/i.exec(authorization)?.[1] ?? ''),
  };
};

export const renderKubeconfig = (server: string, caBundle: string, user: string, token: string): string =>
  stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'sandbox',
    clusters: [
      { name: 'sandbox', cluster: { server, 'certificate-authority-data': Buffer.from(caBundle).toString('base64') } },
    ],
    users: [{ name: user, user: { token } }],
    contexts: [{ name: 'sandbox', context: { cluster: 'sandbox', user, namespace: 'default' } }],
  });
