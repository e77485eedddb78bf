// SPDX-License-Identifier: Apache-2.0
// Figures as people read them: shares as percentages, counts with their noun.

const HUNDRED = 100;
/** Below this a percentage keeps a digit after the point: 0.4 % is not nothing. */
const SMALL = 0.1;

/** `57 %`, `3.4 %`; a dash for what is not known. */
export const percentText = (fraction: number | null): string => {
  if (fraction === null) return '-';
  const percent = fraction * HUNDRED;
  const digits = fraction > 0 && fraction < SMALL ? 1 : 0;
  return `${percent.toFixed(digits).replace(/\.0$/, '')} %`;
};

/** Above the fair share: `+200 %`, `0 %`. */
export const overloadText = (overload: number | null): string => {
  const text = percentText(overload === null ? null : Math.round(overload * HUNDRED) / HUNDRED);
  return overload !== null && overload * HUNDRED >= 0.5 ? `+${text}` : text;
};

/** `1 Service`, `1,204 Services`. */
export const countText = (count: number, noun: string): string =>
  `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`;
