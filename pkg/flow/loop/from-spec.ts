// What a FlowPolicy's spec means: the loop's policy, and where capacity and load come from. Defaults for what it leaves out.
import { nanoCpu, parseDuration } from '../../apis/quantity.ts';
import type { FlowPolicySpec, FlowPolicyZoneCost } from '../../apis/flow-policy.ts';
import type { ZoneCost } from '../types.ts';
import type { LoopPolicy } from './types.ts';

export const DEFAULT_LOOP_POLICY: LoopPolicy = {
  targetUtilization: 0.7,
  upperUtilization: 0.8,
  upDwellSeconds: 30,
  downDwellSeconds: 300,
  quickReturnSeconds: 3_600,
  planIntervalSeconds: 30,
  holdAfterSeconds: 120,
  safeModeAfterSeconds: 600,
  safeMode: 'spread',
  minEndpoints: 1,
  worthwhileSaving: 0.02,
  settleSeconds: 2,
};

/** What an endpoint can serve: CPU that its Pod requests, or may use, or a number that holds for every Pod. */
export type CapacitySource =
  { readonly from: 'Requests' } | { readonly from: 'Limits' } | { readonly from: 'Value'; readonly cores: number };

const secondsOf = (text: string | undefined, fallback: number): number =>
  text === undefined ? fallback : (parseDuration(text) ?? fallback);

const capacityOf = ({ capacity }: FlowPolicySpec): CapacitySource => {
  // Cores, or whatever the unit is.
  if (capacity?.from === 'Value') return { from: 'Value', cores: Number(nanoCpu(capacity.value)) / 1e9 };
  return { from: capacity?.from ?? 'Requests' };
};

/** Pairs that are not named cost 1; undefined where none is. */
const costOf = (costs: readonly FlowPolicyZoneCost[] | undefined): ZoneCost | undefined => {
  if (costs === undefined || costs.length === 0) return undefined;
  const known = new Map(costs.map(({ from, to, cost }) => [`${from}\n${to}`, cost]));
  return (from, to) => known.get(`${from}\n${to}`) ?? 1;
};

const fractionOf = (percent: number | undefined, fallback: number): number =>
  percent === undefined ? fallback : percent / 100;

const loopOf = (spec: FlowPolicySpec): LoopPolicy => {
  const fallback = DEFAULT_LOOP_POLICY;
  const { upperUtilizationPercent, targetUtilizationPercent } = spec;
  return {
    ...fallback,
    targetUtilization: fractionOf(targetUtilizationPercent, fallback.targetUtilization),
    upperUtilization: fractionOf(upperUtilizationPercent, fallback.upperUtilization),
    upDwellSeconds: secondsOf(spec.upDwell, fallback.upDwellSeconds),
    downDwellSeconds: secondsOf(spec.downDwell, fallback.downDwellSeconds),
    // A configured wait always holds.
    quickReturnSeconds: spec.downDwell === undefined ? fallback.quickReturnSeconds : Infinity,
    planIntervalSeconds: secondsOf(spec.planInterval, fallback.planIntervalSeconds),
    holdAfterSeconds: secondsOf(spec.staleness?.holdAfter, fallback.holdAfterSeconds),
    safeModeAfterSeconds: secondsOf(spec.staleness?.safeModeAfter, fallback.safeModeAfterSeconds),
    safeMode: spec.safeMode === 'SameZone' ? 'same-zone' : 'spread',
    minEndpoints: spec.minEndpointsPerZone ?? fallback.minEndpoints,
    worthwhileSaving: fractionOf(spec.worthwhileSavingPercent, fallback.worthwhileSaving),
    cost: costOf(spec.zoneCosts),
  };
};

/** How one Service's loop is run: the settings of a spec that its schema accepts; of an empty one, the defaults. */
export const settingsFromSpec = (spec: FlowPolicySpec) => ({
  /** `Observe` plans and reports, and writes nothing. */
  mode: spec.mode ?? 'Enforce',
  loop: loopOf(spec),
  capacity: capacityOf(spec),
  /** Name of the source of load; undefined: the first that is configured. */
  source: spec.metrics?.source,
  /** PromQL for sources that take it. */
  query: spec.metrics?.query,
  /** How often load is read, seconds; undefined: as often as the source has something new. */
  intervalSeconds: spec.metrics?.interval === undefined ? undefined : parseDuration(spec.metrics.interval),
});

export type FlowSettings = Readonly<ReturnType<typeof settingsFromSpec>>;
