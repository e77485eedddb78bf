// Plays a scenario in the world of the closed-loop suite, and measures every strategy in every phase of it.
import { setTimeout as delay } from 'node:timers/promises';
import { busyBetween, readCpuTimes } from './closed-loop-busy.ts';
import { binsOf, loadOf, measureService, seriesOf } from './closed-loop-figures.ts';
import type { MetricsPath, Phase, PlanChange, Scenario, ScenarioRun, StrategyRun } from './closed-loop-types.ts';
import { LOAD_AWARE, STRATEGIES } from './closed-loop-world.ts';
import type { World } from './closed-loop-world.ts';

const BIN_SECONDS = 2;

export interface RunOptions {
  readonly world: World;
  readonly scenario: Scenario;
  readonly metrics: MetricsPath;
  /** The flow controller's changes from a second to another, both since 1970. */
  readonly changes: (from: number, to: number) => Promise<PlanChange[]>;
}

/** A phase that was played, in seconds since 1970. */
interface Played {
  readonly phase: Phase;
  readonly from: number;
  readonly to: number;
}

const seconds = (): number => Date.now() / 1000;

const untilSecond = (second: number): Promise<void> => delay(Math.max(0, (second - seconds()) * 1000));

/** Sends the load of one phase after the other; every phase begins and ends with a whole second. */
const play = async ({ world, scenario }: RunOptions): Promise<Played[]> => {
  const played: Played[] = [];
  let dead: string | undefined;
  let from = Math.ceil(seconds());
  await untilSecond(from);
  for (const phase of scenario.phases) {
    if (dead !== undefined && phase.dead !== dead) await world.revive(dead);
    await world.send(phase.demand, scenario.longLivedShare);
    if (phase.dead !== undefined && phase.dead !== dead) await world.kill(phase.dead);
    ({ dead } = phase);
    const to = from + phase.seconds;
    await untilSecond(to);
    played.push({ phase, from, to });
    from = to;
  }
  await world.reported(from);
  return played;
};

/** Plays it from the first phase to the last; the load of the last goes on afterwards. */
export const runScenario = async (options: RunOptions): Promise<ScenarioRun> => {
  const { world, scenario, metrics, changes } = options;
  const before = readCpuTimes();
  const played = await play(options);
  const busy = busyBetween(before, readCpuTimes());
  const begin = played[0]?.from ?? 0;
  const end = played.at(-1)?.to ?? 0;
  const reports = world.recorder.between(begin, end);
  const bins = binsOf(reports, { from: begin, to: end, binSeconds: BIN_SECONDS });
  const strategies: StrategyRun[] = [];
  for (const { name } of STRATEGIES) {
    const measured = played.filter(({ phase }) => phase.warmUp !== true);
    strategies.push({
      strategy: name,
      phases: Object.fromEntries(
        measured.map(({ phase, from, to }) => [phase.name, measureService(world.recorder.between(from, to), name)]),
      ),
      series: seriesOf(bins, name, scenario.watched),
      changes: name === LOAD_AWARE ? await changes(begin, end) : [],
    });
  }
  const { title, watched, longLivedShare } = scenario;
  return {
    scenario: scenario.name,
    title,
    metrics,
    watched,
    longLivedShare,
    phases: played.map(({ phase, from, to }) => ({
      name: phase.name,
      from: from - begin,
      to: to - begin,
      demand: phase.demand,
      warmUp: phase.warmUp ?? false,
    })),
    binSeconds: BIN_SECONDS,
    load: loadOf(bins, 'spread', watched, BIN_SECONDS),
    strategies,
    busy,
    lateMs: Math.max(0, ...reports.map(({ lateMs }) => lateMs)),
  };
};
