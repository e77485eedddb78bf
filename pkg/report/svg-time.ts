// SPDX-License-Identifier: Apache-2.0
// What stays in its zone and what crosses, over time, as one picture.
import { markup } from './html/markup.ts';
import type { Markup } from './html/markup.ts';
import { largestOf } from './table.ts';

export interface TimePoint {
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly stays: number;
  readonly crosses: number;
}

export interface TimePicture {
  /** What is shown, e.g. `Bytes a second`. */
  readonly title: string;
  readonly points: readonly TimePoint[];
  /** A value in words: `1.2 MB/s`. */
  readonly text: (value: number) => string;
}

const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP] = [900, 240, 90, 26, 12];
/** A picture of more points is no sharper on any screen. */
const MOST_POINTS = 600;

/** Every so many points, the last one always. */
const thinned = (points: readonly TimePoint[]): readonly TimePoint[] => {
  const step = Math.ceil(points.length / MOST_POINTS);
  return points.filter((_, index) => index % step === 0 || index === points.length - 1);
};

const clockText = (time: number): string => new Date(time).toISOString().slice(11, 19);

/** What crosses stands on what stays, so that the upper edge is everything. */
export const timePicture = ({ title, points: all, text }: TimePicture): Markup => {
  const points = thinned(all);
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined) return markup`<p>Nothing was recorded.</p>`;
  const most = largestOf(points, ({ stays, crosses }) => stays + crosses);
  const x = (time: number): string =>
    (LEFT + ((time - first.time) / Math.max(1, last.time - first.time)) * (WIDTH - LEFT)).toFixed(1);
  const y = (value: number): string => (TOP + (1 - value / (most || 1)) * (HEIGHT - TOP - BOTTOM)).toFixed(1);
  const area = (low: (point: TimePoint) => number, high: (point: TimePoint) => number): string =>
    [
      ...points.map((point) => `${x(point.time)},${y(high(point))}`),
      ...[...points].reverse().map((point) => `${x(point.time)},${y(low(point))}`),
    ].join(' ');
  const mean = (of: (point: TimePoint) => number): number =>
    all.reduce((sum, point) => sum + of(point), 0) / all.length;
  const label = `${title} from ${clockText(first.time)} to ${clockText(last.time)} UTC: on average ${text(mean(({ stays }) => stays))} in the zone, ${text(mean(({ crosses }) => crosses))} crossing, ${text(most)} at most`;
  return markup`<svg class="time" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${label}">
    <title>${label}</title>
    <line class="axis-line" x1="${LEFT}" y1="${TOP}" x2="${WIDTH}" y2="${TOP}" />
    <line class="axis-line" x1="${LEFT}" y1="${HEIGHT - BOTTOM}" x2="${WIDTH}" y2="${HEIGHT - BOTTOM}" />
    <polygon class="area-stays" points="${area(
      () => 0,
      ({ stays }) => stays,
    )}" />
    <polygon class="area-crosses" points="${area(
      ({ stays }) => stays,
      ({ stays, crosses }) => stays + crosses,
    )}" />
    <text class="value" x="${LEFT - 8}" y="${TOP + 5}">${text(most)}</text>
    <text class="value" x="${LEFT - 8}" y="${HEIGHT - BOTTOM}">${text(0)}</text>
    <text class="from" x="${LEFT}" y="${HEIGHT - 6}">${clockText(first.time)}</text>
    <text class="until" x="${WIDTH}" y="${HEIGHT - 6}">${clockText(last.time)}</text>
  </svg>`;
};
