// What a run of a scenario has to show: bounds between strategies of the same run, so that a noisy machine passes or fails them all.
import { AFTER, BEFORE, REACTED, REACTING } from './closed-loop-scenarios.ts';
import type { Figures, ScenarioRun } from './closed-loop-types.ts';

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
    if (errors < LIMITS.premiseErrors) {
      findings.push(`${strategy} has only ${percent(errors)} errors: the scenario strains nothing`);
    }
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
