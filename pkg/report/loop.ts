// The rows of a Service's closed loop: its plan, zones and conditions.
import type { LoopReport } from '../diagnosis/explain/facts.ts';
import { type Column, type Screen, indented, tableOf } from './text.ts';

const sharesOf = ({ inZonePercent, boundPercent, maxUtilizationPercent }: LoopReport): string[] => [
  ...(inZonePercent === undefined ? [] : [`in zone ${inZonePercent} % of the demand`]),
  ...(boundPercent === undefined ? [] : [`at most ${boundPercent} % could be`]),
  ...(maxUtilizationPercent === undefined ? [] : [`busiest endpoint ${maxUtilizationPercent} %`]),
];

const LOOP_ZONES: readonly Column<LoopReport['zones'][number]>[] = [
  ['ZONE', ({ zone }) => zone],
  ['DEMAND', ({ demand }) => demand],
  ['ENDPOINTS', ({ endpoints }) => String(endpoints)],
  ['UTILISATION', ({ utilizationPercent }) => `${utilizationPercent} %`],
  ['SPILL', ({ spillPercent }) => `${spillPercent} %`],
];

export const loopText = (loop: LoopReport, indent: string, { under, mark, wrap }: Screen): string => {
  const { mode, targetPercent, zones, conditions, lastChange, inForce } = loop;
  const head = [`${mode}, target ${targetPercent} %`, ...sharesOf(loop)].join('; ');
  const states = conditions.map(({ type, status, reason }) => `${type}=${status} (${reason})`).join(', ');
  const change = lastChange ? `Last change ${lastChange.time}, ${lastChange.reason}: ${lastChange.message}` : '';
  return [
    under('LOOP', indent, `${indent}${mark(inForce)} ${head}\n`),
    zones.length === 0 ? '' : indented(tableOf(LOOP_ZONES, zones), indent),
    ...[states, change].filter((line) => line !== '').map((line) => wrap(line, indent)),
  ].join('');
};
