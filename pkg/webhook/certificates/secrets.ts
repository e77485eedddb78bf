// Certificates from the built-in authority, kept in two Secrets that all replicas share and agree on by optimistic locking.
import { isIP } from 'node:net';
import { defined, keyOf } from '../../apis/values.ts';
import type { KubernetesObject, ObjectRef } from '../../apis/meta.ts';
import { SECRETS } from '../../apis/resources.ts';
import { except, ifFound, isAlreadyExists, isConflict, isNotFound } from '../../kubernetes/errors.ts';
import { pause } from '../../kubernetes/wait.ts';
import type { Uses } from '../../kubernetes/types.ts';
import { type HeldCertificate, createHolder } from './files.ts';
import { type RandomBytes, issueAuthority, issueServerCertificate } from './issue.ts';
import { CertificateError, readPair, readServingPair } from './pair.ts';
import type { Pair, Pem, RefreshingCertificateSource } from './pair.ts';
import { DEFAULT_POLICY, decideRotation } from './rotation.ts';
import type { RotationDecision, RotationPolicy, ServerFacts, StoredFacts } from './rotation.ts';

/** core/v1 Secret; `data` is base64. */
export interface Secret extends KubernetesObject {
  type?: string;
  data?: Record<string, string>;
}

const FIELDS = {
  current: { cert: 'ca.crt', key: 'ca.key' },
  previous: { cert: 'previous-ca.crt', key: 'previous-ca.key' },
  server: { cert: 'tls.crt', key: 'tls.key' },
} as const;

/** What the two Secrets hold that can be used. */
type StoredPairs = Readonly<Partial<Record<keyof typeof FIELDS, Pair>>>;

/** The authorities to trust, for people and tools that read the Secret. */
const BUNDLE_FIELD = 'bundle.crt';

/** Names of the two Secrets, as Gardener's extension library names its own. */
export const secretNames = (name: string): { authority: string; server: string } => ({
  authority: `ca-${name}-webhook`,
  server: `${name}-webhook-server`,
});

const decode = (secret: Secret, field: string): string =>
  Buffer.from(secret.data?.[field] ?? '', 'base64').toString('utf8');

/** Reads one pair; absent, unreadable or (for an authority) expired or unable to sign is undefined, and `onUnusable` hears why. */
const readStored = (
  secret: Secret | undefined,
  which: keyof typeof FIELDS,
  now: number,
  onUnusable: (problem: CertificateError) => void,
): Pair | undefined => {
  const fields = FIELDS[which];
  if (secret === undefined || (which === 'previous' && secret.data?.[fields.cert] === undefined)) return undefined;
  const origin = { cert: `Secret ${keyOf(secret)} ${fields.cert}`, key: `Secret ${keyOf(secret)} ${fields.key}` };
  try {
    const read = which === 'server' ? readServingPair : readPair;
    const pair = read({ cert: decode(secret, fields.cert), key: decode(secret, fields.key) }, origin);
    const curve = pair.privateKey.asymmetricKeyDetails?.namedCurve;
    if (which !== 'server' && (!pair.certificate.ca || curve !== 'prime256v1')) {
      const message = `${origin.cert} is not a certificate authority with a P-256 key`;
      throw new CertificateError('InvalidCertificate', message);
    }
    return which === 'server' || now < pair.notAfter ? pair : undefined;
  } catch (error) {
    if (!(error instanceof CertificateError)) throw error;
    onUnusable(error);
    return undefined;
  }
};

const covers = ({ certificate }: Pair, name: string): boolean =>
  (isIP(name) === 0 ? certificate.checkHost(name, { subject: 'never' }) : certificate.checkIP(name)) !== undefined;

const signedBy = ({ certificate }: Pair, authority: Pair | undefined): boolean =>
  authority !== undefined &&
  certificate.checkIssued(authority.certificate) &&
  certificate.verify(authority.certificate.publicKey);

const serverFacts = (server: Pair, stored: StoredPairs, names: readonly string[]): ServerFacts => {
  const { notBefore, notAfter } = server;
  const issuer = (['current', 'previous'] as const).find((which) => signedBy(server, stored[which])) ?? 'unknown';
  return { notBefore, notAfter, issuer, missingNames: names.filter((name) => !covers(server, name)) };
};

const factsOf = (stored: StoredPairs, names: readonly string[]): StoredFacts => {
  const { current, previous, server } = stored;
  return defined({ current, previous, server: server && serverFacts(server, stored, names) });
};

/** PEM of the authorities to trust, the newest first. */
const bundleOf = (current: Pem | undefined, previous: Pem | undefined): string =>
  `${current?.cert ?? ''}${previous?.cert ?? ''}`;

/** The Secret to write over `base` (absent: to create). */
const secretOf = (ref: ObjectRef, type: string, data: Record<string, string>, base: Secret | undefined): Secret => ({
  ...base,
  apiVersion: 'v1',
  kind: 'Secret',
  // Spread last keeps labels, owners and resourceVersion of what is there: the write is refused if it changed meanwhile.
  metadata: { ...ref, ...base?.metadata },
  type: base?.type ?? type,
  data: Object.fromEntries(
    Object.entries(data).map(([field, text]) => [field, Buffer.from(text, 'utf8').toString('base64')]),
  ),
});

const pairData = ({ cert, key }: Pem, which: keyof typeof FIELDS): Record<string, string> => ({
  [FIELDS[which].cert]: cert,
  [FIELDS[which].key]: key,
});

export interface SecretCertificatesOptions extends Uses<'client' | 'clock' | 'logger', 'get' | 'create' | 'update'> {
  namespace: string;
  /** Of the extension or command: Secrets are `ca-<name>-webhook` and `<name>-webhook-server`. */
  name: string;
  /** DNS names and IP addresses that the server is called by. */
  names: readonly string[];
  randomBytes: RandomBytes;
  policy?: RotationPolicy;
}

/** Milliseconds between looks at the Secrets, as Gardener's extension library. */
const CHECK_INTERVAL_MS = 300_000;
/** First wait after a failed look, milliseconds; doubles up to the check interval. */
const RETRY_MS = 10_000;

/** Rounds of read, decide, write. Three are needed from nothing; more only when other replicas write at the same time. */
const MAX_ROUNDS = 10;

/** Names a Service is called by inside its cluster. The API server uses the one ending in `.svc`. */
export const serviceNames = (service: string, namespace: string): string[] => [
  service,
  `${service}.${namespace}`,
  `${service}.${namespace}.svc`,
  `${service}.${namespace}.svc.cluster.local`,
];

/** Reads the two Secrets, and writes what the next decision about them asks for. */
const createAccess = (options: SecretCertificatesOptions) => {
  const { client, namespace, name, names, clock, randomBytes, logger, policy = DEFAULT_POLICY } = options;
  const secrets = secretNames(name);

  const readOne = (secret: string, signal?: AbortSignal): Promise<Secret | undefined> =>
    ifFound(client.get<Secret>(SECRETS, { namespace, name: secret }, signal));

  const read = async (signal?: AbortSignal) => {
    // The server first: an authority that was written between the two reads is then at least as new as its server.
    const server = await readOne(secrets.server, signal);
    const authority = await readOne(secrets.authority, signal);
    const usable = (secret: Secret | undefined, which: keyof typeof FIELDS): Pair | undefined =>
      readStored(secret, which, clock.now(), (problem) =>
        logger.warn('the stored certificate cannot be used and is replaced', { error: problem }),
      );
    const [current, previous] = [usable(authority, 'current'), usable(authority, 'previous')];
    const stored: StoredPairs = defined({ current, previous, server: usable(server, 'server') });
    return { authority, server, stored };
  };
  type Snapshot = Awaited<ReturnType<typeof read>>;

  /** False if another replica was faster. */
  const write = async (secret: Secret, exists: boolean, signal?: AbortSignal): Promise<boolean> => {
    const sent = exists ? client.update(SECRETS, secret, {}, signal) : client.create(SECRETS, secret, {}, signal);
    const isFaster = [isConflict, isAlreadyExists, ...(exists ? [isNotFound] : [])];
    return (await except(sent, ...isFaster)) !== undefined;
  };

  const authoritySecret = (current: Pem, previous: Pem | undefined, base: Secret | undefined): Secret => {
    const before = previous === undefined ? {} : pairData(previous, 'previous');
    const data = { ...pairData(current, 'current'), ...before, [BUNDLE_FIELD]: bundleOf(current, previous) };
    return secretOf({ namespace, name: secrets.authority }, 'Opaque', data, base);
  };

  /** The Secret that carries the decision out; undefined when there is nothing to write. */
  const nextSecret = ({ authority, server, stored }: Snapshot, decision: RotationDecision): Secret | undefined => {
    const { current, previous } = stored;
    const now = clock.now();
    if (decision.kind === 'RotateAuthority') {
      const lifetimeMs = policy.authorityLifetimeMs;
      const issued = issueAuthority({ commonName: secrets.authority, now, lifetimeMs, randomBytes });
      return authoritySecret(issued, current, authority);
    }
    if (decision.kind === 'Keep' || current === undefined) return undefined;
    if (decision.kind === 'DropPrevious') return authoritySecret(current, undefined, authority);
    const signer = decision.signer === 'previous' ? (previous ?? current) : current;
    const common = { commonName: name, now, lifetimeMs: policy.serverLifetimeMs, randomBytes };
    const issued = issueServerCertificate({ authority: signer, names, ...common });
    return secretOf({ namespace, name: secrets.server }, 'kubernetes.io/tls', pairData(issued, 'server'), server);
  };

  /** One step: true if nothing is left to do. */
  const step = async (snapshot: Snapshot, signal?: AbortSignal): Promise<boolean> => {
    const decision = decideRotation(factsOf(snapshot.stored, names), clock.now(), policy);
    const secret = nextSecret(snapshot, decision);
    if (decision.kind === 'Keep' || secret === undefined) return true;
    const exists = (decision.kind === 'IssueServer' ? snapshot.server : snapshot.authority) !== undefined;
    const written = await write(secret, exists, signal);
    const message = written ? 'certificates changed' : 'another replica changed the certificates first';
    const { kind, message: why } = decision;
    logger.info(message, { action: kind, why, secret: secret.metadata?.name });
    return false;
  };

  return { read, step };
};

/** Brings the Secrets in order and returns what they hold. */
const settle = async (options: SecretCertificatesOptions, signal?: AbortSignal): Promise<HeldCertificate> => {
  const { read, step } = createAccess(options);
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const snapshot = await read(signal);
    const { current, previous, server } = snapshot.stored;
    if ((await step(snapshot, signal)) && server !== undefined) {
      const { cert, key, notBefore, notAfter } = server;
      return { cert, key, caBundle: bundleOf(current, previous), notBefore, notAfter };
    }
  }
  throw new Error(
    `certificates of ${options.name} did not settle: other writers changed the Secrets ${MAX_ROUNDS} times`,
  );
};

/**
 * Reads or creates authority and server certificate. Rejects if the Secrets cannot be read or written; once it
 * resolved, failures only delay the next look.
 */
export const openSecretCertificates = async (
  options: SecretCertificatesOptions,
  signal?: AbortSignal,
): Promise<RefreshingCertificateSource> => {
  const { clock, logger } = options;
  const holder = createHolder(await settle(options, signal), { clock, logger });

  /** False where it failed; what is held stays in use. */
  const look = async (signalOfLook: AbortSignal): Promise<boolean> => {
    try {
      if (holder.set(await settle(options, signalOfLook)))
        logger.info('certificates of the Secret changed; the new ones are in use', {
          notAfter: new Date(holder.notAfter),
        });
      return true;
    } catch (error) {
      if (!signalOfLook.aborted) logger.warn('cannot check the certificates; the last ones stay in use', { error });
      return false;
    }
  };
  /** How long to wait after a failed look that came so long after the one before. */
  const retryAfter = (waitedMs: number): number =>
    waitedMs >= CHECK_INTERVAL_MS ? RETRY_MS : Math.min(waitedMs * 2, CHECK_INTERVAL_MS - 1);

  return Object.assign(holder, {
    async run(signalOfRun: AbortSignal): Promise<void> {
      let waitMs = CHECK_INTERVAL_MS;
      while (await pause(clock, waitMs, signalOfRun))
        waitMs = (await look(signalOfRun)) ? CHECK_INTERVAL_MS : retryAfter(waitMs);
    },
    refresh: async (signalOfRefresh: AbortSignal): Promise<void> => void (await look(signalOfRefresh)),
  });
};
