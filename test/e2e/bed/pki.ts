// The certificates of one bed, made with openssl: cluster and front-proxy authorities, the server, one client per user.
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { controlPlaneAddresses, kubernetesServiceAddresses } from './addresses.ts';
import { run } from './command.ts';

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
