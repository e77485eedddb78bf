// How authority and server certificate are laid out in their two Secrets.
import { isIP } from 'node:net';
import { defined } from '../../apis/defined.ts';
import type { KubernetesObject, ObjectRef } from '../../apis/meta.ts';
import { readPair, readServingPair } from './pair.ts';
import type { Pair } from './pair.ts';
import type { ServerFacts, StoredFacts } from './rotation.ts';
import { CertificateError } from './types.ts';
import type { Pem } from './types.ts';

/** core/v1 Secret; `data` is base64. */
export interface Secret extends KubernetesObject {
  type?: string;
  data?: Record<string, string>;
}

/** What the two Secrets hold that can be used. */
export interface StoredPairs {
  readonly current?: Pair;
  readonly previous?: Pair;
  readonly server?: Pair;
}

const FIELDS = {
  current: { cert: 'ca.crt', key: 'ca.key' },
  previous: { cert: 'previous-ca.crt', key: 'previous-ca.key' },
  server: { cert: 'tls.crt', key: 'tls.key' },
} as const;

/** The authorities to trust, for people and tools that read the Secret. */
const BUNDLE_FIELD = 'bundle.crt';

/** Names of the two Secrets, as Gardener's extension library names its own. */
export const secretNames = (name: string): { authority: string; server: string } => ({
  authority: `ca-${name}-webhook`,
  server: `${name}-webhook-server`,
});

const decode = (secret: Secret, field: string): string =>
  Buffer.from(secret.data?.[field] ?? '', 'base64').toString('utf8');

const base64 = (text: string): string => Buffer.from(text, 'utf8').toString('base64');

const describe = ({ metadata }: KubernetesObject): string =>
  `Secret ${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;

/** Reads one pair; absent, unreadable or (for an authority) unable to sign is undefined, and `onUnusable` hears why. */
const readStored = (
  secret: Secret | undefined,
  which: keyof typeof FIELDS,
  onUnusable: (problem: CertificateError) => void,
): Pair | undefined => {
  const fields = FIELDS[which];
  if (secret === undefined || (which === 'previous' && secret.data?.[fields.cert] === undefined)) return undefined;
  const origin = { cert: `${describe(secret)} ${fields.cert}`, key: `${describe(secret)} ${fields.key}` };
  try {
    const read = which === 'server' ? readServingPair : readPair;
    const pair = read({ cert: decode(secret, fields.cert), key: decode(secret, fields.key) }, origin);
    const curve = pair.privateKey.asymmetricKeyDetails?.namedCurve;
    if (which !== 'server' && (!pair.certificate.ca || curve !== 'prime256v1')) {
      throw new CertificateError(
        'InvalidCertificate',
        `${origin.cert} is not a certificate authority with a P-256 key`,
      );
    }
    return pair;
  } catch (error) {
    if (!(error instanceof CertificateError)) throw error;
    onUnusable(error);
    return undefined;
  }
};

/** What is usable in the two Secrets at `now`; expired authorities are left out. */
export const readSecrets = (
  secrets: { authority: Secret | undefined; server: Secret | undefined },
  now: number,
  onUnusable: (problem: CertificateError) => void,
): StoredPairs => {
  const valid = (pair: Pair | undefined): Pair | undefined =>
    pair !== undefined && now < pair.notAfter ? pair : undefined;
  const current = valid(readStored(secrets.authority, 'current', onUnusable));
  const previous = valid(readStored(secrets.authority, 'previous', onUnusable));
  const server = readStored(secrets.server, 'server', onUnusable);
  return {
    ...defined({ current, previous, server }),
  };
};

const covers = ({ certificate }: Pair, name: string): boolean =>
  (isIP(name) === 0 ? certificate.checkHost(name, { subject: 'never' }) : certificate.checkIP(name)) !== undefined;

const signedBy = ({ certificate }: Pair, authority: Pair | undefined): boolean =>
  authority !== undefined &&
  certificate.checkIssued(authority.certificate) &&
  certificate.verify(authority.certificate.publicKey);

const serverFacts = (server: Pair, stored: StoredPairs, names: readonly string[]): ServerFacts => {
  const { notBefore, notAfter } = server;
  const issuer = signedBy(server, stored.current)
    ? 'current'
    : signedBy(server, stored.previous)
      ? 'previous'
      : 'unknown';
  return { notBefore, notAfter, issuer, missingNames: names.filter((name) => !covers(server, name)) };
};

/** What the rotation decision needs to know. */
export const factsOf = (stored: StoredPairs, names: readonly string[]): StoredFacts => ({
  ...defined({ current: stored.current, previous: stored.previous }),
  ...(stored.server === undefined ? {} : { server: serverFacts(stored.server, stored, names) }),
});

/** PEM of the authorities to trust, the newest first. */
export const bundleOf = (current: Pem | undefined, previous: Pem | undefined): string =>
  `${current?.cert ?? ''}${previous?.cert ?? ''}`;

const secretOf = (ref: ObjectRef, type: string, data: Record<string, string>, base: Secret | undefined): Secret => ({
  ...base,
  apiVersion: 'v1',
  kind: 'Secret',
  // Spread last keeps labels, owners and resourceVersion of what is there: the write is refused if it changed meanwhile.
  metadata: { ...ref, ...base?.metadata },
  type: base?.type ?? type,
  data: Object.fromEntries(Object.entries(data).map(([field, text]) => [field, base64(text)])),
});

/** The authority Secret to write over `base` (absent: to create). */
export const authoritySecret = (
  ref: ObjectRef,
  current: Pem,
  previous: Pem | undefined,
  base: Secret | undefined,
): Secret =>
  secretOf(
    ref,
    'Opaque',
    {
      [FIELDS.current.cert]: current.cert,
      [FIELDS.current.key]: current.key,
      ...(previous === undefined ? {} : { [FIELDS.previous.cert]: previous.cert, [FIELDS.previous.key]: previous.key }),
      [BUNDLE_FIELD]: bundleOf(current, previous),
    },
    base,
  );

/** The server Secret to write over `base` (absent: to create). */
export const serverSecret = (ref: ObjectRef, server: Pem, base: Secret | undefined): Secret =>
  secretOf(ref, 'kubernetes.io/tls', { [FIELDS.server.cert]: server.cert, [FIELDS.server.key]: server.key }, base);
