// SPDX-License-Identifier: Apache-2.0
// Whether the bearer of a token may read a path here: asked of the API server, as kube-rbac-proxy and controller-runtime do.
import { createHash } from 'node:crypto';
import { defined } from '../apis/defined.ts';
import type { KubernetesObject } from '../apis/meta.ts';
import { SUBJECT_ACCESS_REVIEWS, TOKEN_REVIEWS } from '../apis/resources.ts';
import { createLru } from './lru.ts';
import { createTokenBucket } from './rate-limiter.ts';
import type { Client, Clock } from './types.ts';

/** `busy`: too many unknown tokens at once. `unavailable`: the API server gave no answer. */
export type Access = 'allowed' | 'unauthenticated' | 'forbidden' | 'busy' | 'unavailable';

export interface TokenAccessOptions {
  readonly client: Pick<Client, 'create'>;
  readonly clock: Clock;
  /** Tokens for this audience are accepted, and those for the API server itself. */
  readonly audience: string;
  /** Path whose `get` is asked for. */
  readonly path: string;
}

/** Answers for one token; rejects never. */
export type TokenAccess = (token: string) => Promise<Access>;

interface User {
  readonly username?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

interface TokenReview extends KubernetesObject {
  readonly spec: { readonly token: string; readonly audiences?: readonly string[] };
  readonly status?: { readonly authenticated?: boolean; readonly audiences?: readonly string[]; readonly user?: User };
}

interface SubjectAccessReview extends KubernetesObject {
  readonly spec: {
    readonly user: string;
    readonly uid?: string;
    readonly groups?: readonly string[];
    readonly extra?: User['extra'];
    readonly nonResourceAttributes: { readonly path: string; readonly verb: string };
  };
  readonly status?: { readonly allowed?: boolean };
}

/** How long an answer counts: what is revoked is refused after this at the latest. */
const KEPT_MS = 60_000;
const MAX_KNOWN = 1_000;
/** Questions about unknown tokens that are passed on: a Prometheus asks once a minute, a stranger as often as it likes. */
const RATE = { ratePerSecond: 10, burst: 20 };
/** Of the API server's own tokens none is as long. */
const MAX_TOKEN = 8_192;

export const createTokenAccess = ({ client, clock, audience, path }: TokenAccessOptions): TokenAccess => {
  const known = createLru<{ readonly access: Promise<Access>; until: number }>(MAX_KNOWN);
  const questions = createTokenBucket({ clock, ...RATE });

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
      spec: {
        user,
        ...defined({ uid, groups, extra }),
        nonResourceAttributes: { path, verb: 'get' },
      },
    });
    return status?.allowed === true;
  };

  const ask = async (token: string): Promise<Access> => {
    const user = (await review(token, [audience])) ?? (await review(token));
    if (user === undefined) return 'unauthenticated';
    return (await mayRead(user)) ? 'allowed' : 'forbidden';
  };

  return async (token) => {
    if (token === '' || token.length > MAX_TOKEN) return 'unauthenticated';
    const key = createHash('sha256').update(token).digest('base64');
    const answered = known.get(key);
    if (answered !== undefined && clock.monotonic() < answered.until) return answered.access;
    if (!questions.tryTake()) return 'busy';
    const access = ask(token).catch((): Access => {
      known.delete(key);
      return 'unavailable';
    });
    known.set(key, { access, until: clock.monotonic() + KEPT_MS });
    return access;
  };
};
