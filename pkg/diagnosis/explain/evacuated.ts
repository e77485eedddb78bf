// Traffic that crosses zones because an operator evacuates one: said by the mark on the slices.
import { markOf } from '../../evacuation/decide.ts';
import { isNowhere } from '../../apis/names.ts';
import { itemsOf } from '../snapshot.ts';
import { cause, counted, listed } from './cause.ts';
import type { Cause, Facts } from './types.ts';

/** Zones that the slices of the Service are marked to leave, in name order. */
export const evacuatedZones = ({ slices }: Pick<Facts, 'slices'>): string[] =>
  [...new Set(slices.flatMap((slice) => [...(markOf(slice)?.out.keys() ?? [])]))].sort();

/** `until 2026-11-22T18:00:00Z (night-drill: a drill)` of each object that names one of the zones. */
const untilText = ({ snapshot }: Facts, zones: readonly string[]): string => {
  const known = itemsOf(snapshot.evacuations).filter(({ zone }) => zones.includes(zone));
  const parts = known.map(({ name, zone, until, reason }) => {
    const end = until === undefined ? '' : ` until ${new Date(until).toISOString().replace('.000', '')}`;
    return `${zones.length > 1 ? zone : ''}${end} (${name}${reason === '' ? '' : `: ${reason}`})`.trimStart();
  });
  return parts.length === 0 ? '' : ` ${parts.join(', ')}`;
};

/** One cause, before all others: other findings come second to an evacuation. */
export const evacuationCauses = (facts: Facts): Cause[] => {
  const zones = evacuatedZones(facts);
  if (zones.length === 0) return [];
  const inZones = facts.endpoints.filter(({ zone }) => zones.includes(zone));
  const leaving = inZones.filter(({ forZones }) => forZones.length > 0 && forZones.every(isNowhere));
  const what =
    inZones.length === 0
      ? 'no endpoint is ready there'
      : `${leaving.length} of ${counted(inZones.length, 'ready endpoint')} there get no new connections`;
  const until = untilText(facts, zones);
  const ask = until === '' ? ' Until when and why: kubectl topology evacuations.' : '';
  const evidence = `${listed(zones)} is evacuated${until}: ${what}.${ask}`;
  return [cause('effective', 'Evacuated', evidence)];
};
