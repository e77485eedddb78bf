// Zones and endpoints of a Service as the loop knows them: what changed, and how clients were shared meanwhile.
import { type HintsInForce, type HintsOf, sharingOf } from '../demand/arrivals.ts';
import { ownValue } from '../types.ts';
import type { HintPeriod, LoopState, Member, Observation, ObservedEndpoint } from './types.ts';

export const readyOf = ({ endpoints }: Observation): readonly ObservedEndpoint[] =>
  endpoints.filter(({ ready }) => ready).sort((left, right) => (left.name < right.name ? -1 : 1));

/** Zones with clients, in name order. */
export const observedZones = ({ zones }: Observation): string[] => [...new Set(zones)].sort();

/** The ready endpoints, and since when each is known; one that moved or was resized is a new one. */
export const membersOf = (observation: Observation, known: LoopState['members']): Record<string, Member> =>
  Object.fromEntries(
    readyOf(observation).map(({ name, zone, capacity }) => {
      const before = ownValue(known, name);
      const same = before !== undefined && before.zone === zone && before.capacity === capacity;
      return [name, same ? before : { zone, capacity, since: observation.time }];
    }),
  );

/** An endpoint came, went or changed. */
export const membersDiffer = (left: LoopState['members'], right: LoopState['members']): boolean => {
  const names = Object.keys(left);
  return (
    names.length !== Object.keys(right).length ||
    names.some((name) => left[name]?.since !== ownValue(right, name)?.since)
  );
};

/** The hintPeriods with one more from now on, without those that no sample from `oldest` on can be about. */
export const withHintPeriod = (
  hintPeriods: readonly HintPeriod[],
  observation: Observation,
  plan: HintsInForce,
  oldest: number,
): readonly HintPeriod[] => {
  const next: HintPeriod = {
    from: observation.time,
    ...sharingOf(observedZones(observation), readyOf(observation), plan),
  };
  const last = hintPeriods.at(-1);
  const parts = ['zones', 'sharers', 'orphans'] as const;
  const sameSharing = parts.every((part) => last?.[part].join() === next[part].join());
  const all = sameSharing ? hintPeriods : [...hintPeriods, next];
  const first = all.findLastIndex(({ from }) => from <= oldest);
  return first > 0 ? all.slice(first) : all;
};

/**
 * The share of each zone's demand that an endpoint carried between two times, by kube-proxy's rules: the mean over the hintPeriods,
 * since a load that is averaged over a window is the mean of what the hints and endpoints of that window made of demand.
 * Undefined where the window began before the hintPeriods, or zones differ between them.
 */
export const sharesBetween = (
  { hintPeriods, hintsOf: hintsFor }: { readonly hintPeriods: readonly HintPeriod[]; readonly hintsOf: HintsOf },
  endpoint: ObservedEndpoint,
  from: number,
  to: number,
): number[] | undefined => {
  const first = hintPeriods.findLastIndex((period) => period.from <= from);
  const zones = hintPeriods[first]?.zones;
  if (zones === undefined || to <= from) return undefined;
  const hints = hintsFor(endpoint);
  const shares = zones.map(() => 0);
  for (let index = first; index < hintPeriods.length; index += 1) {
    const period = hintPeriods[index];
    if (period === undefined || period.from >= to) break;
    if (period.zones.join() !== zones.join()) return undefined;
    const seconds = Math.min(to, hintPeriods[index + 1]?.from ?? to) - Math.max(from, period.from);
    zones.forEach((zone, position) => {
      if (!hints.includes(zone) && !period.orphans.includes(zone)) return;
      shares[position] = (shares[position] ?? 0) + seconds / (to - from) / (period.sharers[position] ?? 1);
    });
  }
  return shares;
};
