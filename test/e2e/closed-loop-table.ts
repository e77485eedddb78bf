// What the closed-loop suite measured, as tables in Markdown.
import { formatNumber } from '../bench/statistics.ts';
import { markdownTable } from '../bench/table.ts';
import { REACTED } from './closed-loop-scenarios.ts';
import type { Figures, ScenarioRun } from './closed-loop-types.ts';

const percent = (share: number): string => {
  const value = share * 100;
  return `${value === 0 || value >= 9.95 ? Math.round(value) : value.toFixed(1)} %`;
};

const milliseconds = (value: number | null): string => (value === null ? '–' : `${formatNumber(value, 2)} ms`);

const cellsOf = (figures: Figures): string[] => [
  percent(figures.errors),
  percent(figures.crossZone),
  `${(figures.overloadedSeconds / 60).toFixed(1)} of ${(figures.endpointSeconds / 60).toFixed(0)}`,
  ...figures.zones.map(({ p50Ms, p99Ms }) =>
    p50Ms === null ? '–' : `${milliseconds(p50Ms)} / ${milliseconds(p99Ms)}`,
  ),
];

/** A line a phase and strategy. */
export const formatRun = ({ phases, strategies }: ScenarioRun): string => {
  const zones = strategies[0] === undefined ? [] : (Object.values(strategies[0].phases)[0]?.zones ?? []);
  const rows = phases
    .filter(({ warmUp }) => !warmUp)
    .flatMap(({ name }) =>
      strategies.flatMap(({ strategy, phases: measured }) => {
        const figures = measured[name];
        return figures === undefined ? [] : [[name, strategy, ...cellsOf(figures)]];
      }),
    );
  const head = ['', '', 'errors', 'cross-zone', 'overloaded endpoint-minutes'];
  return markdownTable([...head, ...zones.map(({ zone }) => `p50 / p99 from ${zone}`)], rows);
};

/** What was asked for, and how busy that made the machine. */
export const describeRun = ({ metrics, phases, busy }: ScenarioRun): string => {
  const loads = phases
    .filter(({ warmUp }) => !warmUp)
    .map(({ name, from, to, demand }) => {
      const rates = Object.entries(demand).map(([zone, rate]) => `${zone} ${rate}`);
      return `${name} (${to - from} s): ${rates.join(', ')}`;
    });
  return `Metrics through ${metrics}. Requests a second: ${loads.join('; ')}. The machine was ${Math.round(busy * 100)} % busy.`;
};

/** When and why the closed loop changed hints, in seconds since the scenario began. */
export const describeChanges = ({ strategies }: ScenarioRun): string => {
  const changes = strategies.flatMap((run) => run.changes);
  if (changes.length === 0) return 'The flow controller changed no hints.';
  return `The flow controller changed hints after ${changes.map(({ at, reason }) => `${at} s (${reason})`).join(', ')}.`;
};

/** A few lines a run: what each strategy comes to once it has reacted. */
export const formatSummary = (runs: readonly ScenarioRun[]): string => {
  const strategies = runs[0]?.strategies.map(({ strategy }) => strategy) ?? [];
  const rows = runs.flatMap((run) => {
    const cells = (of: (figures: Figures) => string): string[] =>
      strategies.map((name) => {
        const figures = run.strategies.find(({ strategy }) => strategy === name)?.phases[REACTED];
        return figures === undefined ? '–' : of(figures);
      });
    const watched = ({ zones }: Figures): number | null =>
      zones.find(({ zone }) => zone === run.watched)?.p99Ms ?? null;
    const what = run.metrics === 'Prometheus' ? `${run.title} (Prometheus)` : run.title;
    return [
      [what, 'errors', ...cells(({ errors }) => percent(errors))],
      ['', 'cross-zone', ...cells(({ crossZone }) => percent(crossZone))],
      ['', `p99 from ${run.watched}`, ...cells((figures) => milliseconds(watched(figures)))],
    ];
  });
  return markdownTable(['what happens', '', ...strategies], rows);
};
