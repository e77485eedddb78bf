// The compressed day: how much there is, what happens in which hour, and what the memory of the processes says of it.
import type { Strategy } from '../../pkg/apis/names.ts';

export interface DayPlan {
  readonly nodes: number;
  readonly services: number;
  readonly podsPerService: number;
  readonly hours: number;
  /** Pods that are replaced, and as many whose readiness changes, in an hour. */
  readonly changesPerHour: number;
  /** Hours in which the leaders are killed. All in the first half: in the second, no process is restarted. */
  readonly leaderChanges: readonly number[];
  /** The hour in which all controllers are restarted, one replica after the other, with the settings of a newer version. */
  readonly upgrade: number;
  /** Zones that get sick, with the first hour and the last; without a last hour the evacuation ends by its time, a minute. */
  readonly evacuations: readonly { readonly zone: string; readonly from: number; readonly to?: number }[];
}

/** A day at scale, about half an hour. */
const long: DayPlan = {
  nodes: 1_000,
  services: 500,
  podsPerService: 10,
  hours: 24,
  changesPerHour: 500,
  leaderChanges: [3, 6, 9],
  upgrade: 11,
  evacuations: [
    { zone: 'a', from: 1, to: 2 },
    { zone: 'b', from: 6 },
    // The whole of an upgrade, the leaders' end included.
    { zone: 'c', from: 10, to: 12 },
    { zone: 'a', from: 14, to: 15 },
    { zone: 'b', from: 17 },
    { zone: 'c', from: 20, to: 22 },
  ],
};

/** The same in little, about a minute. */
const short: DayPlan = {
  nodes: 90,
  services: 50,
  podsPerService: 10,
  hours: 8,
  changesPerHour: 40,
  leaderChanges: [1],
  upgrade: 3,
  evacuations: [
    { zone: 'a', from: 1 },
    { zone: 'b', from: 5, to: 6 },
  ],
};

/** What a Service of the day asks for: one in ten each of the planned strategies. */
export const strategyOf = (service: number): Strategy =>
  service % 10 === 3 ? 'proportional' : service % 10 === 7 ? 'load-aware' : 'same-zone';

/** `E2E_SOAK=1` selects the long form. */
export const isLongForm = (environment: NodeJS.ProcessEnv): boolean => environment['E2E_SOAK'] === '1';

export const planOf = (longForm: boolean): DayPlan => (longForm ? long : short);

/** Resident memory of one process at the end of one hour. */
export interface Sample {
  readonly process: string;
  readonly pid: number;
  readonly hour: number;
  readonly residentBytes: number;
}

export interface Trend {
  readonly process: string;
  readonly samples: number;
  readonly firstBytes: number;
  readonly lastBytes: number;
  /** Of the straight line closest to the samples. */
  readonly bytesPerHour: number;
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** One trend for each process that lived through every hour from `fromHour` on. */
export const trendsOf = (samples: readonly Sample[], fromHour: number): Trend[] => {
  const late = samples.filter(({ hour }) => hour >= fromHour);
  const byProcess = Map.groupBy(late, ({ process, pid }) => `${process} ${pid}`);
  const hours = new Set(late.map(({ hour }) => hour)).size;
  return [...byProcess.values()].flatMap((series) => {
    const [first, last] = [series.at(0), series.at(-1)];
    if (first === undefined || last === undefined || series.length < hours) return [];
    const [middle, average] = [mean(series.map(({ hour }) => hour)), mean(series.map((one) => one.residentBytes))];
    const covariance = mean(series.map(({ hour, residentBytes }) => (hour - middle) * (residentBytes - average)));
    const variance = mean(series.map(({ hour }) => (hour - middle) ** 2));
    return {
      process: first.process,
      samples: series.length,
      firstBytes: first.residentBytes,
      lastBytes: last.residentBytes,
      bytesPerHour: covariance / variance,
    };
  });
};

/** Growth from the first hour looked at to the last, as a part of what it was; by the line, not by single samples. */
export const growthOf = ({ bytesPerHour, samples, firstBytes }: Trend): number => (bytesPerHour * samples) / firstBytes;

/** Of `growthOf`, in twelve hours: what a heap and its allocator waver by, and a leak soon is beyond. */
export const MAX_GROWTH = 0.05;
