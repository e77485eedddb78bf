// Measured traffic as text: zone by zone and the Services that carry most of it, what it comes to, and whether Services can save it.
import { byText, firstFew, sumBy } from '../apis/values.ts';
import type { AuditReport, ExplainedTraffic } from '../diagnosis/audit/audit.ts';
import { type MeasuredPart, type MeasuredPast, measuredService } from '../diagnosis/measured.ts';
import { serviceKeyOfRef } from '../diagnosis/models/lookup.ts';
import type { HintSource } from '../diagnosis/models/hints.ts';
import { bytesOf, connectionsOf, crosses, passesNoService } from '../traffic/measured.ts';
import type { Measured, MeasuredFlow } from '../traffic/measured.ts';
import { moneyText, percentText, rateText, spanText, threeDigits } from './figures.ts';
import { clean, indented, largestOf, matrixTable, renderTable, screenFor, tableOf, zoneText } from './text.ts';
import type { Column, Screen, Style } from './text.ts';

/** By what a Service asks. */
export const WANTED_TEXT: Readonly<Record<HintSource, string>> = {
  trafficDistribution: 'field',
  'topology-mode': 'annotation',
  webhook: 'label',
  none: 'no',
};

/** `traffic-meter, averages of 9 d`. */
const measuredBy = ({ by, seconds }: Pick<Measured, 'by' | 'seconds'>): string =>
  clean(`${by}, averages of ${spanText(seconds)}`);

/** Rows of the sum, with their names; those of nothing are left out. */
export const measuredRows = ({ measured, prices }: AuditReport): readonly (readonly string[])[] => {
  if (measured === undefined || prices === undefined) return [];
  const row = (name: string, part: MeasuredPart): string[] => [
    name,
    threeDigits(part.gigabytesPerDay),
    threeDigits(part.crossZoneGigabytesPerDay),
    threeDigits(part.externalGigabytesPerDay),
    threeDigits(part.unknownGigabytesPerDay),
    moneyText(part.monthlyCost, prices.currency),
  ];
  const { services, withoutService, others } = measured;
  const unknown = others.gigabytesPerDay > 0 ? [row('other Services, or not known which', others)] : [];
  return [row('through these Services', services), row('past Services', withoutService), ...unknown];
};

export const MEASURED_HEADERS = ['TRAFFIC', 'GB/DAY', 'CROSSES', 'EXTERNAL', 'ZONE UNKNOWN', 'COST/MONTH'] as const;

const savedText = (savedBy: Readonly<Record<string, number>>, money: (amount: number) => string): string => {
  const entries = Object.entries(savedBy);
  if (entries.length === 0) return 'Routing by zone saves nothing yet.';
  const all = sumBy(entries, ([, amount]) => amount);
  const by = entries.map(([source, amount]) => `${WANTED_TEXT[source as HintSource]} ${money(amount)}`).join(', ');
  return `Routing by zone saves ${money(all)} a month already, compared with evenly chosen endpoints (by ${by}).`;
};

/** Beyond it, what was measured is not what is predicted: fewer bytes or other clients do not explain it. */
const FAR_OFF = 0.2;
const MAX_NAMED = 3;

const isFarOff = (predicted: number | null, crossing: number | null = null): boolean =>
  predicted !== null && (crossing ?? 0) > predicted + FAR_OFF;

const WHY_MORE = 'clients are not where the CPU is, or keep old connections, or a proxy does not follow the hints';

/** Services that should keep their traffic by everything that objects show, and do not. */
const contradictions = ({ services }: AuditReport): string => {
  const found = services.filter(({ crossZoneShare, measured }) => isFarOff(crossZoneShare, measured?.crossZoneShare));
  if (found.length === 0) return '';
  const named = found.map(
    ({ namespace, name, crossZoneShare, measured }) =>
      `${namespace}/${name} (${percentText(crossZoneShare)} predicted, ${percentText(measured?.crossZoneShare ?? null)} measured)`,
  );
  return `More traffic crosses than predicted for ${firstFew(named, MAX_NAMED)}: ${WHY_MORE}.`;
};

export const metersText = ({ seconds, seenOn }: Pick<MeasuredPast, 'seconds' | 'seenOn'>): string =>
  `${spanText(seconds)}, meters on ${seenOn.count} of ${seenOn.of} Nodes`;

/** Services whose Pods were measured to be reached past them, the most first; and on how many Nodes that would be seen. */
const pastSentence = ({ services }: AuditReport): string => {
  const seeing = services.flatMap(({ scope: { past }, ...ref }) => (past === undefined ? [] : [{ ...ref, past }]));
  const [first] = seeing;
  if (first === undefined) return '';
  const where = `(${metersText(first.past)})`;
  const found = seeing.filter(({ past }) => past.connections > 0);
  if (found.length === 0) return `No connection to their Pods was measured past these Services ${where}.`;
  const sorted = found.sort((a, b) => b.past.connections - a.past.connections);
  const named = sorted.map((own) => `${serviceKeyOfRef(own)} (${percentText(own.past.share)} of its connections)`);
  return `Connections were measured past ${firstFew(named, MAX_NAMED)}, to the addresses of their Pods ${where}.`;
};

/** What was measured in sentences: what is saved, what could be, and what no setting of Services touches. */
export const measuredSentences = (report: AuditReport): readonly string[] => {
  const { measured, prices, sum } = report;
  if (measured === undefined || prices === undefined) return [];
  const money = (amount: number): string => moneyText(amount, prices.currency);
  const total = sumBy([measured.services, measured.withoutService, measured.others], (part) => part.monthlyCost);
  const past = measured.withoutService.monthlyCost;
  const saving = sum.monthlyCost?.saving ?? null;
  const by = [prices.source, prices.date].filter((text) => text !== '').join(', ');
  return [
    `Measured by ${measuredBy(measured)}: crossing zones costs ${money(total)} a month${by === '' ? '' : ` (${by})`}.`,
    savedText(measured.savedBy, money),
    saving === null
      ? ''
      : `Routing by zone with the endpoints as they are would save ${money(saving.routing)} more, endpoints in zones without any up to ${money(saving.endpoints)}.`,
    `${money(past)} of the bill (${percentText(total === 0 ? null : past / total)}) comes from flows to no Service: no setting of Services changes it.`,
    pastSentence(report),
    contradictions(report),
    ...measured.notes.map((note) => `Note: ${note}.`),
  ].flatMap((text) => (text === '' ? [] : clean(text)));
};

/** Below the table of Services. */
export const measuredText = (report: AuditReport, { strong, wrap }: Screen): string => {
  const rows = measuredRows(report);
  if (rows.length === 0) return '';
  const sentences = measuredSentences(report).map((text) => wrap(text));
  return `\n${strong('Measured')}\n${sentences.join('')}\n${renderTable(MEASURED_HEADERS, rows)}`;
};

/** For the first line of an explanation; empty where what was measured agrees with the objects. */
export const measuredAlso = ({ predicted, crossZoneShare }: ExplainedTraffic): string =>
  isFarOff(predicted, crossZoneShare)
    ? `; measured: ${percentText(crossZoneShare)} of its bytes cross zones (${WHY_MORE})`
    : '';

/** Of one Service, in its explanation. */
export const explainedTraffic = (traffic: ExplainedTraffic, indent: string, { under, wrap }: Screen): string => {
  const { notes, gigabytesPerDay, crossZoneShare, connections, monthlyCost, prices } = traffic;
  const money = (amount: number): string => moneyText(amount, prices.currency);
  const counted = connections === null ? '' : `${connections.toPrecision(3)} connections a second, `;
  const head = `${counted}${threeDigits(gigabytesPerDay)} GB a day; ${percentText(crossZoneShare)} of the bytes cross zones (${measuredBy(traffic)})`;
  const cost = `costs ${money(monthlyCost.current)} a month; routing by zone saves ${money(monthlyCost.saved ?? 0)} already and would save ${monthlyCost.saving === null ? 'what is not known' : `${money(monthlyCost.saving.routing)} more`} (${prices.source})`;
  const table = gigabytesPerDay === 0 ? '' : indented(matrixTable(traffic.matrix, rateText, '-'), indent);
  const lines = [head, cost, ...notes.map((note) => `note: ${note}`)].map((text) => wrap(text, indent));
  return `${under('MEASURED', indent, lines.join(''))}${table}`;
};

const sum = (flows: readonly MeasuredFlow[]) => ({ bytes: sumBy(flows, bytesOf), connections: connectionsOf(flows) });

const countRate = (connections: number | null): string =>
  connections === null ? '-' : connections.toLocaleString('en-US', { maximumSignificantDigits: 3 });

/** By client zone, then endpoint zone. */
const matrix = (title: string, flows: readonly MeasuredFlow[], cell: (pair: ReturnType<typeof sum>) => string) => {
  const columns = [...new Set(flows.map(({ destination }) => destination))].sort();
  const rows = [...Map.groupBy(flows, ({ source }) => source)]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([from, own]) => {
      const pairs = Map.groupBy(own, ({ destination }) => destination);
      return [zoneText(from), ...columns.map((to) => (pairs.has(to) ? cell(sum(pairs.get(to) ?? [])) : '-'))];
    });
  return renderTable([title, ...columns.map((zone) => `to ${zoneText(zone)}`)], rows);
};

/** What flows without a Service are called. */
const PAST_SERVICES = '(past Services)';

/** Those with most bytes first, then with most connections. */
const servicesOf = (flows: readonly MeasuredFlow[]) =>
  [...Map.groupBy(flows, ({ service }) => service)]
    .map(([service, own]) => {
      const [first] = own;
      return {
        service: first !== undefined && passesNoService(first) ? PAST_SERVICES : service,
        ...sum(own),
        crossZoneShare: measuredService(own).crossZoneShare,
      };
    })
    .sort((a, b) => b.bytes - a.bytes || (b.connections ?? 0) - (a.connections ?? 0) || byText(a.service, b.service));

const SERVICES: readonly Column<ReturnType<typeof servicesOf>[number]>[] = [
  ['SERVICE', ({ service }) => service],
  ['CONNECTIONS/S', ({ connections }) => countRate(connections)],
  ['BYTES', ({ bytes }) => rateText(bytes)],
  ['CROSSES', ({ crossZoneShare }) => percentText(crossZoneShare)],
];

/** Rows of a screen, unless all Services are asked for. */
const SHOWN = 15;

/** `of`: whose traffic it is, e.g. `Service shop/web`. */
export const renderTraffic = (measured: Measured, of: string, style: Style): string => {
  const { flows, notes } = measured;
  const { strong, faint, wide, wrap } = screenFor(style);
  const head = `${strong(clean(`Traffic of ${of}`))} (${measuredBy(measured)})\n`;
  const said = notes.map((note) => wrap(`Note: ${note}.`)).join('');
  if (flows.length === 0) return `${head}Nothing was measured.\n${said}`;
  const services = servicesOf(flows);
  const shown = wide ? services : services.slice(0, SHOWN);
  const more =
    services.length > shown.length ? faint(`${services.length - shown.length} more; -o wide shows all\n`) : '';
  const counted = flows.some(({ connections }) => connections !== null);
  return [
    head,
    '\n',
    matrix('BYTES', flows, ({ bytes }) => rateText(bytes)),
    counted ? `\n${matrix('CONNECTIONS/S', flows, ({ connections }) => countRate(connections))}` : '',
    services.length > 1 ? `\n${tableOf(SERVICES, shown)}${more}` : '',
    said === '' ? '' : `\n${said}`,
  ].join('');
};

/** One line for a log: what went, and what of it crossed. */
export const trafficLine = ({ flows }: Measured, now: number): string => {
  const [all, crossing] = [sum(flows), sum(flows.filter(crosses))];
  const largest = largestOf(flows.filter(crosses), bytesOf);
  const worst = flows.find((flow) => crosses(flow) && bytesOf(flow) === largest);
  const by = worst && (passesNoService(worst) ? PAST_SERVICES : worst.service);
  const named = worst ? `, most ${worst.source} → ${worst.destination} ${by}` : '';
  return (
    clean(
      `${new Date(now).toISOString()} ${countRate(all.connections)} connections/s, ${rateText(all.bytes)}, of these ${rateText(crossing.bytes)} between zones${named}`,
    ) + '\n'
  );
};
