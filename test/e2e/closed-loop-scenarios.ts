// What happens to the Services of the closed-loop suite, and how long.
import type { Phase, Scenario, ZoneRates } from './closed-loop-types.ts';

export const ZONES = ['a', 'b', 'c'] as const;
export const PODS_PER_ZONE = 3;
/** Of every Pod. A zone can serve 150 requests a second, all zones 450. */
export const POD = { requestsPerSecond: 50, places: 15 } as const;

/** Names of the phases that are measured. */
export const BEFORE = 'before';
/** What happens has just happened: metrics, the controller and proxies follow. */
export const REACTING = 'reacting';
export const REACTED = 'reacted';
export const AFTER = 'after';

/** Lengths of the phases, seconds. */
export interface Lengths {
  readonly warmUp: number;
  readonly before: number;
  readonly reacting: number;
  readonly reacted: number;
  /** Between the end of what happens and what is measured after it. */
  readonly settle: number;
  readonly after: number;
}

/** The loop returns half a minute after a fall is seen. */
export const SHORT: Lengths = { warmUp: 20, before: 10, reacting: 15, reacted: 20, settle: 60, after: 10 };
export const LONG: Lengths = { warmUp: 20, before: 20, reacting: 15, reacted: 45, settle: 75, after: 20 };
/** With samples of fifteen seconds that are fifteen seconds late. */
export const SLOW: Lengths = { warmUp: 60, before: 20, reacting: 45, reacted: 60, settle: 120, after: 20 };

/** 40, 27 and 17 % of what the zones can serve: no zone needs another. */
const USUAL: ZoneRates = { a: 60, b: 40, c: 25 };
/** Zone a asks for 120 % of what it can serve, all together for 54 %. */
const HOT: ZoneRates = { ...USUAL, a: 3 * 60 };

const phasesOf = (lengths: Lengths, usual: ZoneRates, happens: Omit<Phase, 'name' | 'seconds'>): Phase[] => [
  { name: 'warm-up', seconds: lengths.warmUp, demand: usual, warmUp: true },
  { name: BEFORE, seconds: lengths.before, demand: usual },
  { name: REACTING, seconds: lengths.reacting, ...happens },
  { name: REACTED, seconds: lengths.reacted, ...happens },
  { name: 'settling', seconds: lengths.settle, demand: usual, warmUp: true },
  { name: AFTER, seconds: lengths.after, demand: usual },
];

/** One zone's load is tripled, and comes back. */
export const hotZone = (lengths: Lengths): Scenario => ({
  name: 'hot-zone',
  title: 'the load of zone a is tripled, then back',
  longLivedShare: 0,
  watched: 'a',
  phases: phasesOf(lengths, USUAL, { demand: HOT }),
});

/** The same where most requests go over connections that stay. */
export const longLived = (lengths: Lengths): Scenario => ({
  ...hotZone(lengths),
  name: 'long-lived',
  title: 'the same, with 70 % of the requests on connections that last 20 seconds',
  longLivedShare: 0.7,
});

/** A zone dies with its clients; its users come back through zone a, which then asks for 110 % of what it can serve. */
export const zoneOutage = (lengths: Lengths): Scenario => ({
  name: 'zone-outage',
  title: 'zone b dies, its users move to zone a, and back with it',
  longLivedShare: 0,
  watched: 'a',
  phases: phasesOf(lengths, { a: 90, b: 75, c: 15 }, { demand: { a: 165, b: 0, c: 15 }, dead: 'b' }),
});
