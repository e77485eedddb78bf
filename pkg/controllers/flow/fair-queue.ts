// Fair queue: the owner that has used least is served next, so that one with many requests waits behind those with few.

export interface FairQueue<Item> {
  add(owner: string, item: Item): void;
  /** The first item of the owner that has used least; undefined where nothing waits. */
  next(): { readonly owner: string; readonly item: Item } | undefined;
  /** What an item of the owner came to. */
  used(owner: string, amount: number): void;
  /** Takes out what fits. */
  remove(fits: (item: Item) => boolean): void;
  readonly length: number;
}

interface Account<Item> {
  readonly waiting: Item[];
  used: number;
}

/**
 * Start-time fair queueing (Goyal, Vin, Cheng: SIGCOMM 1996) with one weight for all: an owner that begins to wait begins where the
 * owner served last stands, so that idle owners accumulate no credit and past use is not held against them indefinitely.
 */
export const createFairQueue = <Item>(): FairQueue<Item> => {
  const accounts = new Map<string, Account<Item>>();
  let reached = 0;
  let length = 0;
  const accountOf = (owner: string): Account<Item> => {
    const known = accounts.get(owner);
    if (known !== undefined) return known;
    const account: Account<Item> = { waiting: [], used: reached };
    accounts.set(owner, account);
    return account;
  };
  return {
    add(owner, item) {
      const account = accountOf(owner);
      if (account.waiting.length === 0) account.used = Math.max(account.used, reached);
      account.waiting.push(item);
      length += 1;
    },
    next() {
      let best: string | undefined;
      for (const [owner, { waiting, used }] of accounts) {
        if (waiting.length === 0) {
          // Those that do not wait are remembered only while that makes a difference.
          if (used <= reached) accounts.delete(owner);
        } else if (best === undefined || used < (accounts.get(best)?.used ?? 0)) best = owner;
      }
      const account = best === undefined ? undefined : accounts.get(best);
      const item = account?.waiting.shift();
      if (best === undefined || account === undefined || item === undefined) return undefined;
      reached = Math.max(reached, account.used);
      length -= 1;
      return { owner: best, item };
    },
    used(owner, amount) {
      accountOf(owner).used += amount;
    },
    remove(fits) {
      for (const account of accounts.values()) {
        for (let index = account.waiting.length - 1; index >= 0; index -= 1) {
          const item = account.waiting[index];
          if (item === undefined || !fits(item)) continue;
          account.waiting.splice(index, 1);
          length -= 1;
        }
      }
    },
    get length() {
      return length;
    },
  };
};
