// The figure of the closed loop on real traffic: load, traffic between zones, errors and latency over time.
import type { ScenarioRun, StrategyRun } from '../../test/e2e/closed-loop-results.ts';

const WIDTH = 760;
const LEFT = 76;
const RIGHT = 16;
const TOP = 64;
const PANEL = 92;
const GAP = 34;

/** A curve's value by bin; null: none. */
type Values = readonly (number | null)[];

interface Panel {
  readonly title: string;
  /** Values of the grid's lines, the first at the bottom and the last at the top. */
  readonly grid: readonly number[];
  readonly unit: string;
  readonly curves: readonly { readonly name: string; readonly values: Values }[];
  /** A level to mark, and what it is. */
  readonly level?: { readonly value: number; readonly words: string };
}

const at = (value: number): string => value.toFixed(1);

const text = (left: number, top: number, words: string, anchor = 'start', name = ''): string =>
  `<text x="${at(left)}" y="${at(top)}" text-anchor="${anchor}"${name === '' ? '' : ` class="${name}"`}>${words}</text>`;

const STYLE = `text { font: 13px system-ui, sans-serif; fill: #24292f; }
.title { font-weight: 600; } .small { font-size: 12px; fill: #57606a; }
.grid { stroke: #d0d7de; } .band { fill: #afb8c133; } .level { stroke: #57606a; stroke-dasharray: 3 3; }
polyline { fill: none; stroke-width: 2; stroke-linejoin: round; }
.load { stroke: #57606a; } .spread { stroke: #8250df; } .auto { stroke: #bc4c00; stroke-dasharray: 7 5; }
.same-zone { stroke: #bf8700; } .load-aware { stroke: #0969da; stroke-width: 3; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .small { fill: #9198a1; } .grid { stroke: #30363d; } .band { fill: #6e768133; } .level, .load { stroke: #9198a1; }
  .spread { stroke: #bc8cff; } .auto { stroke: #f0883e; } .same-zone { stroke: #d29922; } .load-aware { stroke: #58a6ff; }
}`;

/** Names of the strategies in the figure, in the order they are drawn: ours on top. */
const LEGEND: readonly (readonly [strategy: string, words: string])[] = [
  ['spread', 'no hints'],
  ['same-zone', 'same-zone'],
  ['auto', 'upstream’s Auto'],
  ['load-aware', 'load-aware (closed loop)'],
];

const panelsOf = ({ load, strategies, watched, zoneCapacity }: ScenarioRun & { zoneCapacity: number }): Panel[] => {
  const curves = (of: (series: StrategyRun['series']) => Values): Panel['curves'] =>
    LEGEND.flatMap(([name]) => {
      const run = strategies.find(({ strategy }) => strategy === name);
      return run === undefined ? [] : [{ name, values: of(run.series) }];
    });
  const percent = (values: readonly number[]): number[] => values.map((value) => value * 100);
  return [
    {
      title: `Requests a second from zone ${watched}, to each Service`,
      grid: [0, 100, 200],
      unit: '',
      curves: [{ name: 'load', values: load }],
      level: { value: zoneCapacity, words: 'what the zone’s endpoints can serve' },
    },
    {
      title: 'Requests that cross zones, of all zones',
      grid: [0, 50, 100],
      unit: ' %',
      curves: curves(({ crossZone }) => percent(crossZone)),
    },
    {
      title: `Requests without an answer, from zone ${watched}`,
      grid: [0, 10, 20],
      unit: ' %',
      curves: curves(({ errors }) => percent(errors)),
    },
    {
      title: `Latency of 99 of 100 requests, from zone ${watched}`,
      grid: [0, 200, 400],
      unit: ' ms',
      curves: curves(({ p99Ms }) => p99Ms),
    },
  ];
};

/** A curve in pieces: it is interrupted where there is no value. */
const pieces = (values: Values, pointOf: (index: number, value: number) => string): string[] => {
  const found: string[][] = [[]];
  values.forEach((value, index) => {
    if (value === null) found.push([]);
    else found.at(-1)?.push(pointOf(index, value));
  });
  return found.filter((points) => points.length > 1).map((points) => points.join(' '));
};

const legend = (): string[] => {
  let left = LEFT;
  return LEGEND.flatMap(([name, words]) => {
    const begin = left;
    left += 44 + words.length * 7.2;
    return [
      `<polyline class="${name}" points="${at(begin)},18 ${at(begin + 24)},18"/>`,
      text(begin + 30, 22, words, 'start', name === 'load-aware' ? 'title' : ''),
    ];
  });
};

/** Time runs from left to right; the shaded part is when the load is high. */
export const closedLoopFigure = (run: ScenarioRun, happening: readonly string[], zoneCapacity: number): string => {
  const panels = panelsOf({ ...run, zoneCapacity });
  const end = run.phases.at(-1)?.to ?? 0;
  const x = (second: number): number => LEFT + (second / end) * (WIDTH - LEFT - RIGHT);
  const height = TOP + panels.length * (PANEL + GAP) + 20;
  const bottom = TOP + panels.length * (PANEL + GAP) - GAP;
  const marked = run.phases.filter(({ name }) => happening.includes(name));
  const title = `${run.title}: load, traffic between zones, errors and latency over ${end} seconds for four strategies`;
  const drawn = panels.flatMap(({ title: words, grid, unit, curves, level }, index) => {
    const top = TOP + index * (PANEL + GAP);
    const most = grid.at(-1) ?? 1;
    const y = (value: number): number => top + PANEL - (Math.min(value, most) / most) * PANEL;
    return [
      text(LEFT, top - 8, words, 'start', 'title'),
      ...grid.flatMap((value) => [
        `<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at(y(value))}" y2="${at(y(value))}"/>`,
        text(LEFT - 8, y(value) + 4, `${value}${unit}`, 'end', 'small'),
      ]),
      ...(level === undefined
        ? []
        : [
            `<line class="level" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at(y(level.value))}" y2="${at(y(level.value))}"/>`,
            text(WIDTH - RIGHT, y(level.value) - 5, level.words, 'end', 'small'),
          ]),
      ...curves.flatMap(({ name, values }) =>
        pieces(values, (bin, value) => `${at(x((bin + 0.5) * run.binSeconds))},${at(y(value))}`).map(
          (points) => `<polyline class="${name}" points="${points}"/>`,
        ),
      ),
    ];
  });
  const ticks = Array.from({ length: Math.floor(end / 30) + 1 }, (_, index) => index * 30);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${title}">`,
    `<title>${title}</title>`,
    `<style>${STYLE}</style>`,
    ...marked.map(
      ({ from, to }) =>
        `<rect class="band" x="${at(x(from))}" y="${TOP}" width="${at(x(to) - x(from))}" height="${bottom - TOP}"/>`,
    ),
    ...legend(),
    ...drawn,
    ...ticks.map((second) => text(x(second), bottom + 20, `${second} s`, 'middle', 'small')),
    '</svg>',
  ].join('\n');
};
