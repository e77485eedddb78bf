// Durations as Go prints and reads them, for fields of our own kinds.

const UNITS: Readonly<Record<string, number>> = { h: 3_600, m: 60, s: 1, ms: 1e-3 };
const DURATION = /^(?:\d{1,9}(?:\.\d{1,9})?(?:h|ms|m|s))+$/;
const PART = /(\d+(?:\.\d+)?)(h|ms|m|s)/g;

/** Longest text that is looked at. */
const MAX_LENGTH = 64;

/** Seconds of a text such as `30s`, `5m` or `1m30s`; undefined for anything else. Units below a millisecond are refused. */
export const parseDuration = (text: string): number | undefined => {
  if (text.length > MAX_LENGTH || !DURATION.test(text)) return undefined;
  let seconds = 0;
  for (const [, value = '', unit = ''] of text.matchAll(PART)) seconds += Number(value) * (UNITS[unit] ?? 0);
  return seconds;
};
