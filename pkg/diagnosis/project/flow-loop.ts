// SPDX-License-Identifier: Apache-2.0
// How the loop of a FlowPolicy should run and how it does, as far as an explanation needs it.
import { defined } from '../../apis/defined.ts';
import type { FlowPolicyCondition, FlowPolicyZoneStatus } from '../../apis/flow-policy.ts';
import { DEFAULT_LOOP_POLICY } from '../../flow/loop/policy.ts';
import type { FlowLoopSummary } from '../snapshot.ts';
import { asFields, booleanAt, FieldError, listAt, objectAt, textAt, wholeAt } from './fields.ts';
import type { Fields } from '../../apis/fields.ts';

const HUNDRED = 100;

const oneOf = <T extends string>(fields: Fields, key: string, values: readonly T[]): T => {
  const found = values.find((value) => value === fields[key]);
  if (found === undefined) throw new FieldError([key], values.join(' or '), fields[key]);
  return found;
};

const textIn = (fields: Fields, key: string): string => textAt(fields, key) ?? '';

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
export const loopOf = (object: Fields): FlowLoopSummary => {
  const spec = objectAt(object, 'spec', (inner) => inner) ?? {};
  const status = objectAt(object, 'status', (inner) => inner) ?? {};
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
