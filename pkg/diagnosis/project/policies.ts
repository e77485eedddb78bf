// FlowPolicies, reduced to what was observed and what the loop says of itself, and ZoneEvacuations that have not been deleted.
import type { FlowPolicyCondition } from '../../apis/flow-policy.ts';
import { unitsOf } from '../../apis/quantity.ts';
import { type Fields, defined } from '../../apis/values.ts';
import { expiryOf } from '../../evacuation/accept.ts';
import { DEFAULT_LOOP_POLICY } from '../../flow/loop/from-spec.ts';
import { type Metadata, fieldsIn, listIn, pickTexts, textIn, wholeIn } from './fields.ts';

export type EvacuationSummary = Readonly<NonNullable<ReturnType<typeof evacuationOf>>>;

/** Undefined where it was deleted and is on its way out. */
export const evacuationOf = (object: Fields, { name }: Metadata) => {
  if (textIn(object, 'metadata.deletionTimestamp') !== '') return undefined;
  const { creationTimestamp, duration } = pickTexts(object, 'metadata.creationTimestamp', 'spec.duration');
  const services = fieldsIn(object, 'status.services');
  const counts = ['moved', 'pending', 'left'].map((word) => `${wholeIn(services, word) ?? 0} ${word}`);
  return {
    name,
    ...pickTexts(object, 'spec.zone', 'spec.reason', 'status.phase'),
    /** When it ends, Unix milliseconds; undefined where the object does not say. */
    until: expiryOf({ metadata: { creationTimestamp }, spec: { duration } }),
    /** Of its status, in its words: `12 moved, 0 pending, 2 left`; empty without. */
    services: Object.keys(services).length === 0 ? '' : counts.join(', '),
  };
};

/** How a FlowPolicy's loop is to run, and how it does; percentages and texts as they stand there. */
export type FlowLoopSummary = Readonly<ReturnType<typeof loopOf>>;

/** The API server has checked a FlowPolicy by its schema, and only the controller writes its status. */
const loopOf = (object: Fields) => {
  const change = listIn(object, 'status.lastChanges')[0];
  const spread = fieldsIn(object, 'status.plan')['spread'];
  const { mode, source, demand } = pickTexts(object, 'spec.mode', 'status.source', 'status.demand');
  return {
    mode: mode === 'Observe' ? ('Observe' as const) : ('Enforce' as const),
    targetPercent:
      wholeIn(object, 'spec.targetUtilizationPercent') ?? Math.round(DEFAULT_LOOP_POLICY.targetUtilization * 100),
    zones: listIn(object, 'status.zones').map((zone) => ({
      ...pickTexts(zone, 'zone', 'demand'),
      endpoints: wholeIn(zone, 'endpoints') ?? 0,
      utilizationPercent: wholeIn(zone, 'utilizationPercent') ?? 0,
      spillPercent: wholeIn(zone, 'spillPercent') ?? 0,
    })),
    conditions: listIn(object, 'status.conditions').map(
      (condition) =>
        pickTexts(condition, 'type', 'status', 'reason', 'message') as Omit<FlowPolicyCondition, 'lastTransitionTime'>,
    ),
    ...defined({
      source: source || undefined,
      demand: demand || undefined,
      inZonePercent: wholeIn(object, 'status.inZonePercent'),
      maxUtilizationPercent: wholeIn(object, 'status.maxUtilizationPercent'),
      // Largest share of the demand that could stay in its zone, at the target.
      boundPercent: wholeIn(object, 'status.bounds.integralityPercent'),
      // The plan is to write no hints; none: there is no plan.
      spread: typeof spread === 'boolean' ? spread : undefined,
      lastChange: change === undefined ? undefined : pickTexts(change, 'time', 'reason', 'message'),
    }),
  };
};

/** Cores by zone of the clients. Only a status that says that load is observed is an answer; an old one is none. */
const demandOf = (object: Fields): Record<string, number> | undefined => {
  const conditions = listIn(object, 'status.conditions');
  const observed = conditions.some(({ type, status }) => type === 'Observed' && status === 'True');
  const zones = listIn(object, 'status.zones').map((zone) => [textIn(zone, 'zone'), unitsOf(zone['demand'])] as const);
  const demands = zones.filter((entry): entry is [string, number] => entry[1] !== undefined);
  return observed && demands.some(([, demand]) => demand > 0) ? Object.fromEntries(demands) : undefined;
};

/** What the flow controller reports of a Service's load: a FlowPolicy, named as the Service. */
export type FlowPolicySummary = Readonly<ReturnType<typeof flowPolicyOf>>;

export const flowPolicyOf = (object: Fields, { namespace = '', name }: Metadata) => {
  const capacityFrom = textIn(object, 'spec.capacity.from') || 'Requests';
  const percent = wholeIn(object, 'spec.targetUtilizationPercent');
  return {
    namespace,
    name,
    capacityFrom,
    loop: loopOf(object),
    ...defined({
      // Samples of a query are in whatever unit it has; `Value` is then in that unit as well.
      demand: capacityFrom !== 'Value' || textIn(object, 'spec.metrics.query') === '' ? demandOf(object) : undefined,
      capacity: capacityFrom === 'Value' ? unitsOf(fieldsIn(object, 'spec.capacity')['value']) : undefined,
      targetUtilization: percent === undefined ? undefined : percent / 100,
    }),
  };
};
