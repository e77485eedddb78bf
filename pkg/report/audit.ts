// The audit as text: a row a Service, the sum, its causes and what concerns the whole cluster.
import { AUDIT_GROUPS, type AuditGroup, type Part, type ServiceAudit } from '../diagnosis/audit/service.ts';
import { type AuditSum, type CauseGroup } from '../diagnosis/audit/sum.ts';
import type { AuditReport, ClusterFinding } from '../diagnosis/audit/audit.ts';
import {
  type Paint,
  clean,
  countText,
  evidenceText,
  moneyText,
  overloadText,
  paintFor,
  percentText,
  renderTable,
  unseenText,
  volumeText,
  wrapText,
} from './text.ts';
import { WANTED_TEXT, measuredText } from './measured.ts';

export interface AuditStyle {
  readonly color: boolean;
  /** Evidence and remedy of every Service, and more figures. */
  readonly wide: boolean;
  /** Characters a line, of sentences; rows have 120 where names allow. */
  readonly columns: number;
}

const part = ({ count, of }: Part): string => (of === 0 ? '-' : `${count}/${of}`);

type Column = readonly [title: string, cell: (service: ServiceAudit) => string];

const MEASURED: readonly Column[] = [
  ['GB/DAY', ({ measured }) => (measured === undefined ? '-' : volumeText(measured.gigabytesPerDay))],
  ['MEASURED', ({ measured }) => percentText(measured?.crossZoneShare ?? null)],
];

const moneyColumns = ({ prices }: AuditReport): Column[] => {
  if (prices === undefined) return [];
  const money = (amount: number | undefined): string =>
    amount === undefined ? '-' : moneyText(amount, prices.currency);
  const measured = prices.basis === 'Measured';
  return [
    ...(measured ? MEASURED : []),
    [measured ? 'COST/MONTH' : 'EST. COST/MONTH', ({ monthlyCost }) => money(monthlyCost?.current)],
    [measured ? 'SAVES/MONTH' : 'EST. SAVED/MONTH', ({ monthlyCost }) => money(monthlyCost?.saving?.routing)],
  ];
};

const WIDE: readonly Column[] = [
  ['TYPE', ({ type }) => type],
  ['BY', ({ wanted }) => (wanted.by === '' ? '-' : wanted.by)],
  ['OVERLOAD ROUTED', ({ overloadRoutedByZone }) => overloadText(overloadRoutedByZone)],
  ['NEEDS ENDPOINTS', ({ saving }) => percentText(saving?.endpoints ?? null)],
  ['BYPASSED BY', ({ bypasses }) => (bypasses.length === 0 ? '-' : bypasses.join(','))],
  ['ALSO', ({ alsoFound }) => (alsoFound.length === 0 ? '-' : alsoFound.join(','))],
  ['EVIDENCE', ({ cause }) => cause?.evidence ?? '-'],
  ['REMEDY', ({ cause }) => cause?.remedy ?? '-'],
];

const columnsOf = (report: AuditReport, wide: boolean): readonly Column[] => [
  ['NAMESPACE', ({ namespace }) => namespace],
  ['SERVICE', ({ name }) => name],
  ['WANTED', ({ wanted }) => WANTED_TEXT[wanted.source]],
  ['GIVEN', ({ given }) => part(given)],
  ['USED', ({ used }) => part(used)],
  ['EFFECTIVE', ({ effective }) => part(effective)],
  ['IN ZONE', ({ inZoneShare }) => percentText(inZoneShare)],
  ['CROSSES', ({ crossZoneShare }) => percentText(crossZoneShare)],
  ['OVERLOAD', ({ worstOverload }) => overloadText(worstOverload)],
  ['ENDPOINTS', ({ endpoints }) => String(endpoints)],
  ['ZONES', ({ zones }) => String(zones)],
  ['SAVES', ({ saving }) => percentText(saving?.routing ?? null)],
  ...moneyColumns(report),
  ['CAUSE', ({ cause }) => cause?.reason ?? '-'],
  ...(wide ? WIDE : []),
];

/** Characters of a row at most, as far as names allow: least important columns go first, `-o wide` has them all. */
const MOST_COLUMNS = 120;
const DROPPED_FIRST = ['ZONES', 'OVERLOAD', 'ENDPOINTS', 'USED', 'CROSSES', 'GIVEN', 'WANTED'] as const;

/** Without what does not fit. */
const fitting = (columns: readonly Column[], services: readonly ServiceAudit[]): readonly Column[] => {
  const widthOf = ([title, cell]: Column): number =>
    2 + services.reduce((most, service) => Math.max(most, clean(cell(service)).length), title.length);
  const widths = new Map(columns.map((column) => [column, widthOf(column)]));
  const total = (left: readonly Column[]): number => left.reduce((sum, each) => sum + (widths.get(each) ?? 0), -2);
  return DROPPED_FIRST.reduce<readonly Column[]>(
    (left, dropped) => (total(left) <= MOST_COLUMNS ? left : left.filter(([title]) => title !== dropped)),
    columns,
  );
};

/** The verdicts in a sentence. */
export const verdictsText = ({ services, verdicts, nodes, unpredicted }: AuditSum): string => {
  const { Effective, Assumed, Unknown, NotWanted, Ineffective } = verdicts;
  const unsure = [
    ...(Assumed === 0 ? [] : [`${Assumed} effective if the router is as assumed`]),
    ...(Unknown === 0 ? [] : [`${Unknown} with an unknown router or unknown zones`]),
  ];
  const counts = [`${Effective} effective`, ...unsure, `${Ineffective} ineffective`, `${NotWanted} not wanted`].join(
    ', ',
  );
  const without =
    unpredicted === 0
      ? ''
      : `; ${unpredicted} without prediction (no proxy routes them, or the data plane or zones are not known)`;
  return `${countText(services, 'Service')}, ${countText(nodes, 'ready Node')}: ${counts}${without}.`;
};

/** How clients are taken to be spread over the zones. */
export const clientsText = ({ clientsBy }: Pick<AuditSum, 'clientsBy'>): string =>
  clientsBy === 'cpu' ? 'clients where the CPU of the Nodes is' : 'clients equally many on every Node';

/** Services of which no saving is predicted, because clients do not pass their proxies. */
const bypassedText = ({ bypassed }: AuditSum): string => {
  const names = Object.entries(bypassed);
  if (names.length === 0) return '';
  const list = names.map(([name, count]) => `${name} ${count}`).join(', ');
  return `Where clients bypass the proxies, it is not known what routing by zone would save, and nothing is promised (${list}).`;
};

const savingText = ({ saving, promised, services, unpredicted }: AuditSum): string => {
  if (saving === null) return '';
  const of =
    promised === services - unpredicted
      ? ''
      : ` (of ${countText(promised, 'Service')}; of the others nothing can be promised)`;
  const more =
    saving.endpoints > 0 ? `; endpoints in zones without any would add another ${percentText(saving.endpoints)}` : '';
  return `Routing by zone with the endpoints as they are would keep ${percentText(saving.routing)} more${of}${more}.`;
};

/** What crossing costs at the volume that was assumed, and by whose prices; empty where none was. */
export const costText = ({ sum, prices }: AuditReport): string => {
  const { monthlyCost } = sum;
  if (prices?.basis !== 'Assumed' || monthlyCost === undefined) return '';
  const { currency, gigabytesPerDay, source, date } = prices;
  const money = (amount: number): string => moneyText(amount, currency);
  const by = [source, date].filter((text) => text !== '').join(', ');
  const { saving } = monthlyCost;
  const saves =
    saving === null
      ? 'what routing by zone saves of it is not known'
      : `routing by zone saves ${money(saving.routing)} of it, endpoints in zones without any up to ${money(saving.endpoints)} more`;
  return `At an assumed ${gigabytesPerDay.toLocaleString('en-US')} GB a day, divided among ${countText(sum.services - sum.unpredicted, 'Service')} by their ready endpoints, crossing costs an estimated ${money(monthlyCost.current)} a month; ${saves}${by === '' ? '' : ` (${by})`}.`;
};

const sumText = (report: AuditReport, columns: number, paint: Paint): string => {
  const { sum } = report;
  const shares =
    sum.inZoneShare === null
      ? 'No prediction is possible: no proxy routes any of them, or the data plane, ready Nodes or their zones are not known.'
      : `Of connections through the cluster IPs of ${countText(sum.services - sum.unpredicted, 'Service')} ${percentText(sum.inZoneShare)} stay in their zone, ${percentText(sum.crossZoneShare)} cross (by the routers seen; Services weighted by their ready endpoints, ${clientsText(sum)}).`;
  const sentences = [shares, savingText(sum), bypassedText(sum), clean(costText(report))];
  const lines = sentences.filter((text) => text !== '').map((text) => wrapText(text, columns, ''));
  return `\n${paint.strong(verdictsText(sum))}\n${lines.join('')}`;
};

/** What each group of causes is, as a title. */
export const GROUP_TITLES: Readonly<Record<AuditGroup, string>> = {
  Fails: 'Fails: requested without effect, or connections fail',
  Costs: 'Costs: crosses zones and could stay',
  NotSavable: 'Cannot be saved by zone routing: one endpoint, the API server, no cluster IP',
  NotKnown: 'Not known: the data plane, or where clients are',
  Kept: 'Also, although nothing crosses that could stay',
};

const causesText = ({ causes }: AuditReport, columns: number, paint: Paint): string => {
  const row = ({ reason, services, crossZoneShare, saving }: CauseGroup): string[] => [
    reason,
    String(services),
    percentText(crossZoneShare),
    percentText(saving?.routing ?? null),
    percentText(saving?.endpoints ?? null),
  ];
  const headers = ['FIRST CAUSE', 'SERVICES', 'CROSSES', 'SAVES', 'NEEDS ENDPOINTS'];
  return AUDIT_GROUPS.map((group) => {
    const own = causes.filter((cause) => cause.group === group);
    if (own.length === 0) return '';
    return `\n${paint.strong(wrapText(GROUP_TITLES[group], columns, '').trimEnd())}\n${renderTable(headers, own.map(row))}`;
  }).join('');
};

const findingText = ({ reason, certainty, evidence, remedy }: ClusterFinding, columns: number, paint: Paint): string =>
  [
    `  ${paint.strong(reason)}${certainty === 'possible' ? ' (not visible in objects)' : ''}\n`,
    evidenceText(evidence, remedy, columns),
  ].join('');

/** Services come in the order of the report. */
export const renderAudit = (report: AuditReport, style: AuditStyle): string => {
  const paint = paintFor(style.color);
  const width = Math.max(style.columns, 60);
  const all = columnsOf(report, style.wide);
  const columns = style.wide ? all : fitting(all, report.services);
  const rows = report.services.map((service) => columns.map(([, cell]) => cell(service)));
  const headers = columns.map(([title]) => title);
  const findings = report.findings.map((finding) => findingText(finding, width, paint)).join('');
  return [
    rows.length === 0 ? '' : renderTable(headers, rows),
    sumText(report, width, paint),
    measuredText(report, width, paint),
    causesText(report, width, paint),
    findings === '' ? '' : `\n${paint.strong('Of the whole cluster')}\n${findings}`,
    unseenText(report.unseen, width, paint),
  ]
    .join('')
    .replace(/^\n/, '');
};
