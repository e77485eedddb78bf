// FlowPolicies reduced to the demand that was observed, to what it is measured by, and to what the loop says of itself.
import { defined } from '../../apis/defined.ts';
import type { Fields } from '../../apis/fields.ts';
import type { FlowPolicyCondition, FlowPolicyZoneStatus } from '../../apis/flow-policy.ts';
import { unitsOf } from '../../apis/quantity.ts';
import { DEFAULT_LOOP_POLICY } from '../../flow/loop/policy.ts';
import type { FlowLoopSummary, FlowPolicySummary } from '../snapshot.ts';
import { asFields, booleanAt, FieldError, fieldsAt, listAt, objectAt, textAt, textIn, wholeAt } from './fields.ts';
import { DEFAULT_NAMESPACE, metadataOf } from './metadata.ts';

const HUNDRED = 100;

const oneOf = <T extends string>(fields: Fields, key: string, values: readonly T[]): T => {
  const found = values.find((value) => value === fields[key]);
  if (found === undefined) throw new FieldError([key], values.join(' or '), fields[key]);
  return found;
};

const conditionOf = (item: unknown): Pick<FlowPolicyCondition, 'type' | 'status' | 'reason' | 'message'> => {
  const fields = asFields(item);
  return {
    type: oneOf(fields, 'type', ['Observed', 'Effective', 'Stable']),
    status: oneOf(fields, 'status', ['True', 'False', 'Unknown']),
    reason: textIn(fields, 'reason'),
    message: textIn(fields, 'message'),
  };
};

const zoneOf = (item: unknown): FlowPolicyZoneStatus => {
  const fields = asFields(item);
  return {
    zone: textIn(fields, 'zone'),
    demand: textIn(fields, 'demand'),
    endpoints: wholeAt(fields, 'endpoints') ?? 0,
    utilizationPercent: wholeAt(fields, 'utilizationPercent') ?? 0,
    spillPercent: wholeAt(fields, 'spillPercent') ?? 0,
  };
};

const changeOf = (item: unknown): NonNullable<FlowLoopSummary['lastChange']> => {
  const fields = asFields(item);
  return { time: textIn(fields, 'time'), reason: textIn(fields, 'reason'), message: textIn(fields, 'message') };
};

/** `object`: the whole FlowPolicy. @throws FieldError where a field is not what the API has there. */
const loopOf = (object: Fields): FlowLoopSummary => {
  const spec = fieldsAt(object, 'spec');
  const status = fieldsAt(object, 'status');
  return {
    mode: textAt(spec, 'mode') === 'Observe' ? 'Observe' : 'Enforce',
    targetPercent:
      wholeAt(spec, 'targetUtilizationPercent') ?? Math.round(DEFAULT_LOOP_POLICY.targetUtilization * HUNDRED),
    zones: listAt(status, 'zones', zoneOf) ?? [],
    conditions: listAt(status, 'conditions', conditionOf) ?? [],
    ...defined({
      source: textAt(status, 'source'),
      demand: textAt(status, 'demand'),
      inZonePercent: wholeAt(status, 'inZonePercent'),
      maxUtilizationPercent: wholeAt(status, 'maxUtilizationPercent'),
      boundPercent: objectAt(status, 'bounds', (bounds) => wholeAt(bounds, 'integralityPercent')),
      spread: objectAt(status, 'plan', (plan) => booleanAt(plan, 'spread')),
      lastChange: listAt(status, 'lastChanges', changeOf)?.[0],
    }),
  };
};

/** Only a status that says that load is observed is an answer; an old one is none. */
const isObserved = (status: Fields): boolean =>
  (listAt(status, 'conditions', asFields) ?? []).some(
    (condition) => condition['type'] === 'Observed' && condition['status'] === 'True',
  );

const demandOf = (status: Fields): Record<string, number> | undefined => {
  if (!isObserved(status)) return undefined;
  const zones = listAt(status, 'zones', (item) => {
    const zone = asFields(item);
    return [textAt(zone, 'zone') ?? '', unitsOf(textAt(zone, 'demand'))] as const;
  });
  const known = (zones ?? []).flatMap(([zone, demand]) => (demand === undefined ? [] : [[zone, demand] as const]));
  return known.some(([, demand]) => demand > 0) ? Object.fromEntries(known) : undefined;
};

/** Samples of a query are in whatever unit it has; `Value` is then in that unit as well. */
const inCores = (spec: Fields, from: string): boolean =>
  from !== 'Value' || objectAt(spec, 'metrics', (metrics) => textAt(metrics, 'query')) === undefined;

export const flowPolicyOf = (object: Fields): FlowPolicySummary => {
  const { namespace = DEFAULT_NAMESPACE, name } = metadataOf(object, true);
  const spec = fieldsAt(object, 'spec');
  const capacityFrom = objectAt(spec, 'capacity', (inner) => textAt(inner, 'from')) ?? 'Requests';
  const value = objectAt(spec, 'capacity', (inner) => unitsOf(textAt(inner, 'value')));
  const percent = wholeAt(spec, 'targetUtilizationPercent');
  const demand = inCores(spec, capacityFrom) ? objectAt(object, 'status', demandOf) : undefined;
  return {
    namespace,
    name,
    capacityFrom,
    loop: loopOf(object),
    ...defined({
      demand,
      capacity: capacityFrom === 'Value' ? value : undefined,
      targetUtilization: percent === undefined ? undefined : percent / HUNDRED,
    }),
  };
};
