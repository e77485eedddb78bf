// The situations that a loop is measured in.
import type { Demand } from '../../../pkg/flow/types.ts';
import type { PlantEndpoint, Scenario } from './types.ts';

const HOUR = 3600;
const ABC = ['a', 'b', 'c'] as const;

/** So many endpoints of a core by zone; others may have another capacity. */
const endpointsOf = (
  counts: Readonly<Record<string, number>>,
  capacity: (zone: string, index: number) => number = () => 1,
): PlantEndpoint[] =>
  Object.entries(counts).flatMap(([zone, count]) =>
    Array.from({ length: count }, (_, index) => ({
      name: `${zone}-${String(index).padStart(3, '0')}`,
      zone,
      capacity: capacity(zone, index),
    })),
  );

const always =
  <Value>(value: Value) =>
  (): Value =>
    value;

/** Demand from each time on. */
const steps =
  (...changes: readonly (readonly [from: number, demand: Demand])[]) =>
  (time: number): Demand =>
    changes.findLast(([from]) => from <= time)?.[1] ?? {};

const SURGE = [600, 2400] as const;

/** One zone is hot between a sixth and two thirds of an hour. */
const hot = (calm: Demand, busy: Demand): Pick<Scenario, 'demand' | 'surge'> => ({
  demand: steps([0, calm], [SURGE[0], busy], [SURGE[1], calm]),
  surge: SURGE,
});

const zoneNames = (count: number): string[] => Array.from({ length: count }, (_, index) => `zone-${index + 1}`);

/** Demand that wanders from zone to zone in an hour, each zone's highest at another time. */
const wandering =
  (zones: readonly string[], mean: number, swing: number) =>
  (time: number): Demand =>
    Object.fromEntries(
      zones.map((zone, index) => [
        zone,
        mean * (1 + swing * Math.sin(2 * Math.PI * (time / HOUR + index / zones.length))),
      ]),
    );

/** An hour of three zones, unless said otherwise. */
const service = (
  name: string,
  endpoints: readonly PlantEndpoint[] | Scenario['endpoints'],
  more: Pick<Scenario, 'demand'> & Partial<Scenario>,
): Scenario => ({
  name,
  zones: ABC,
  durationSeconds: HOUR,
  endpoints: typeof endpoints === 'function' ? endpoints : () => endpoints,
  ...more,
});

const hotZone = (count: number): Scenario =>
  service(
    `hot zone, ${count} ${count === 1 ? 'endpoint' : 'endpoints'} a zone`,
    endpointsOf({ a: count, b: count, c: count }),
    hot({ a: 0.4 * count, b: 0.08 * count, c: 0.08 * count }, { a: 1.08 * count, b: 0.1 * count, c: 0.1 * count }),
  );

/** Every zone has so many endpoints, and demand wanders. */
const wide = (zones: number, endpoints: number, mean: number): Scenario => {
  const names = zoneNames(zones);
  const all = endpointsOf(Object.fromEntries(names.map((zone) => [zone, endpoints])));
  return service(`${zones} zones with ${endpoints} endpoints`, all, {
    zones: names,
    demand: wandering(names, mean, 0.8),
  });
};

/** One by one every endpoint is replaced, with a new one beside it for twenty seconds. */
const rolling = (
  all: readonly PlantEndpoint[],
  from: number,
  secondsEach: number,
): ((time: number) => PlantEndpoint[]) => {
  return (time) =>
    all.flatMap((endpoint, index) => {
      const begins = from + index * secondsEach;
      const fresh = { ...endpoint, name: `${endpoint.name}-new` };
      if (time < begins) return [endpoint];
      return time < begins + 20 ? [endpoint, fresh] : [fresh];
    });
};

const without =
  (endpoints: readonly PlantEndpoint[], zone: string, from: number, to: number) =>
  (time: number): PlantEndpoint[] =>
    endpoints.filter((endpoint) => endpoint.zone !== zone || time < from || time >= to);

const nine = endpointsOf({ a: 3, b: 3, c: 3 });

/** Endpoints hang for as long as a readiness probe of Kubernetes' defaults takes to notice it: three failures, ten seconds apart. */
const HANG = [905, 935] as const;

const surge = hot({ a: 1, b: 1, c: 1 }, { a: 3.4, b: 1, c: 1 });

export const SCENARIOS: readonly Scenario[] = [
  hotZone(1),
  hotZone(2),
  hotZone(3),
  service('demand at the threshold', endpointsOf({ a: 2, b: 2, c: 2 }), { demand: always({ a: 1.5, b: 0.3, c: 0.3 }) }),
  service('demand shifts from zone to zone', endpointsOf({ a: 4, b: 4, c: 4 }), {
    durationSeconds: 2 * HOUR,
    demand: (time) => wandering(ABC, 1.8, 0.8)(time / 2),
  }),
  service('clients scale 1 to 10, 25, 30 a zone', endpointsOf({ a: 6, b: 6, c: 6 }), {
    demand: steps(
      [0, { a: 0.2, b: 0.2, c: 0.2 }],
      [600, { a: 2, b: 0.2, c: 0.2 }],
      [1200, { a: 2, b: 5, c: 0.2 }],
      [1800, { a: 2, b: 5, c: 3 }],
      [2700, { a: 0.2, b: 5, c: 6 }],
    ),
  }),
  service('zone outage', without(nine, 'b', 900, 2100), { demand: always({ a: 1.2, b: 1.2, c: 1.2 }) }),
  service('endpoints hang, then go, clients stay', without(nine, 'b', HANG[1], 2100), {
    hanging: (time) => (time >= HANG[0] && time < HANG[1] ? 'b' : undefined),
    demand: always({ a: 1.8, b: 1.5, c: 0.3 }),
  }),
  service('two hot zones', nine, hot({ a: 1.2, b: 0.8, c: 0.5 }, { a: 3.6, b: 3, c: 0.6 })),
  service('rolling update', rolling(nine, 900, 40), {
    demand: steps([0, { a: 1.2, b: 0.6, c: 0.6 }], [600, { a: 3.3, b: 0.6, c: 0.6 }]),
  }),
  service('zone without endpoints', endpointsOf({ a: 3, b: 3 }), hot({ a: 1, b: 1, c: 1 }, { a: 1, b: 1, c: 1.8 })),
  service(
    'unequal capacities',
    endpointsOf({ a: 2, b: 3, c: 2 }, (zone, index) => (zone === 'a' ? 2 : 0.5 + 0.5 * (index % 2))),
    hot({ a: 1.6, b: 1, c: 0.7 }, { a: 1.6, b: 1.9, c: 0.7 }),
  ),
  service('autoscaler', endpointsOf({ a: 2, b: 2, c: 2 }), {
    ...hot({ a: 1, b: 1, c: 1 }, { a: 2.5, b: 1, c: 1 }),
    autoscaler: { target: 0.6, capacity: 1, most: 18 },
  }),
  service('sticky connections', nine, {
    ...hot({ a: 1, b: 1, c: 1 }, { a: 2.5, b: 1, c: 1 }),
    longLivedShare: 0.5,
    longLivedSeconds: 300,
  }),
  service('connections of 20 seconds', nine, {
    ...hot({ a: 1.2, b: 0.8, c: 0.5 }, { a: 3.6, b: 0.8, c: 0.5 }),
    longLivedShare: 0.7,
    longLivedSeconds: 20,
  }),
  wide(5, 8, 3.6),
  wide(8, 25, 11),
  service('demand above all capacity', nine, hot({ a: 2, b: 2, c: 2 }, { a: 5, b: 3.4, c: 3.2 })),
  service('idle CPU', nine, { idleCores: 0.1, ...hot({ a: 1, b: 1, c: 1 }, { a: 2.8, b: 1, c: 1 }) }),
  service('no metrics for 5 minutes of a surge', nine, { ...surge, metricsGap: [570, 870] }),
  service('no metrics for 30 minutes of a surge', nine, { ...surge, metricsGap: [570, 2370] }),
];
