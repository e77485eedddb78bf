// What objects say of a key: all of it, so that the next one counts when one goes.
// A bounded table that owners of namespaces fill by what they create: once it is full, each namespace has an equal share.
import { keptIn } from '../apis/values.ts';

/**
 * While there is room, all may have it. Without room a namespace below its share takes the newest entry of the namespace with the most,
 * which stays at least as large: nothing swings back and forth.
 *
 * @param max - Most entries; it may change.
 * @param onRemoved - An entry was removed, for another or by `release`.
 */
export const createShares = <T>(
  max: () => number,
  namespaceOf: (value: T) => string,
  onRemoved?: (value: T) => void,
) => {
  const entries = new Map<string, T>();
  /** Keys by namespace, the oldest first. */
  const namespaces = new Map<string, Set<string>>();

  const remove = (key: string): void => {
    const value = entries.get(key);
    if (value === undefined) return;
    const namespace = namespaceOf(value);
    const keys = namespaces.get(namespace);
    keys?.delete(key);
    if (keys?.size === 0) namespaces.delete(namespace);
    entries.delete(key);
    onRemoved?.(value);
  };

  const hasRoom = (namespace: string): boolean => {
    if (entries.size < max()) return true;
    const own = namespaces.get(namespace)?.size ?? 0;
    const share = Math.max(1, Math.floor(max() / (namespaces.size + (own === 0 ? 1 : 0))));
    if (own >= share) return false;
    let largest = new Set<string>();
    for (const keys of namespaces.values()) if (keys.size > largest.size) largest = keys;
    const newest = [...largest].at(-1);
    if (newest === undefined || largest.size <= own + 1) return false;
    remove(newest);
    return true;
  };

  return {
    get: (key: string): T | undefined => entries.get(key),
    /** Adds a new key where its namespace may have one more, in the room of another's where there is no other. */
    add(key: string, value: T): boolean {
      const namespace = namespaceOf(value);
      if (!hasRoom(namespace)) return false;
      entries.set(key, value);
      keptIn(namespaces, namespace, () => new Set<string>()).add(key);
      return true;
    },
    remove,
    removeOldest(namespace: string): void {
      for (const oldest of namespaces.get(namespace) ?? []) return remove(oldest);
    },
    /** Removes what nothing stands for any more. */
    release(isGone: (value: T) => boolean) {
      for (const [key, value] of entries) if (isGone(value)) remove(key);
    },
    values: () => entries.values(),
  };
};

export interface Owner {
  /** Of the object; distinct among those of one kind. */
  readonly name: string;
  /** Empty for objects without one. */
  readonly namespace: string;
  /** When the object was made, RFC 3339. */
  readonly since: string;
}

export interface Claim {
  readonly by: Owner;
}

/** What left is found for a while: flows outlive Services and endpoints. */
const DEPARTED = 10_000;

/**
 * @param order - The claim that counts comes first.
 * @param departs - Whether something of a claim is over although its owner has a new one of the same key.
 * @param most - Claims of one key that a namespace may have; those that come last in its order are left out.
 */
export const createClaims = <C extends Claim>(
  order: (left: C, right: C) => number,
  departs: (before: C, now: C) => boolean = () => false,
  most = Infinity,
) => {
  /** Nearly all keys have one claim: a list for each of 50,000 addresses would take more than the claims. */
  const living = new Map<string, C | C[]>();
  const keysOf = new Map<string, readonly string[]>();
  const departed = createShares<C>(
    () => DEPARTED,
    ({ by }) => by.namespace,
  );

  const all = (key: string): readonly C[] => {
    const claims = living.get(key) ?? [];
    return Array.isArray(claims) ? claims : [claims];
  };

  const put = (key: string, claims: C[]): void => {
    const [only, ...others] = claims;
    if (only === undefined) living.delete(key);
    else if (others.length === 0) living.set(key, only);
    else {
      const counts = new Map<string, number>();
      const isShare = ({ by: { namespace } }: C): boolean => {
        counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
        return (counts.get(namespace) ?? 0) <= most;
      };
      living.set(key, claims.sort(order).filter(isShare));
    }
  };

  const depart = (key: string, claim: C): void => {
    departed.remove(key);
    if (departed.add(key, claim)) return;
    departed.removeOldest(claim.by.namespace);
    departed.add(key, claim);
  };

  const set = (owner: string, claims: ReadonlyMap<string, C>): void => {
    for (const key of keysOf.get(owner) ?? []) {
      if (claims.has(key)) continue;
      const before = all(key);
      const others = before.filter(({ by }) => by.name !== owner);
      put(key, others);
      if (others.length === 0 && before[0] !== undefined) depart(key, before[0]);
    }
    for (const [key, claim] of claims) {
      const before = all(key);
      const own = before.find(({ by }) => by.name === owner);
      if (own !== undefined && departs(own, claim)) depart(key, own);
      put(key, [...before.filter((other) => other !== own), claim]);
    }
    if (claims.size === 0) keysOf.delete(owner);
    else keysOf.set(owner, [...claims.keys()]);
  };

  return {
    /** All that an owner says; what it said before and does not any more departs where others do not say it. */
    set,
    remove: (owner: string): void => set(owner, new Map()),
    keysOf: (owner: string): readonly string[] => keysOf.get(owner) ?? [],
    /** Of a key, the one that counts first. */
    all,
    first: (key: string, isMeant: (claim: C) => boolean = () => true): C | undefined => all(key).find(isMeant),
    /** What was said last of a key of which nothing is said now. */
    departed: (key: string): C | undefined => departed.get(key),
  };
};
