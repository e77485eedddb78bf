// Plays a scenario of the closed-loop suite, measures every strategy in every phase, and judges it by bounds between strategies.
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { AFTER, BEFORE, binsOf, loadOf, measureService, REACTED, REACTING, seriesOf } from './closed-loop-results.ts';
import type {
  Figures,
  MetricsPath,
  Phase,
  PlanChange,
  Scenario,
  ScenarioRun,
  StrategyRun,
} from './closed-loop-results.ts';
import { LOAD_AWARE, STRATEGIES, type World } from './closed-loop-world.ts';

/** Times of all cores together, in ticks. */
interface CpuTimes {
  /** Nothing to do, or waiting for disks. */
  readonly idle: number;
  readonly total: number;
}

/** Out of the text of /proc/stat. */
const parseCpuTimes = (stat: string): CpuTimes => {
  // user nice system idle iowait irq softirq steal; guest times are part of user and nice.
  const fields = /^cpu +(.*)$/m.exec(stat)?.[1]?.split(' ').slice(0, 8).map(Number) ?? [];
  if (fields.length < 8 || fields.some((value) => !Number.isFinite(value)))
    throw new Error('/proc/stat has no line of all cores');
  const [, , , idle = 0, waiting = 0] = fields;
  return { idle: idle + waiting, total: fields.reduce((sum, value) => sum + value, 0) };
};

/** Share of the time between two readings in which cores worked, at whatever priority, 0..1. */
const busyBetween = (before: CpuTimes, after: CpuTimes): number => {
  const total = after.total - before.total;
  return total <= 0 ? 0 : 1 - (after.idle - before.idle) / total;
};

const readCpuTimes = (): CpuTimes => parseCpuTimes(readFileSync('/proc/stat', 'utf8'));

const BIN_SECONDS = 2;

interface PlayOptions {
  readonly world: Pick<World, 'send' | 'kill' | 'revive' | 'reported'>;
  readonly scenario: Pick<Scenario, 'phases' | 'longLivedShare'>;
}

interface RunOptions extends PlayOptions {
  readonly world: World;
  readonly scenario: Scenario;
  readonly metrics: MetricsPath;
  /** The flow controller's changes from a second to another, both since 1970. */
  readonly changes: (from: number, to: number) => Promise<PlanChange[]>;
}

/** A phase that was played, in seconds since 1970. */
export interface Played {
  readonly phase: Phase;
  readonly from: number;
  readonly to: number;
}

const seconds = (): number => Date.now() / 1000;

const untilSecond = (second: number): Promise<void> => delay(Math.max(0, (second - seconds()) * 1000));

/** Sends the load of one phase after the other; every phase begins and ends with a whole second. */
export const play = async ({ world, scenario }: PlayOptions): Promise<Played[]> => {
  const played: Played[] = [];
  let dead: string | undefined;
  let from = Math.ceil(seconds());
  await untilSecond(from);
  for (const phase of scenario.phases) {
    if (dead !== undefined && phase.dead !== dead) await world.revive(dead);
    await world.send(phase.demand, scenario.longLivedShare);
    if (phase.dead !== undefined && phase.dead !== dead) await world.kill(phase.dead, phase.hangs);
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

/** Above it, latencies are those of a machine that has too much to do. */
const MOST_BUSY = 0.8;

/** Programs that stand still for longer send in one go what they should have sent meanwhile: a load that nobody asked for. */
const MOST_LATE_MS = 500;

/** All are shares; of spread's or same-zone's figure where they say so. */
const LIMITS = {
  /** Requests that may cross zones where no zone needs another. */
  quietCrossZone: 0.03,
  quietErrors: 0.01,
  /** Of all requests while the loop reacts, with samples every second; and where most connections stay for 20 seconds. */
  reactingErrors: 0.01,
  reactingErrorsLongLived: 0.03,
  /** Of same-zone's errors, with samples that are as old as metrics-server's. */
  reactingErrorsSlow: 1,
  /** Of same-zone's errors and overloaded time once the loop has reacted. */
  reactedErrors: 0.25,
  reactedOverload: 0.35,
  /** Of spread's requests that cross zones. */
  reactedCrossZone: 0.8,
  afterCrossZone: 0.1,
  /** The same where connections stay for a while. */
  afterCrossZoneLongLived: 0.5,
  /** Errors of same-zone below which the scenario puts no strain on anything. */
  premiseErrors: 0.03,
} as const;

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;

/** Everything that is not as it has to be; empty: all is well. */
export const findingsOf = (run: ScenarioRun): string[] => {
  const findings: string[] = [];
  const of = (strategy: string, phase: string): Figures => {
    const figures = run.strategies.find((one) => one.strategy === strategy)?.phases[phase];
    if (figures === undefined) throw new Error(`${run.scenario}: no figures of ${strategy} in ${phase}`);
    return figures;
  };
  const most = (what: string, value: number, limit: number): void => {
    if (value > limit) findings.push(`${what}: ${percent(value)}, at most ${percent(limit)}`);
  };
  const overload = ({ overloadedSeconds, endpointSeconds }: Figures): number => overloadedSeconds / endpointSeconds;

  most('the machine was busy', run.busy, MOST_BUSY);
  for (const strategy of ['same-zone', 'auto']) {
    const { errors } = of(strategy, REACTED);
    if (errors < LIMITS.premiseErrors)
      findings.push(`${strategy} has only ${percent(errors)} errors: the scenario strains nothing`);
  }
  const [before, reacting, reacted, after] = [BEFORE, REACTING, REACTED, AFTER].map((phase) => of('load-aware', phase));
  if (before === undefined || reacting === undefined || reacted === undefined || after === undefined) return findings;
  most('before: cross-zone', before.crossZone, LIMITS.quietCrossZone);
  most('before: errors', before.errors, LIMITS.quietErrors);
  const sameZone = of('same-zone', REACTED);
  const stay = run.longLivedShare > 0;
  const late = stay ? LIMITS.reactingErrorsLongLived : LIMITS.reactingErrors;
  const slow = LIMITS.reactingErrorsSlow * of('same-zone', REACTING).errors;
  most('reacting: errors', reacting.errors, run.metrics === 'Prometheus' ? late : slow);
  most('reacted: errors', reacted.errors, LIMITS.reactedErrors * sameZone.errors);
  most('reacted: overload', overload(reacted), LIMITS.reactedOverload * overload(sameZone));
  most('reacted: cross-zone', reacted.crossZone, LIMITS.reactedCrossZone * of('spread', REACTED).crossZone);
  const back = stay ? LIMITS.afterCrossZoneLongLived : LIMITS.afterCrossZone;
  most('after: cross-zone', after.crossZone, back * of('spread', AFTER).crossZone);
  most('after: errors', after.errors, LIMITS.quietErrors);
  return findings;
};

/** Whether the machine is to blame, so that a run says too little about routing to be judged by. */
export const isDisturbed = (run: ScenarioRun): boolean =>
  run.busy > MOST_BUSY || (run.lateMs > MOST_LATE_MS && findingsOf(run).length > 0);
