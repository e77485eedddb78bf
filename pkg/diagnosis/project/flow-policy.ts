// SPDX-License-Identifier: Apache-2.0
// FlowPolicies reduced to the demand that was observed, to what it is measured by, and to what the loop says of itself.
import { defined } from '../../apis/defined.ts';
import { unitsOf } from '../../apis/quantity.ts';
import type { FlowPolicySummary } from '../snapshot.ts';
import { asFields, listAt, objectAt, textAt, wholeAt } from './fields.ts';
import { loopOf } from './flow-loop.ts';
import { DEFAULT_NAMESPACE, metadataOf } from './metadata.ts';
import type { Fields } from '../../apis/fields.ts';

const HUNDRED = 100;

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
  const spec = objectAt(object, 'spec', (inner) => inner) ?? {};
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
