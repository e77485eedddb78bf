// Envoy 1.40's `load_aware_locality` in the plant: as its documentation has it, and as a real Envoy 1.40.0 was seen to work.
import type { PlantEndpoint, Rule } from './types.ts';

/** Its defaults. */
const DEFAULTS = { smoothingSeconds: 5, threshold: 0.1, probes: 0.03, expirySeconds: 180 };
/** As the traffic-meters of the plant count. */
const REQUESTS_PER_CORE = 100;

export const byZone = (endpoints: readonly PlantEndpoint[]): Map<string, PlantEndpoint[]> =>
  Map.groupBy(endpoints, ({ zone }) => zone);

/** Weights of zones as weights of their endpoints: a zone's are asked alike. */
export const spreadInZones = (
  weights: ReadonlyMap<string, number>,
  zones: ReadonlyMap<string, readonly PlantEndpoint[]>,
): Map<string, number> =>
  new Map(
    [...zones].flatMap(([zone, endpoints]) =>
      endpoints.map(({ name }) => [name, (weights.get(zone) ?? 0) / endpoints.length] as const),
    ),
  );

const sum = (values: Iterable<number>): number => [...values].reduce((total, value) => total + value, 0);

/** Fractions by zone. A zone of which nothing is known, or no longer, counts by its hosts. */
const localityWeights = (
  local: string,
  hosts: ReadonlyMap<string, number>,
  utilizations: ReadonlyMap<string, number>,
): Map<string, number> => {
  const utilization = (zone: string): number => utilizations.get(zone) ?? 0;
  const remote = [...hosts].filter(([zone]) => zone !== local);
  const others = sum(remote.map(([, count]) => count));
  let weights = new Map([...hosts].map(([zone, count]) => [zone, count * Math.max(0, 1 - utilization(zone))]));
  const mean = sum(remote.map(([zone, count]) => count * utilization(zone))) / Math.max(1, others);
  // Whether all are full is asked before the own zone is preferred.
  if (sum(weights.values()) === 0) weights = new Map(hosts);
  else if (hosts.has(local) && utilization(local) <= mean + DEFAULTS.threshold) weights = new Map([[local, 1]]);
  const total = sum(weights.values());
  const share = (zone: string): number => (weights.get(zone) ?? 0) / total;
  const probes = others === 0 ? 0 : Math.min(share(local), Math.max(0, DEFAULTS.probes - (1 - share(local))));
  return new Map(
    [...hosts].map(([zone, count]) => [
      zone,
      zone === local ? share(zone) - probes : share(zone) + probes * (count / Math.max(1, others)),
    ]),
  );
};

/** What the Envoys of one zone know of another: only answers to their own requests carry reports. */
interface Known {
  /** Of the hosts that answered last. */
  utilization: number | undefined;
  at: number;
  smoothed: number | undefined;
  /** Answers that have not been counted yet: fewer than one. */
  answers: number;
}

/**
 * Every second: the utilisation that endpoints of a zone report with their answers (none is a report of 0), smoothed; all local while
 * the own zone is at most 0.1 above the mean of the others by hosts; else hosts × (1 − utilisation), or by hosts where all are full; 3 % of
 * what is local probes the others by hosts. Reports expire.
 */
export const envoyRule =
  (expirySeconds = DEFAULTS.expirySeconds): Rule =>
  () => {
    const zonesKnown = new Map<string, Map<string, Known>>();
    const weightsOf = new Map<string, Map<string, number>>();
    const alpha = 1 - Math.exp(-1 / DEFAULTS.smoothingSeconds);
    return ({ endpoints, loads, asked, observation: { time, zones: callers } }) => {
      const zones = byZone(endpoints);
      const hosts = new Map([...zones].map(([zone, own]) => [zone, own.length]));
      for (const caller of callers) {
        const known = zonesKnown.get(caller) ?? new Map<string, Known>();
        zonesKnown.set(caller, known);
        const rate = REQUESTS_PER_CORE * (asked[caller] ?? 0);
        for (const [zone, own] of zones) {
          const one = known.get(zone) ?? { utilization: undefined, at: time, smoothed: undefined, answers: 0 };
          known.set(zone, one);
          const reports = own.map(({ name, capacity }) => (loads.get(name) ?? 0) / capacity).filter((load) => load > 0);
          one.answers += rate * (weightsOf.get(caller)?.get(zone) ?? own.length / endpoints.length);
          const answered = Math.floor(one.answers);
          one.answers -= answered;
          if (answered > 0 && reports.length > 0) {
            const now = sum(reports) / reports.length;
            const before = one.utilization ?? now;
            one.utilization = before + Math.min(1, answered / own.length) * (now - before);
            one.at = time;
          }
          if (time - one.at > expirySeconds) Object.assign(one, { utilization: undefined, smoothed: undefined });
          if (one.utilization === undefined) continue;
          one.smoothed =
            one.smoothed === undefined ? one.utilization : one.smoothed + alpha * (one.utilization - one.smoothed);
        }
        const utilizations = [...known].flatMap(([zone, { smoothed }]) =>
          smoothed === undefined ? [] : [[zone, smoothed] as const],
        );
        weightsOf.set(caller, localityWeights(caller, hosts, new Map(utilizations)));
      }
      return { weights: new Map([...weightsOf].map(([caller, weights]) => [caller, spreadInZones(weights, zones)])) };
    };
  };
