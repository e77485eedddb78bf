// Decides what to do about the stored authority and server certificate; a pure function of what is stored and the time.
import { BACKDATE_MS } from './issue.ts';
import { type Validity, day } from './pair.ts';

export interface ServerFacts extends Validity {
  /** Which stored authority signed it. */
  readonly issuer: 'current' | 'previous' | 'unknown';
  /** Wanted names that it does not cover. */
  readonly missingNames: readonly string[];
}

/** What is stored and usable; unreadable or foreign content counts as absent. */
export interface StoredFacts {
  /** The newest authority. */
  readonly current?: Validity;
  /** The one before it, while it is still published. */
  readonly previous?: Validity;
  readonly server?: ServerFacts;
}

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** In milliseconds; lifetimes as Gardener's secrets manager uses them for webhook certificates. */
export const DEFAULT_POLICY = {
  authorityLifetimeMs: 30 * DAY,
  serverLifetimeMs: 30 * DAY,
  /** Part of a lifetime after which a certificate is renewed, 0..1. */
  renewAt: 2 / 3,
  /**
   * How long a new authority is published before it signs, so that callers trust it before they meet it. Longer than
   * two check intervals: the replica that registers the webhook must have seen it.
   */
  propagationMs: 15 * MINUTE,
  /** How long the previous authority stays published after it was replaced, so that all replicas have changed over. */
  retentionMs: DAY,
};

export type RotationPolicy = Readonly<typeof DEFAULT_POLICY>;

const issuedAt = ({ notBefore }: Validity): number => notBefore + BACKDATE_MS;

const renewalAt = (validity: Validity, { renewAt }: RotationPolicy): number =>
  issuedAt(validity) + (validity.notAfter - issuedAt(validity)) * renewAt;

/** Issued where the clock was ahead by more than BACKDATE_MS: callers refuse it until their own clock has come that far. */
const isNotYetValid = ({ notBefore }: Validity, now: number): boolean => now < notBefore;

/** Until when the previous authority keeps signing; undefined when the current one signs. */
const previousSignsUntil = (
  { current, previous }: StoredFacts,
  policy: RotationPolicy,
  now: number,
): number | undefined => {
  if (current === undefined || previous === undefined || isNotYetValid(previous, now)) return undefined;
  const until = issuedAt(current) + policy.propagationMs;
  // An authority that ends before the new one is known everywhere is no bridge.
  return now < until && previous.notAfter > until ? until : undefined;
};

/** One CamelCase word, and a sentence. */
type Why = readonly [reason: string, message: string];

const whyIssueServer = (stored: StoredFacts, policy: RotationPolicy, now: number): Why | undefined => {
  const { server } = stored;
  if (server === undefined) return ['ServerMissing', 'there is no usable server certificate'];
  if (isNotYetValid(server, now))
    return ['ServerNotYetValid', `the server certificate is not valid before ${day(server.notBefore)}`];
  if (server.missingNames[0]) return ['NamesChanged', `the server certificate lacks ${server.missingNames.join(', ')}`];
  if (server.issuer === 'unknown')
    return ['ForeignIssuer', 'the server certificate was not signed by the stored authority'];
  const bridge = previousSignsUntil(stored, policy, now);
  if (now >= renewalAt(server, policy)) {
    // A new authority signs soon: one renewal then is enough, if the certificate lasts that long.
    if (bridge !== undefined && server.notAfter > bridge + policy.propagationMs) return undefined;
    return ['ServerExpiring', `the server certificate expires ${day(server.notAfter)}`];
  }
  if (bridge === undefined && server.issuer === 'previous')
    return ['AuthorityChanged', 'the server certificate was signed by the previous authority'];
  return undefined;
};

/**
 * What to do next; call again after it is done, until the answer is Keep.
 *
 * An authority is replaced in steps, so that no caller ever meets a certificate it cannot check: the new one is
 * published beside the old, after `propagationMs` it signs the server certificate, and after `retentionMs` the old
 * one is withdrawn.
 */
export const decideRotation = (stored: StoredFacts, now: number, policy = DEFAULT_POLICY) => {
  const { current, previous, server } = stored;
  const rotate = (reason: string, message: string) => ({ kind: 'RotateAuthority', reason, message }) as const;
  if (current === undefined) return rotate('AuthorityMissing', 'there is no usable certificate authority');
  if (isNotYetValid(current, now))
    return rotate('AuthorityNotYetValid', `the certificate authority is not valid before ${day(current.notBefore)}`);
  if (now >= renewalAt(current, policy))
    return rotate('AuthorityExpiring', `the certificate authority expires ${day(current.notAfter)}`);
  const why = whyIssueServer(stored, policy, now);
  if (why !== undefined) {
    const signer = previousSignsUntil(stored, policy, now) === undefined ? 'current' : 'previous';
    return { kind: 'IssueServer', signer, reason: why[0], message: why[1] } as const;
  }
  if (previous !== undefined && server?.issuer === 'current') {
    if (now >= issuedAt(current) + policy.retentionMs || now >= previous.notAfter)
      return { kind: 'DropPrevious', message: 'the previous certificate authority is no longer needed' } as const;
  }
  return { kind: 'Keep' } as const;
};

export type RotationDecision = ReturnType<typeof decideRotation>;
