// Whether the bearer of a token may read a path here: asked of the API server, as kube-rbac-proxy and controller-runtime do.
import { createHash } from 'node:crypto';
import { defined, keptIn } from '../apis/values.ts';
import type { KubernetesObject } from '../apis/meta.ts';
import { SUBJECT_ACCESS_REVIEWS, TOKEN_REVIEWS } from '../apis/resources.ts';
import { type TokenBucket, createLru, createTokenBucket } from './rate-limiter.ts';
import type { Client, Clock } from './types.ts';

/** `busy`: too many unknown tokens at once, of this source or of all. `unavailable`: the API server gave no answer. */
export type Access = 'allowed' | 'unauthenticated' | 'forbidden' | 'busy' | 'unavailable';

/** Answers for one token that `source`, an address, shows; rejects never. */
export type TokenAccess = (token: string, source: string) => Promise<Access>;

interface User {
  readonly username?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

interface TokenReview extends KubernetesObject {
  readonly spec: object;
  readonly status?: { readonly authenticated?: boolean; readonly audiences?: readonly string[]; readonly user?: User };
}

interface SubjectAccessReview extends KubernetesObject {
  readonly spec: object;
  readonly status?: { readonly allowed?: boolean };
}

/** How long an answer counts: what is revoked is refused after this at the latest. */
const KEPT_MS = 60_000;
const MAX_KNOWN = 1_000;
/**
 * Questions that are passed on: a Prometheus asks once a minute, a stranger as often as it likes. Those about unknown tokens have one
 * account for all and one for each source; those about tokens that were let in before have an account of their own.
 */
const RATE = { ratePerSecond: 10, burst: 20 };
const RATE_OF_SOURCE = { ratePerSecond: 1, burst: 10 };
/** Sources with an account. */
const MAX_SOURCES = 1_000;
/** Of the API server's own tokens none is as long. */
const MAX_TOKEN = 8_192;

export const createTokenAccess = (options: {
  readonly client: Pick<Client, 'create'>;
  readonly clock: Clock;
  /** Tokens for this audience are accepted, and those for the API server itself. */
  readonly audience: string;
  /** Path whose `get` is asked for. */
  readonly path: string;
}): TokenAccess => {
  const { client, clock, audience, path } = options;
  const known = createLru<{ readonly access: Promise<Access>; until: number }>(MAX_KNOWN);
  /** Tokens that were let in when they were asked about last. */
  const good = createLru<true>(MAX_KNOWN);
  const sources = createLru<TokenBucket>(MAX_SOURCES);
  const [ofGood, ofUnknown] = [createTokenBucket({ clock, ...RATE }), createTokenBucket({ clock, ...RATE })];

  const mayAsk = (key: string, source: string): boolean => {
    if (good.get(key) === true) return ofGood.tryTake();
    const own = keptIn(sources, source, () => createTokenBucket({ clock, ...RATE_OF_SOURCE }));
    return own.tryTake() && ofUnknown.tryTake();
  };

  const review = async (token: string, audiences?: readonly string[]): Promise<User | undefined> => {
    const { status } = await client.create<TokenReview>(TOKEN_REVIEWS, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token, ...defined({ audiences }) },
    });
    if (status?.authenticated !== true) return undefined;
    // An authenticator that knows no audiences vouches for the API server's own alone.
    const isMeant = audiences === undefined || audiences.some((name) => status.audiences?.includes(name) === true);
    return isMeant ? status.user : undefined;
  };

  const mayRead = async ({ username: user = '', uid, groups, extra }: User): Promise<boolean> => {
    const { status } = await client.create<SubjectAccessReview>(SUBJECT_ACCESS_REVIEWS, {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user, ...defined({ uid, groups, extra }), nonResourceAttributes: { path, verb: 'get' } },
    });
    return status?.allowed === true;
  };

  const ask = async (token: string): Promise<Access> => {
    const user = (await review(token, [audience])) ?? (await review(token));
    if (user === undefined) return 'unauthenticated';
    return (await mayRead(user)) ? 'allowed' : 'forbidden';
  };

  const answer = async (key: string, token: string): Promise<Access> => {
    try {
      const access = await ask(token);
      if (access === 'allowed') good.set(key, true);
      else good.delete(key);
      return access;
    } catch {
      known.delete(key);
      return 'unavailable';
    }
  };

  return async (token, source) => {
    if (token === '' || token.length > MAX_TOKEN) return 'unauthenticated';
    const key = createHash('sha256').update(token).digest('base64');
    const answered = known.get(key);
    if (answered !== undefined && clock.monotonic() < answered.until) return answered.access;
    if (!mayAsk(key, source)) return 'busy';
    const access = answer(key, token);
    known.set(key, { access, until: clock.monotonic() + KEPT_MS });
    return access;
  };
};
