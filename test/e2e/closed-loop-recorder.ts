// Keeps what the nodes report, and tells a source of metrics what each Pod has served.
import type { ServedTotals, TrafficReport } from './closed-loop-protocol.ts';

/** What a Pod served over a window that is over. */
export interface ServedRate {
  readonly requestsPerSecond: number;
  /** End of the window, seconds since 1970. */
  readonly endsAt: number;
}

export interface Recorder {
  add(report: TrafficReport): void;
  count(totals: ServedTotals): void;
  /** All nodes' reports of the seconds from the first to before the second. */
  between(from: number, to: number): TrafficReport[];
  /** The newest second that this zone has reported; undefined before the first. */
  newest(zone: string): number | undefined;
  /** Over the window that ends with `until`, seconds since 1970; undefined where the Pod's node did not report all of it. */
  served(zone: string, pod: string, windowSeconds: number, until: number): ServedRate | undefined;
  /** A Pod's own counter of served requests; undefined before its first. */
  total(pod: string): number | undefined;
}

export const createRecorder = (): Recorder => {
  const byZone = new Map<string, TrafficReport[]>();
  const totals = new Map<string, number>();
  const of = (zone: string): TrafficReport[] => byZone.get(zone) ?? [];
  return {
    add(report) {
      byZone.set(report.zone, [...of(report.zone), report]);
    },
    count({ served }) {
      for (const [pod, total] of Object.entries(served)) totals.set(pod, total);
    },
    total: (pod) => totals.get(pod),
    between: (from, to) =>
      [...byZone.values()].flatMap((reports) => reports.filter(({ second }) => second >= from && second < to)),
    newest: (zone) => of(zone).at(-1)?.second,
    served(zone, pod, windowSeconds, until) {
      const reports = of(zone).filter(({ second }) => second >= until - windowSeconds && second < until);
      if (reports.length < windowSeconds) return undefined;
      const count = reports.reduce((sum, { pods }) => sum + (pods[pod]?.served ?? 0), 0);
      return { requestsPerSecond: count / windowSeconds, endsAt: until };
    },
  };
};
