// Parses Kubernetes quantities exactly, as whole nano units in a BigInt.

/** Power of ten of each decimal suffix. */
const DECIMAL: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, '': 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };

/** Power of two of each binary suffix. */
const BINARY: Readonly<Record<string, bigint>> = { Ki: 10n, Mi: 20n, Gi: 30n, Ti: 40n, Pi: 50n, Ei: 60n };

// sign, digits with an optional fraction (one of both sides may be empty, not both), suffix or exponent
const QUANTITY = /^([+-]?)(\d*)(?:\.(\d*))?(?:([KMGTPE]i)|([numkMGTPE])|[eE]([+-]?\d{1,3}))?$/;

/** Longest text and largest exponent that are looked at: beyond is hostile, not a quantity of anything. */
const MAX_LENGTH = 128;

/** numerator / denominator, away from zero, as upstream rounds what is finer than a nano unit. */
const divideUp = (numerator: bigint, denominator: bigint): bigint => (numerator + denominator - 1n) / denominator;

/**
 * Nano units of a quantity such as `1.5Gi`, `100m`, `2.5G` or `1e3` (grammar: apimachinery `pkg/api/resource`). Values finer
 * than a nano unit are rounded away from zero. Undefined for anything else. Unlike upstream there is no upper bound of 2^63 - 1.
 */
export const parseQuantity = (text: string): bigint | undefined => {
  const match = text.length > MAX_LENGTH ? null : QUANTITY.exec(text);
  if (match === null) return undefined;
  const [, sign = '', whole = '', fraction = '', binary, suffix = '', exponent] = match;
  if (whole === '' && fraction === '') return undefined;
  const power = exponent === undefined ? (DECIMAL[suffix] ?? 0) : Number(exponent);
  const factor = binary === undefined ? 1n : 1n << (BINARY[binary] ?? 0n);
  // digits × factor × 10^(power + 9 − length of the fraction)
  const digits = BigInt(whole + fraction) * factor;
  const shift = power + 9 - fraction.length;
  const magnitude = shift >= 0 ? digits * 10n ** BigInt(shift) : divideUp(digits, 10n ** BigInt(-shift));
  return sign === '-' ? -magnitude : magnitude;
};

/** Nano units; undefined for what is missing, negative or no quantity, as no API server stores it. */
export const nanoOf = (quantity: unknown): bigint | undefined => {
  const text = typeof quantity === 'number' ? String(quantity) : quantity;
  const nano = typeof text === 'string' ? parseQuantity(text) : undefined;
  return nano !== undefined && nano >= 0n ? nano : undefined;
};

/** Nano cores, finer parts rounded up; 0 for what is missing, negative or no quantity. */
export const nanoCpu = (quantity: unknown): bigint => nanoOf(quantity) ?? 0n;

/** Units as a number, for figures; undefined for what is missing, negative or no quantity. */
export const unitsOf = (quantity: unknown): number | undefined => {
  const nano = nanoOf(quantity);
  return nano === undefined ? undefined : Number(nano) / 1e9;
};

/** Whole millicores of a sum of nano cores, rounded up: sums are rounded only after adding. */
export const milliFromNano = (nano: bigint): number => Number(divideUp(nano, 1_000_000n));

const UNITS: Readonly<Record<string, number>> = { h: 3_600, m: 60, s: 1, ms: 1e-3 };
const DURATION = /^(?:\d{1,9}(?:\.\d{1,9})?(?:h|ms|m|s))+$/;
const PART = /(\d+(?:\.\d+)?)(h|ms|m|s)/g;

/** Longest text that is looked at. */
const MAX_DURATION_LENGTH = 64;

/** Seconds of a text such as `30s`, `5m` or `1m30s`; undefined for anything else. Units below a millisecond are refused. */
export const parseDuration = (text: string): number | undefined => {
  if (text.length > MAX_DURATION_LENGTH || !DURATION.test(text)) return undefined;
  let seconds = 0;
  for (const [, value = '', unit = ''] of text.matchAll(PART)) seconds += Number(value) * (UNITS[unit] ?? 0);
  return seconds;
};
