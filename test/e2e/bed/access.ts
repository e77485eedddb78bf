// Who may reach a control plane: certificates, kubeconfigs, users, and how programs are exposed to it.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Api } from './api.ts';
import { controlPlaneAddresses, kubernetesServiceAddresses, run } from './machine.ts';

/** A certificate and its private key as PEM files. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

/** Everything the API server needs to be told; all values are paths of PEM files. */
export interface Pki {
  /** Authority that signs the server and the users; give its certificate to clients and webhooks. */
  readonly authority: KeyPair;
  readonly server: KeyPair;
  readonly frontProxyAuthority: KeyPair;
  readonly frontProxyClient: KeyPair;
  readonly serviceAccountKey: string;
  /** A client certificate for a user; the same user and groups get the same files again. */
  client(user: string, groups: readonly string[]): Promise<KeyPair>;
  /** A server certificate for DNS names and IP addresses, for webhooks and API services of tests. */
  serving(name: string, hosts: readonly string[]): Promise<KeyPair>;
}

interface Request {
  readonly subject: string;
  readonly extensions: readonly string[];
  /** Who signs; the certificate signs itself where this is missing. */
  readonly authority?: KeyPair;
}

const escapeName = (value: string): string => value.replace(/[\\/+]/g, (special) => `\\${special}`);

const isAddress = (host: string): boolean => /^[0-9.]+$/.test(host) || host.includes(':');

const alternativeNames = (hosts: readonly string[]): string =>
  `subjectAltName=${hosts.map((host) => `${isAddress(host) ? 'IP' : 'DNS'}:${host}`).join(',')}`;

const issue = async (directory: string, name: string, request: Request): Promise<KeyPair> => {
  const pair = { certificate: join(directory, `${name}.crt`), key: join(directory, `${name}.key`) };
  const signer =
    request.authority === undefined ? [] : ['-CA', request.authority.certificate, '-CAkey', request.authority.key];
  const newKey = ['-nodes', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-keyout', pair.key];
  const certificate = ['-x509', '-days', '30', '-subj', request.subject, '-out', pair.certificate];
  const extensions = request.extensions.flatMap((extension) => ['-addext', extension]);
  await run('openssl', ['req', ...newKey, ...certificate, ...signer, ...extensions]);
  return pair;
};

const authorityExtensions = ['keyUsage=critical,keyCertSign,cRLSign'];
const leafExtensions = (usage: 'clientAuth' | 'serverAuth'): string[] => [
  'basicConstraints=critical,CA:FALSE',
  'keyUsage=critical,digitalSignature',
  `extendedKeyUsage=${usage}`,
];

/** Makes the certificates of a bed in `directory`. */
export const createPki = async (directory: string): Promise<Pki> => {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const authority = await issue(directory, 'ca', { subject: '/CN=bed-ca', extensions: authorityExtensions });
  const serving = (name: string, hosts: readonly string[]): Promise<KeyPair> =>
    issue(directory, `serving-${name}`, {
      subject: `/CN=${escapeName(name)}`,
      extensions: [...leafExtensions('serverAuth'), alternativeNames(hosts)],
      authority,
    });
  const frontProxyAuthority = await issue(directory, 'front-proxy-ca', {
    subject: '/CN=bed-front-proxy-ca',
    extensions: authorityExtensions,
  });
  const serviceAccountKey = join(directory, 'service-account.key');
  await run('openssl', ['genrsa', '-out', serviceAccountKey, '2048']);

  const clients = new Map<string, Promise<KeyPair>>();
  const client = (user: string, groups: readonly string[]): Promise<KeyPair> => {
    const subject = [...groups.map((group) => `/O=${escapeName(group)}`), `/CN=${escapeName(user)}`].join('');
    const known = clients.get(subject);
    if (known !== undefined) return known;
    const made = issue(directory, `client-${clients.size + 1}`, {
      subject,
      extensions: leafExtensions('clientAuth'),
      authority,
    });
    clients.set(subject, made);
    return made;
  };
  const { ipv4, ipv6 } = controlPlaneAddresses;
  return {
    authority,
    server: await serving('kube-apiserver', ['localhost', '127.0.0.1', ipv4, ipv6, ...kubernetesServiceAddresses]),
    frontProxyAuthority,
    frontProxyClient: await issue(directory, 'front-proxy-client', {
      subject: '/CN=front-proxy',
      extensions: leafExtensions('clientAuth'),
      authority: frontProxyAuthority,
    }),
    serviceAccountKey,
    client,
    serving,
  };
};

/** A PEM file as a kubeconfig or a caBundle wants it. */
export const base64Of = (file: string): string => readFileSync(file).toString('base64');

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

/** As an API server takes it. */
export interface ClusterRole {
  readonly metadata?: { readonly name?: string };
  readonly rules?: readonly object[];
}

/** A user, a group or a ServiceAccount. */
interface Subject {
  readonly kind: 'User' | 'Group' | 'ServiceAccount';
  readonly name: string;
  readonly namespace?: string;
}

/** Binds a ClusterRole to the subject, and creates the role first where it is given whole. */
export const grant = async (api: Api, role: string | ClusterRole, subject: Subject): Promise<void> => {
  const rbac = 'rbac.authorization.k8s.io';
  const name = typeof role === 'string' ? role : (role.metadata?.name ?? '');
  if (typeof role !== 'string') await api.create(`/apis/${rbac}/v1/clusterroles`, role);
  await api.create(`/apis/${rbac}/v1/clusterrolebindings`, {
    metadata: { name: `${name}-${subject.name}` },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name },
    subjects: [{ ...(subject.kind === 'ServiceAccount' ? {} : { apiGroup: rbac }), ...subject }],
  });
};

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
const writeKubeconfig = async (
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

/** Returns the path of a user's kubeconfig; the same user and groups get the same file again. */
export type Users = (user: UserOptions) => Promise<string>;

export const createUsers = (directory: string, pki: Pki): Users => {
  const files = new Map<string, Promise<string>>();
  return (user) => {
    const key = JSON.stringify([user.user, user.groups ?? []]);
    const known = files.get(key);
    if (known !== undefined) return known;
    const name = `${user.user.replace(/[^A-Za-z0-9-]+/g, '-')}-${files.size + 1}`;
    const file = writeKubeconfig(directory, name, pki, user);
    files.set(key, file);
    return file;
  };
};

export interface ExposeOptions {
  /** Namespace of the Service; must exist. */
  readonly namespace: string;
  /** Name of the Service. The program's certificate has to be for `<name>.<namespace>.svc`. */
  readonly name: string;
  /** The port that the program listens on, on all addresses or on `controlPlaneAddresses.ipv4`. */
  readonly targetPort: number;
  /** The Service's port. Default 443. */
  readonly port?: number;
}

/** Host name under which the API server calls a Service. */
export const serviceHost = ({ name, namespace }: Pick<ExposeOptions, 'name' | 'namespace'>): string =>
  `${name}.${namespace}.svc`;

/** Creates a slice and Endpoints for a Service that exists, as `exposeProgram` does. */
export const exposeAddress = async (
  api: Api,
  { namespace, name, targetPort, portName = 'https' }: Omit<ExposeOptions, 'port'> & { readonly portName?: string },
): Promise<void> => {
  const ports = [{ name: portName, port: targetPort, protocol: 'TCP' }];
  await api.create(`/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`, {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: `${name}-bed`,
      labels: { 'kubernetes.io/service-name': name, 'endpointslice.kubernetes.io/managed-by': 'bed' },
    },
    addressType: 'IPv4',
    ports,
    endpoints: [{ addresses: [controlPlaneAddresses.ipv4], conditions: { ready: true } }],
  });
  await api.create(`/api/v1/namespaces/${namespace}/endpoints`, {
    apiVersion: 'v1',
    kind: 'Endpoints',
    // Not to be mirrored to a second slice.
    metadata: { name, labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } },
    subsets: [{ addresses: [{ ip: controlPlaneAddresses.ipv4 }], ports }],
  });
};

/**
 * Creates a Service without selector, its slice, and its Endpoints, which older API servers look at. The API server finds
 * webhooks through these (`--enable-aggregator-routing`), so it connects to the address itself and no kube-proxy takes part.
 */
export const exposeProgram = async (api: Api, options: ExposeOptions): Promise<void> => {
  const { namespace, name, targetPort, port = 443 } = options;
  await api.create(`/api/v1/namespaces/${namespace}/services`, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { ports: [{ name: 'https', port, targetPort }] },
  });
  await exposeAddress(api, options);
};
