// Writes kubeconfig files with embedded certificates, one per user of a bed.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { controlPlaneAddresses } from './addresses.ts';
import { base64Of } from './pki.ts';
import type { Pki } from './pki.ts';

/** Who a client is to the API server. */
export interface UserOptions {
  /** User name as RBAC and audit see it, e.g. `system:serviceaccount:garden:settings-reconciler`. */
  readonly user: string;
  /** Groups. Default: none, so that the user may only do what a binding in the test allows. */
  readonly groups?: readonly string[];
}

/** Address of the API server, the same from the control plane and from every node. */
export const serverUrl = `https://${controlPlaneAddresses.ipv4}:6443`;

/** Group that RBAC lets do everything. */
export const mastersGroup = 'system:masters';

/** Writes a kubeconfig for a user with these credentials. JSON is valid YAML. */
const writeConfig = (file: string, pki: Pki, user: string, credentials: object): void => {
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'bed',
        cluster: { server: serverUrl, 'certificate-authority-data': base64Of(pki.authority.certificate) },
      },
    ],
    users: [{ name: user, user: credentials }],
    contexts: [{ name: 'bed', context: { cluster: 'bed', user } }],
    'current-context': 'bed',
  };
  writeFileSync(file, JSON.stringify(config, undefined, 2), { mode: 0o600 });
};

/** Writes `<directory>/<name>.kubeconfig` with a certificate and returns its path. */
export const writeKubeconfig = async (
  directory: string,
  name: string,
  pki: Pki,
  { user, groups = [] }: UserOptions,
): Promise<string> => {
  const client = await pki.client(user, groups);
  const file = join(directory, `${name}.kubeconfig`);
  writeConfig(file, pki, user, {
    'client-certificate-data': base64Of(client.certificate),
    'client-key-data': base64Of(client.key),
  });
  return file;
};

/** Writes a kubeconfig with a bearer token, as Pods have one. */
export const writeTokenKubeconfig = (file: string, pki: Pki, user: string, token: string): void =>
  writeConfig(file, pki, user, { token });
