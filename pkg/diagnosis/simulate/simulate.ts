// Simulates a Service under every mode: hints by the models of control plane and planner, routes by those of the proxies.
import type { Service } from '../../apis/core.ts';
import { formatVersion } from '../../routing/version.ts';
import { serviceRefOf } from '../models/lookup.ts';
import { routersReport } from '../routers/report.ts';
import type { ClusterSnapshot } from '../snapshot.ts';
import { prepare } from './context.ts';
import type { Context } from './context.ts';
import { hintsGiven, modeInForce, simulateMode } from './mode.ts';
import { MODE_NAMES, carrierOf, settingsOfMode, settingsText, sinceOf } from './modes.ts';
import { flowOf } from './outcome.ts';
import type {
  CapacityReport,
  ModeReport,
  PricesReport,
  SimulateOptions,
  Simulation,
  SimulationReport,
} from './types.ts';
import { recommend } from './verdict.ts';
import { SimulationError } from './what-if.ts';

const capacityReport = ({ capacity, targetUtilization }: Context): CapacityReport | null =>
  capacity === null
    ? null
    : {
        source: capacity.source,
        cores: [...capacity.byAddress.values()].reduce((sum, cores) => sum + cores, 0),
        targetUtilization,
      };

const pricesReport = ({ frame: { bill } }: Context): { prices?: PricesReport } => {
  if (bill === null) return {};
  const { gigabytesPerDay, tariff } = bill;
  const { currency, source, date } = tariff.table;
  return { prices: { gigabytesPerDay, currency, source, date } };
};

const reportOf = (context: Context): SimulationReport => {
  const { service, version, frame, oldProxies, whatIf } = context;
  const routers = routersReport(frame.groups.flat(), context.routers);
  const inForce = modeInForce(service, context);
  // What is stored is what proxies see; after a what-if it would be written anew.
  const stored = whatIf === null ? context.slices : hintsGiven(service, context.slices, context).slices;
  const now = flowOf(service, stored, frame).outcome;
  const simulated = MODE_NAMES.map((mode) => simulateMode(mode, context));
  const candidates = simulated.flatMap(({ mode, outcome }) => (outcome === null ? [] : [{ mode, outcome }]));
  const recommendation = recommend(candidates, now, context.limit);
  const managed = Object.keys(service.spec?.selector ?? {}).length > 0;
  const modes = simulated.map(({ mode, outcome, verdict }): ModeReport => {
    const settings = settingsOfMode(mode, { version, oldProxies });
    return {
      mode,
      since: sinceOf(mode, frame.gates),
      carrier: carrierOf(mode, settings, managed),
      settings: outcome === null ? [] : settingsText(settings),
      inForce: mode === inForce,
      recommended: mode === recommendation.mode,
      outcome,
      verdict,
    };
  });
  return {
    ...serviceRefOf(service),
    kubernetesVersion: formatVersion(version),
    proxy: routers.router,
    ...routers,
    addressType: frame.family,
    port: frame.port,
    whatIf,
    endpoints: context.ready.length,
    demand: context.demand,
    maxOverload: context.maxOverload,
    capacity: capacityReport(context),
    ...pricesReport(context),
    now: { mode: inForce, ...now },
    modes,
    recommendation,
  };
};

/** Refused where there is nothing to simulate or the question does not fit the objects. */
export const simulate = (snapshot: ClusterSnapshot, service: Service, options: SimulateOptions): Simulation => {
  try {
    return { kind: 'simulated', report: reportOf(prepare(snapshot, service, options)) };
  } catch (error) {
    if (!(error instanceof SimulationError)) throw error;
    return { kind: 'refused', reason: error.reason, message: error.message };
  }
};
