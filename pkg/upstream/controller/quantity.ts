// SPDX-License-Identifier: Apache-2.0
// CPU quantities as whole nano cores, exactly: sums are rounded to millicores only after adding.

const POWERS: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, '': 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const BINARY: Readonly<Record<string, bigint>> = { Ki: 10n, Mi: 20n, Gi: 30n, Ti: 40n, Pi: 50n, Ei: 60n };
const QUANTITY = /^\+?(\d{0,40})(?:\.(\d{0,40}))?(?:([KMGTPE]i)|([numkMGTPE])|[eE]([+-]?\d{1,2}))?$/;

/** Nano cores, finer parts rounded up; 0 for what is missing, negative or no quantity, as no API server stores it. */
export const nanoCpu = (quantity: unknown): bigint => {
  const text = typeof quantity === 'number' ? String(quantity) : quantity;
  const match = typeof text === 'string' ? QUANTITY.exec(text) : null;
  if (match === null) return 0n;
  const [, whole = '', fraction = '', binary, suffix = '', exponent] = match;
  if (whole + fraction === '') return 0n;
  const power = exponent === undefined ? (POWERS[suffix] ?? 0) : Number(exponent);
  const digits = BigInt(whole + fraction) * (1n << (binary === undefined ? 0n : (BINARY[binary] ?? 0n)));
  const shift = power + 9 - fraction.length;
  if (shift >= 0) return digits * 10n ** BigInt(shift);
  const divisor = 10n ** BigInt(-shift);
  return (digits + divisor - 1n) / divisor;
};

const NANO_PER_MILLI = 1_000_000n;

/** Whole millicores of a sum of nano cores, rounded up. */
export const milliFromNano = (nano: bigint): number => Number((nano + NANO_PER_MILLI - 1n) / NANO_PER_MILLI);
