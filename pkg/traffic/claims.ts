// What objects say of a key: all of it, so that the next one counts when one goes.
// A bounded table that owners of namespaces fill by what they create: once it is full, each namespace has an equal share.

interface SharesOptions<T> {
  /** Most entries; it may change. */
  max(): number;
  /** The namespace that an entry counts for. */
  namespaceOf(value: T): string;
  /** An entry was removed, for another or by `release`. */
  onRemoved?(value: T): void;
}

/**
 * While there is room, all may have it. Without room a namespace below its share takes the newest entry of the namespace with the most,
 * which stays at least as large: nothing swings back and forth.
 */
export const createShares = <T>({ max, namespaceOf, onRemoved }: SharesOptions<T>) => {
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

  return {
    get: (key: string): T | undefined => entries.get(key),
    /** Whether a namespace may `add` one; what it takes the room of is removed. */
    makeRoom(namespace: string): boolean {
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
    },
    /** Of a new key; after `makeRoom`. */
    add(key: string, value: T) {
      entries.set(key, value);
      const namespace = namespaceOf(value);
      const keys = namespaces.get(namespace);
      if (keys === undefined) namespaces.set(namespace, new Set([key]));
      else keys.add(key);
    },
    remove,
    /** Removes the oldest entry of a namespace; false where it has none. */
    removeOldest(namespace: string): boolean {
      const [oldest] = namespaces.get(namespace) ?? [];
      if (oldest !== undefined) remove(oldest);
      return oldest !== undefined;
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

const anyClaim = (): boolean => true;

/**
 * @param order - The claim that counts comes first.
 * @param departs - Whether something of a claim is over although its owner has a new one of the same key.
 */
export const createClaims = <C extends Claim>(
  order: (left: C, right: C) => number,
  departs: (before: C, now: C) => boolean = () => false,
) => {
  /** Nearly all keys have one claim: a list for each of 50,000 addresses would take more than the claims. */
  const living = new Map<string, C | C[]>();
  const keysOf = new Map<string, readonly string[]>();
  const departed = createShares<C>({ max: () => DEPARTED, namespaceOf: ({ by }) => by.namespace });

  const all = (key: string): C[] => {
    const claims = living.get(key);
    return claims === undefined ? [] : Array.isArray(claims) ? claims : [claims];
  };

  const put = (key: string, claims: C[]): void => {
    const [only, ...others] = claims;
    if (only === undefined) living.delete(key);
    else living.set(key, others.length === 0 ? only : claims.sort(order));
  };

  const depart = (key: string, claim: C): void => {
    departed.remove(key);
    const { namespace } = claim.by;
    if (departed.makeRoom(namespace) || departed.removeOldest(namespace)) departed.add(key, claim);
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

  const find = (key: string, isMeant: (claim: C) => boolean): C | undefined => {
    const claims = living.get(key);
    if (Array.isArray(claims)) return claims.find(isMeant);
    return claims !== undefined && isMeant(claims) ? claims : undefined;
  };

  return {
    /** All that an owner says; what it said before and does not any more departs where others do not say it. */
    set,
    remove: (owner: string): void => set(owner, new Map()),
    find,
    first: (key: string): C | undefined => find(key, anyClaim),
    /** What was said last of a key of which nothing is said now. */
    departed(key: string, isMeant: (claim: C) => boolean = anyClaim): C | undefined {
      const claim = departed.get(key);
      return claim !== undefined && isMeant(claim) ? claim : undefined;
    },
  };
};
