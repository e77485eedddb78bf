// The newest usage of every Pod of one list, on our own clock, in numbers only.
import { readPodMetrics } from './pod-metrics.ts';
import type { PodUsage } from './pod-metrics.ts';
import { createProblems } from './problems.ts';

/** The newest sample of a Pod. */
export interface KnownUsage {
  readonly cores: number;
  readonly window: number;
  /** What its timestamp says; distinguishes samples. */
  readonly stamp: number;
  /** Its timestamp, or when it was first seen where that is earlier: seconds. */
  readonly sampledAt: number;
}

/** What one list came to. */
export interface UsageTable {
  readonly byPod: ReadonlyMap<string, KnownUsage>;
  readonly problems: readonly string[];
}

/** Timestamps have whole seconds, and clocks of one cluster differ by fractions of one. */
export const TOLERATED_SKEW_SECONDS = 5;

const isNewer = (usage: PodUsage, known: KnownUsage, seenAt: number): boolean => {
  // Another replica of the server may have older samples than the one asked before.
  if (known.stamp <= seenAt) return usage.stamp > known.stamp;
  // The clock it came from was ahead: once it is set right, its samples look older than this one.
  return usage.stamp !== known.stamp && Math.min(usage.stamp, seenAt) > known.sampledAt;
};

/**
 * The newer of what is known of a Pod and what was read. A sample that was known keeps its time: one from the future would
 * otherwise be as new at every reading, and never be too old.
 *
 * @param seenAt - Now, seconds since 1970.
 */
export const newerUsage = (usage: PodUsage, known: KnownUsage | undefined, seenAt: number): KnownUsage => {
  if (known !== undefined && !isNewer(usage, known, seenAt)) return known;
  const { cores, window, stamp } = usage;
  return { cores, window, stamp, sampledAt: Math.min(stamp, seenAt) };
};

export interface UsageTableBuilder {
  /** Items of one page, and when they came: seconds since 1970. */
  add(items: readonly unknown[], seenAt: number): void;
  done(): UsageTable;
}

/** Builds the table of a list page by page; Pods that are not listed are forgotten, whatever `previous` knows of them. */
export const buildUsageTable = (previous: UsageTable | undefined): UsageTableBuilder => {
  const byPod = new Map<string, KnownUsage>();
  const problems = createProblems();
  let aheadSeconds = 0;
  const addItem = (item: unknown, seenAt: number): void => {
    const usage = readPodMetrics(item);
    if ('problem' in usage) {
      problems.count(usage.problem, usage.pod);
      return;
    }
    aheadSeconds = Math.max(aheadSeconds, usage.stamp - seenAt);
    // A Pod may be on two pages, when the list changed between them.
    const known = byPod.get(usage.pod) ?? previous?.byPod.get(usage.pod);
    byPod.set(usage.pod, newerUsage(usage, known, seenAt));
  };
  return {
    add: (items, seenAt) => items.forEach((item) => addItem(item, seenAt)),
    done() {
      if (aheadSeconds > TOLERATED_SKEW_SECONDS) {
        problems.say(`the clock of the metrics server is ${Math.round(aheadSeconds)} s ahead of this one`);
      }
      return { byPod, problems: problems.sentences() };
    },
  };
};
