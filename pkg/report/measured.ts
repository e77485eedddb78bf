// Measured traffic as text: what it comes to, whether Services can save it, and where the bytes of one Service go.
import type { ExplainedTraffic } from '../diagnosis/audit/explained-traffic.ts';
import type { AuditReport } from '../diagnosis/audit/types.ts';
import type { MeasuredPart } from '../diagnosis/measured/cost.ts';
import type { HintSource } from '../diagnosis/models/hints.ts';
import type { Measured } from '../traffic/measured.ts';
import { moneyText, percentText, rateText, volumeText } from './figures.ts';
import { wrapText } from './paint.ts';
import type { Paint } from './paint.ts';
import { ageText } from './status-parts.ts';
import { clean, renderTable } from './table.ts';
import { indented } from './text.ts';

/** By what a Service asks. */
export const WANTED_TEXT: Readonly<Record<HintSource, string>> = {
  trafficDistribution: 'field',
  'topology-mode': 'annotation',
  webhook: 'label',
  none: 'no',
};

/** `traffic-meter, averages of 9 d`. */
export const measuredBy = ({ by, seconds }: Pick<Measured, 'by' | 'seconds'>): string =>
  clean(`${by}, averages of ${ageText(Math.max(1, Math.round(seconds)))}`);

/** Rows of the sum, with their names; those of nothing are left out. */
export const measuredRows = ({ measured, prices }: AuditReport): readonly (readonly string[])[] => {
  if (measured === undefined || prices === undefined) return [];
  const row = (name: string, part: MeasuredPart): string[] => [
    name,
    volumeText(part.gigabytesPerDay),
    volumeText(part.crossZoneGigabytesPerDay),
    volumeText(part.externalGigabytesPerDay),
    volumeText(part.unknownGigabytesPerDay),
    moneyText(part.monthlyCost, prices.currency),
  ];
  const others =
    measured.others.gigabytesPerDay > 0 ? [row('other Services, or not known which', measured.others)] : [];
  return [row('through these Services', measured.services), row('past Services', measured.withoutService), ...others];
};

export const MEASURED_HEADERS = ['TRAFFIC', 'GB/DAY', 'CROSSES', 'EXTERNAL', 'ZONE UNKNOWN', 'COST/MONTH'] as const;

const savedText = ({ measured, prices }: AuditReport): string => {
  const entries = Object.entries(measured?.savedBy ?? {});
  if (entries.length === 0 || prices === undefined) return 'Routing by zone saves nothing yet.';
  const money = (amount: number): string => moneyText(amount, prices.currency);
  const all = entries.reduce((sum, [, amount]) => sum + amount, 0);
  const by = entries.map(([source, amount]) => `${WANTED_TEXT[source as HintSource]} ${money(amount)}`).join(', ');
  return `Routing by zone saves ${money(all)} a month already, compared with evenly chosen endpoints (by ${by}).`;
};

/** Beyond it, what was measured is not what is predicted: fewer bytes or other clients do not explain it. */
const FAR_OFF = 0.2;
const MAX_NAMED = 3;

/** Services that should keep their traffic by everything that objects show, and do not. */
const contradictions = ({ services }: AuditReport): string => {
  const found = services.filter(
    ({ crossZoneShare, measured }) =>
      crossZoneShare !== null && (measured?.crossZoneShare ?? 0) > crossZoneShare + FAR_OFF,
  );
  if (found.length === 0) return '';
  const named = found
    .slice(0, MAX_NAMED)
    .map(
      ({ namespace, name, crossZoneShare, measured }) =>
        `${namespace}/${name} (${percentText(crossZoneShare)} predicted, ${percentText(measured?.crossZoneShare ?? null)} measured)`,
    );
  const more = found.length > named.length ? ` and ${found.length - named.length} more` : '';
  return `More traffic crosses than predicted for ${named.join(', ')}${more}: clients are not where the CPU of the Nodes is, keep old connections, bypass the proxies, or a proxy does not follow the hints.`;
};

/** What was measured in sentences: what is saved, what could be, and what no setting of Services touches. */
export const measuredSentences = (report: AuditReport): readonly string[] => {
  const { measured, prices, sum } = report;
  if (measured === undefined || prices === undefined) return [];
  const money = (amount: number): string => moneyText(amount, prices.currency);
  const crossing = [measured.services, measured.withoutService, measured.others];
  const total = crossing.reduce((all, { monthlyCost }) => all + monthlyCost, 0);
  const past = measured.withoutService.monthlyCost;
  const { routing = 0, endpoints = 0 } = sum.monthlyCost?.saving ?? {};
  const by = [prices.source, prices.date].filter((text) => text !== '').join(', ');
  return [
    `Measured by ${measuredBy(measured)}: crossing zones costs ${money(total)} a month${by === '' ? '' : ` (${by})`}.`,
    savedText(report),
    `Routing by zone with the endpoints as they are would save ${money(routing)} more, endpoints in zones without any up to ${money(endpoints)}.`,
    `${money(past)} of the bill (${percentText(total === 0 ? null : past / total)}) comes from flows to no Service: no setting of Services changes it.`,
    contradictions(report),
    ...measured.notes.map((note) => `Note: ${note}.`),
  ]
    .filter((text) => text !== '')
    .map(clean);
};

/** Below the table of Services. */
export const measuredText = (report: AuditReport, columns: number, paint: Paint): string => {
  const rows = measuredRows(report);
  if (rows.length === 0) return '';
  const sentences = measuredSentences(report).map((text) => wrapText(text, columns, ''));
  return `\n${paint.strong('Measured')}\n${sentences.join('')}\n${renderTable(MEASURED_HEADERS, rows)}`;
};

/** Bytes a second by client zone and endpoint zone; every zone in both. */
export const matrixTable = (matrix: Readonly<Record<string, Readonly<Record<string, number>>>>): string => {
  const zones = [...new Set(Object.entries(matrix).flatMap(([from, row]) => [from, ...Object.keys(row)]))].sort();
  const cell = (value: number | undefined): string => (value === undefined ? '-' : rateText(value));
  return renderTable(
    ['FROM \\ TO', ...zones],
    Object.keys(matrix)
      .sort()
      .map((from) => [from, ...zones.map((to) => cell(matrix[from]?.[to]))]),
  );
};

/** Of one Service, in its explanation. */
export const explainedTraffic = (
  { by, seconds, notes, gigabytesPerDay, crossZoneShare, connections, matrix, monthlyCost, prices }: ExplainedTraffic,
  { indent, columns, paint }: { readonly indent: string; readonly columns: number; readonly paint: Paint },
): string => {
  const money = (amount: number): string => moneyText(amount, prices.currency);
  const counted = connections === null ? '' : `${connections.toPrecision(3)} connections a second, `;
  const head = `${counted}${volumeText(gigabytesPerDay)} GB a day; ${percentText(crossZoneShare)} of the bytes cross zones (${measuredBy({ by, seconds })})`;
  const cost = `costs ${money(monthlyCost.current)} a month; routing by zone saves ${money(monthlyCost.saved ?? 0)} already and would save ${money(monthlyCost.saving.routing)} more (${prices.source})`;
  const table = gigabytesPerDay === 0 ? '' : indented(matrixTable(matrix), indent);
  const lines = [head, cost, ...notes.map((note) => `note: ${note}`)].map((text) =>
    wrapText(clean(text), columns, indent),
  );
  return `${lines.join('').replace(indent, `${paint.strong('MEASURED')}   `)}${table}`;
};
