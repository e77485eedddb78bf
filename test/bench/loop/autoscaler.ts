// Replicas that follow mean utilisation as a HorizontalPodAutoscaler makes them: up at once, down after five minutes.
import type { PlantEndpoint, Scenario } from './types.ts';

const PERIOD_SECONDS = 15;
const START_SECONDS = 30;
const DOWN_SECONDS = 300;
const TOLERANCE = 0.1;

interface Replica extends PlantEndpoint {
  readonly readyAt: number;
}

export interface Autoscaler {
  endpoints(time: number): readonly PlantEndpoint[];
  /** `utilization`: mean over the endpoints, as a fraction of capacity. */
  tick(time: number, utilization: number): void;
}

export const createAutoscaler = (
  { zones, endpoints: initial }: Pick<Scenario, 'zones' | 'endpoints'>,
  { target, capacity, most }: NonNullable<Scenario['autoscaler']>,
): Autoscaler => {
  let replicas: Replica[] = initial(0).map((endpoint) => ({ ...endpoint, readyAt: 0 }));
  let made = 0;
  let recent: { time: number; utilization: number }[] = [];
  const wanted: { time: number; count: number }[] = [];
  const ready = (time: number): Replica[] => replicas.filter(({ readyAt }) => readyAt <= time);
  /** The scheduler evens zones out: a new replica goes where the fewest are, and one goes from where the most are. */
  const add = (time: number): void => {
    const count = (zone: string): number => replicas.filter((replica) => replica.zone === zone).length;
    const [zone = ''] = [...zones].sort((left, right) => count(left) - count(right) || (left < right ? -1 : 1));
    made += 1;
    replicas.push({ name: `scaled-${String(made).padStart(3, '0')}`, zone, capacity, readyAt: time + START_SECONDS });
  };
  const remove = (): void => {
    const count = (zone: string): number => replicas.filter((replica) => replica.zone === zone).length;
    const [zone = ''] = [...zones].sort((left, right) => count(right) - count(left) || (left < right ? -1 : 1));
    const last = replicas.findLastIndex((replica) => replica.zone === zone);
    replicas = replicas.filter((_, index) => index !== last);
  };
  return {
    endpoints: (time) => ready(time).map(({ name, zone, capacity: own }) => ({ name, zone, capacity: own })),
    tick: (time, utilization) => {
      recent = [...recent.filter((entry) => entry.time > time - PERIOD_SECONDS), { time, utilization }];
      if (time % PERIOD_SECONDS !== 0 || time === 0) return;
      const mean = recent.reduce((sum, entry) => sum + entry.utilization, 0) / recent.length;
      const ratio = mean / target;
      const count = Math.abs(ratio - 1) <= TOLERANCE ? replicas.length : Math.ceil(ready(time).length * ratio);
      wanted.push({ time, count: Math.min(most, Math.max(1, count)) });
      const stabilised = wanted
        .filter((entry) => entry.time >= time - DOWN_SECONDS)
        .reduce((top, entry) => Math.max(top, entry.count), 1);
      while (replicas.length < Math.min(most, count)) add(time);
      while (replicas.length > stabilised) remove();
    },
  };
};
