// Runs pieces of work side by side, but for those that want the machine for themselves.

export interface LanesOptions<Item, Result> {
  /** In the order that results are wanted in. */
  readonly items: readonly Item[];
  /** How many run at the same time; at least 1. */
  readonly lanes: number;
  /** Runs after all others, one at a time. */
  readonly alone: (item: Item) => boolean;
  /** `shared`: others run at the same time. */
  readonly run: (item: Item, shared: boolean) => Promise<Result>;
}

/** Results in the order of the items. Rejects with the first rejection, once what had begun has ended. */
export const runInLanes = async <Item, Result>(options: LanesOptions<Item, Result>): Promise<Result[]> => {
  const { items, lanes, alone, run } = options;
  const results: Result[] = [];
  const together = [...items.entries()].filter(([, item]) => !alone(item));
  const last = [...items.entries()].filter(([, item]) => alone(item));
  const shared = lanes > 1 && together.length > 1;
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let entry = together[next++]; entry !== undefined; entry = together[next++]) {
      const [index, item] = entry;
      results[index] = await run(item, shared);
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: Math.max(1, lanes) }, lane));
  for (const end of ended) if (end.status === 'rejected') throw end.reason;
  for (const [index, item] of last) results[index] = await run(item, false);
  return results;
};
