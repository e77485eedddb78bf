// The closed loop of a Service on one screen: what it aims at, what each zone asks for and gets, and what changed last.
import type { LoopReport } from '../diagnosis/explain/types.ts';
import { wrapText } from './paint.ts';
import type { Paint } from './paint.ts';
import { clean, renderTable } from './table.ts';
import { indented } from './text.ts';

const sharesOf = ({ inZonePercent, boundPercent, maxUtilizationPercent }: LoopReport): string[] => [
  ...(inZonePercent === undefined ? [] : [`in zone ${inZonePercent} % of the demand`]),
  ...(boundPercent === undefined ? [] : [`at most ${boundPercent} % could be`]),
  ...(maxUtilizationPercent === undefined ? [] : [`busiest endpoint ${maxUtilizationPercent} %`]),
];

const zonesTable = ({ zones }: LoopReport): string =>
  zones.length === 0
    ? ''
    : renderTable(
        ['ZONE', 'DEMAND', 'ENDPOINTS', 'UTILISATION', 'SPILL'],
        zones.map(({ zone, demand, endpoints, utilizationPercent, spillPercent }) => [
          zone,
          demand,
          String(endpoints),
          `${utilizationPercent} %`,
          `${spillPercent} %`,
        ]),
      );

/** `indent`: of every line but the first, which begins with the title. */
export const loopText = (loop: LoopReport, columns: number, indent: string, paint: Paint): string => {
  const { mode, targetPercent, conditions, lastChange, inForce } = loop;
  const mark = inForce ? paint.good('✓') : paint.bad('✗');
  const head = [`${mode}, target ${targetPercent} %`, ...sharesOf(loop)].join('; ');
  const states = conditions.map(({ type, status, reason }) => `${type}=${status} (${reason})`).join(', ');
  const lines = [
    ...(states === '' ? [] : [states]),
    ...(lastChange === undefined
      ? []
      : [`Last change ${lastChange.time}, ${lastChange.reason}: ${lastChange.message}`]),
  ];
  return [
    `${paint.strong('LOOP')}       ${mark} ${head}\n`,
    indented(zonesTable(loop), indent),
    ...lines.map((line) => wrapText(clean(line), columns, indent)),
  ].join('');
};
