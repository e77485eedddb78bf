// SPDX-License-Identifier: Apache-2.0
// What the flow controller would plan, as a table or as JSON: one look at the caches and the load, not a single write.
import { createSpecCheck } from '../../pkg/apis/flow-policy-check.ts';
import type { FlowCaches } from '../../pkg/controllers/flow/caches.ts';
import { createLoadReader } from '../../pkg/controllers/flow/loads.ts';
import type { LoadReader } from '../../pkg/controllers/flow/loads.ts';
import { createSnapshots, loadQueryOf } from '../../pkg/controllers/flow/snapshots.ts';
import type { Snapshot } from '../../pkg/controllers/flow/types.ts';
import { askOf } from '../../pkg/flow/assemble/ask.ts';
import type { Ask } from '../../pkg/flow/assemble/ask.ts';
import { viewsOfEndpoints } from '../../pkg/flow/assemble/endpoints.ts';
import { loopFiguresOf } from '../../pkg/flow/assemble/figures.ts';
import { differs } from '../../pkg/flow/assemble/patch.ts';
import { describePlan } from '../../pkg/flow/assemble/status.ts';
import { lookByLoad, planByWeight } from '../../pkg/flow/assemble/turn.ts';
import type { FlowSlice } from '../../pkg/flow/assemble/slice.ts';
import type { HintsInForce } from '../../pkg/flow/demand/in-force.ts';
import { settingsFromSpec } from '../../pkg/flow/loop/from-spec.ts';
import type { Demand } from '../../pkg/flow/types.ts';
import { renderJson } from '../../pkg/report/json.ts';
import { renderTable } from '../../pkg/report/table.ts';
import { bytesText, fanOutOf } from '../../pkg/upstream/index.ts';
import type { Session } from './session.ts';

/** What would be done for one Service. */
export interface PlannedService {
  readonly namespace: string;
  readonly service: string;
  readonly strategy: string;
  /** `Planned`, or why there is no plan. */
  readonly reason: string;
  /** The plan as a sentence, or what is in its way. */
  readonly message: string;
  readonly plan: HintsInForce | null;
  /** Ready ones. */
  readonly endpoints: number;
  /** Cores by zone; null where nothing is known of it. */
  readonly demand: Demand | null;
  /** Share of the demand that stays in its zone, 0..1; null where nothing is known of demand. */
  readonly inZoneShare: number | null;
  /** EndpointSlices that would be written; none while the policy says Observe. */
  readonly writes: number;
  /** What the proxies of all Nodes together would receive because of them. */
  readonly fanOutBytes: number;
}

/** One look has the time that a source needs. */
const PATIENCE_MS = 30_000;

type Planned = Omit<PlannedService, 'namespace' | 'service' | 'strategy' | 'endpoints'>;

const without = (reason: string, message: string): Planned => ({
  reason,
  message,
  plan: null,
  demand: null,
  inZoneShare: null,
  writes: 0,
  fanOutBytes: 0,
});

const readyIn = ({ slices }: Snapshot) => viewsOfEndpoints(slices).filter(({ ready }) => ready);

/** What is written for a plan, and what proxies receive of it. */
const writesOf = (slices: readonly FlowSlice[], plan: HintsInForce, proxies: number) => {
  const sizes = slices.filter((slice) => differs(slice, plan)).map(({ bytes }) => bytes);
  return { writes: sizes.length, fanOutBytes: fanOutOf(sizes, proxies).fanOutBytes };
};

const byWeight = (snapshot: Snapshot, { writable }: Extract<Ask, { kind: 'planned' }>, proxies: number): Planned => {
  const { cutShort: _, unchanged: _before, ...plan } = planByWeight(snapshot.slices, snapshot.zones, undefined);
  return {
    ...without('Planned', describePlan(plan, readyIn(snapshot))),
    plan,
    ...writesOf(writable, plan, proxies),
  };
};

const byLoad = async (
  key: string,
  snapshot: Snapshot,
  { writable }: Extract<Ask, { kind: 'planned' }>,
  loads: LoadReader,
  { clock }: Session,
  proxies: number,
  signal: AbortSignal,
): Promise<Planned> => {
  const settings = settingsFromSpec(snapshot.policy?.spec ?? {});
  const { load, problem } = await loads.read(key, settings, loadQueryOf(snapshot), signal);
  const { slices, zones, podCpu } = snapshot;
  const turn = lookByLoad({ settings, time: clock.now() / 1_000, slices, zones, podCpu, load, state: undefined });
  const { plan, decision, observation, withoutCapacity } = turn;
  if (decision === undefined || observation === undefined)
    return {
      ...without('NoCapacity', `${withoutCapacity.join(', ')}: no CPU ${settings.capacity.from.toLowerCase()}`),
      plan,
    };
  const known = turn.state?.belief !== null;
  const detail = problem === undefined ? '' : ` (${problem.reason}: ${problem.message})`;
  return {
    reason: known ? 'Planned' : (problem?.reason ?? 'WaitingForMetrics'),
    message: `${describePlan(plan, readyIn(snapshot))}${detail}`,
    plan,
    demand: known ? decision.demand : null,
    inZoneShare: known ? loopFiguresOf(observation, plan, decision.demand, settings.loop).inZoneShare : null,
    ...writesOf(settings.mode === 'Observe' ? [] : writable, plan, proxies),
  };
};

/** Looks at every Service once, in name order. A Service without the label is planned as if it had it. */
export const collectPlans = async (
  session: Session,
  caches: FlowCaches,
  signal: AbortSignal,
): Promise<PlannedService[]> => {
  const snapshots = createSnapshots(caches, session.config);
  const loads = createLoadReader({
    sources: session.sources,
    clock: session.clock,
    lifetime: signal,
    patienceMs: PATIENCE_MS,
  });
  const check = createSpecCheck();
  const found: PlannedService[] = [];
  for (const key of snapshots.services().sort()) {
    const snapshot = snapshots.snapshot(key);
    if (snapshot === undefined) continue;
    const ask = askOf({ service: snapshot.service, slices: snapshot.slices, observeOnly: true });
    if (ask.kind === 'none') continue;
    const wrong = check(snapshot.policy?.spec ?? {});
    const { name: service = '', namespace = '' } = snapshot.service.metadata ?? {};
    const common = { namespace, service, strategy: ask.strategy, endpoints: readyIn(snapshot).length };
    if (wrong !== undefined) found.push({ ...common, ...without('InvalidPolicy', wrong) });
    else if (ask.kind === 'refused') found.push({ ...common, ...without(ask.reason, ask.message) });
    else if (ask.strategy === 'proportional')
      found.push({ ...common, ...byWeight(snapshot, ask, snapshots.proxies()) });
    else found.push({ ...common, ...(await byLoad(key, snapshot, ask, loads, session, snapshots.proxies(), signal)) });
  }
  return found;
};

const percent = (share: number | null): string => (share === null ? '-' : `${Math.round(share * 100)} %`);

const demandText = (demand: Demand | null): string =>
  demand === null
    ? '-'
    : Object.entries(demand)
        .map(([zone, cores]) => `${zone} ${Number(cores.toPrecision(3))}`)
        .join(', ');

/** The plans as text for a terminal (`table`) or for programs (`json`), ending in a line break. */
export const renderPlans = (plans: readonly PlannedService[], format: 'table' | 'json'): string => {
  if (format === 'json') return renderJson(plans);
  const writes = plans.reduce((sum, plan) => sum + plan.writes, 0);
  const summary = `${plans.length} Service(s) request a plan; ${writes} EndpointSlice(s) would be written. Nothing was written.\n`;
  if (plans.length === 0) return summary;
  const table = renderTable(
    ['NAMESPACE', 'SERVICE', 'STRATEGY', 'ENDPOINTS', 'DEMAND', 'IN ZONE', 'WRITES', 'FAN-OUT', 'REASON', 'PLAN'],
    plans.map((row) => [
      row.namespace,
      row.service,
      row.strategy,
      String(row.endpoints),
      demandText(row.demand),
      percent(row.inZoneShare),
      String(row.writes),
      row.writes === 0 ? '-' : bytesText(row.fanOutBytes),
      row.reason,
      row.message,
    ]),
  );
  return `${table}\n${summary}`;
};
