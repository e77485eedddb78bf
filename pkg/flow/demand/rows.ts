// SPDX-License-Identifier: Apache-2.0
// What one round of samples says about demand: endpoints that carry the same shares are one row of the equation.
/** The load of an endpoint over a window, and the share of each zone's demand that it carried meanwhile. */
export interface LoadSample {
  /** Cores, averaged over the window. */
  readonly load: number;
  /** Cores. */
  readonly capacity: number;
  /** By zone, in the order of the zones asked about, averaged over the window. */
  readonly shares: readonly number[];
}

/** Samples with the same shares and capacity are one row: the mean of their loads. */
export interface LoadRow extends LoadSample {
  /** How many samples it is the mean of. */
  readonly count: number;
  /** The endpoints were saturated: the load is the least that it can have been. */
  readonly saturated: boolean;
}

/** From this fraction of its capacity on an endpoint's load says "at least". */
export const SATURATION = 0.95;

/** Rows in the order of their first samples. */
export const rowsOf = (samples: readonly LoadSample[]): LoadRow[] => {
  const groups = new Map<string, LoadSample[]>();
  for (const sample of samples) {
    const key = [sample.capacity, ...sample.shares].join(' ');
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [sample]);
    else group.push(sample);
  }
  return [...groups.values()].map((group) => {
    const [{ capacity, shares } = { capacity: 0, shares: [] }] = group;
    const mean = group.reduce((sum, { load }) => sum + load, 0) / group.length;
    return {
      capacity,
      shares,
      load: mean,
      count: group.length,
      saturated: mean >= SATURATION * capacity,
    };
  });
};
