// SPDX-License-Identifier: Apache-2.0
// Traffic that crosses zones because an operator evacuates one: said by the mark on the slices.
import { NOWHERE } from '../../apis/names.ts';
import { markOf } from '../../evacuation/decide.ts';
import { cause, counted, listed } from './cause.ts';
import type { Cause, Facts } from './types.ts';

/** Zones that the slices of the Service are marked to leave, in name order. */
export const evacuatedZones = ({ slices }: Pick<Facts, 'slices'>): string[] =>
  [...new Set(slices.flatMap((slice) => [...(markOf(slice)?.out.keys() ?? [])]))].sort();

/** One cause, before all others: what else is found stands beside an evacuation. */
export const evacuationCauses = (facts: Facts): Cause[] => {
  const zones = evacuatedZones(facts);
  if (zones.length === 0) return [];
  const inZones = facts.endpoints.filter(({ zone }) => zones.includes(zone));
  const leaving = inZones.filter(({ forZones }) => forZones.length === 1 && forZones[0] === NOWHERE);
  const what =
    inZones.length === 0
      ? 'no endpoint is ready there'
      : `${leaving.length} of ${counted(inZones.length, 'ready endpoint')} there get no new connections`;
  const evidence = `${listed(zones)} is evacuated: ${what}. Until when and why: kubectl topology evacuations.`;
  return [cause('effective', 'Evacuated', evidence)];
};
