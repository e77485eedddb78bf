// How far tests go that could go on for long. `make test` goes far enough to meet a mistake within a minute; with TEST_FULL=1
// they go the whole way. `make test-slow` sets it, and runs every file that reads this one.

const full = process.env['TEST_FULL'] === '1';

/** Of two values the one for this run. */
export const inFull = <T>(long: T, short: T): T => (full ? long : short);

/** Cases of a property: `count` in full, else at most 100, which is fast-check's own default. */
export const upTo = (count: number): number => inFull(count, Math.min(count, 100));
