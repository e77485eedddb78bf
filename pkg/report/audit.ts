// SPDX-License-Identifier: Apache-2.0
// The audit as text: a row a Service, the sum, its causes and what concerns the whole cluster.
import type {
  AuditReport,
  AuditSum,
  CauseGroup,
  ClusterFinding,
  Part,
  ServiceAudit,
} from '../diagnosis/audit/types.ts';
import type { HintSource } from '../diagnosis/models/hints.ts';
import { countText, overloadText, percentText } from './figures.ts';
import { moneyText } from './money.ts';
import { paintFor, wrapText } from './paint.ts';
import type { Paint } from './paint.ts';
import { clean, renderTable } from './table.ts';

export interface AuditStyle {
  readonly color: boolean;
  /** Evidence and remedy of every Service, and more figures. */
  readonly wide: boolean;
  /** Characters a line, of sentences; rows are as wide as they are. */
  readonly columns: number;
}

/** By what a Service asks. */
export const WANTED_TEXT: Readonly<Record<HintSource, string>> = {
  trafficDistribution: 'field',
  'topology-mode': 'annotation',
  webhook: 'label',
  none: 'no',
};

const part = ({ count, of }: Part): string => (of === 0 ? '-' : `${count}/${of}`);

type Column = readonly [title: string, cell: (service: ServiceAudit) => string];

const moneyColumns = ({ prices }: AuditReport): Column[] => {
  if (prices === undefined) return [];
  const money = (amount: number | undefined): string =>
    amount === undefined ? '-' : moneyText(amount, prices.currency);
  return [
    ['COST/MONTH', ({ monthlyCost }) => money(monthlyCost?.current)],
    ['SAVES/MONTH', ({ monthlyCost }) => money(monthlyCost?.saving.routing)],
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

/** The verdicts in a sentence. */
export const verdictsText = ({ services, verdicts, nodes, unpredicted }: AuditSum): string => {
  const { Effective, Assumed, Unknown, NotWanted, Ineffective } = verdicts;
  const unsure = [
    ...(Assumed === 0 ? [] : [`${Assumed} effective if the router is what it is taken to be`]),
    ...(Unknown === 0 ? [] : [`${Unknown} with an unknown router`]),
  ];
  const counts = [`${Effective} effective`, ...unsure, `${Ineffective} ineffective`, `${NotWanted} not wanted`].join(
    ', ',
  );
  const without = unpredicted === 0 ? '' : `; ${unpredicted} without prediction (no proxy routes them)`;
  return `${countText(services, 'Service')}, ${countText(nodes, 'ready Node')}: ${counts}${without}.`;
};

/** How clients are taken to be spread over the zones. */
export const clientsText = ({ clientsBy }: Pick<AuditSum, 'clientsBy'>): string =>
  clientsBy === 'cpu' ? 'clients where the CPU of the Nodes is' : 'clients alike on every Node';

/** Services of which no saving is predicted, because clients do not pass their proxies. */
const bypassedText = ({ bypassed }: AuditSum): string => {
  const names = Object.entries(bypassed);
  if (names.length === 0) return '';
  const list = names.map(([name, count]) => `${name} ${count}`).join(', ');
  return `Routing by zone saves nothing where clients go around the proxies, and none is predicted there (${list}).`;
};

const savingText = ({ saving }: AuditSum): string => {
  const more =
    saving.endpoints > 0 ? `; endpoints in zones that have none another ${percentText(saving.endpoints)}` : '';
  return `Routing by zone with the endpoints as they are would keep ${percentText(saving.routing)} more${more}.`;
};

/** What crossing costs, and by whose prices. */
export const costText = ({ sum: { monthlyCost }, prices }: AuditReport): string => {
  if (prices === undefined || monthlyCost === undefined) return '';
  const { currency, gigabytesPerDay, source, date } = prices;
  const money = (amount: number): string => moneyText(amount, currency);
  const by = [source, date].filter((text) => text !== '').join(', ');
  const saves = `routing by zone saves ${money(monthlyCost.saving.routing)} of it, endpoints in zones that have none up to ${money(monthlyCost.saving.endpoints)} more`;
  return `At ${gigabytesPerDay.toLocaleString('en-US')} GB a day, divided among Services by their ready endpoints, crossing costs an estimated ${money(monthlyCost.current)} a month; ${saves}${by === '' ? '' : ` (${by})`}.`;
};

const sumText = (report: AuditReport, columns: number, paint: Paint): string => {
  const { sum } = report;
  const shares =
    sum.inZoneShare === null
      ? 'Nothing can be predicted: no proxy routes any of them, or no ready Node is known.'
      : `${percentText(sum.inZoneShare)} of connections stay in their zone, ${percentText(sum.crossZoneShare)} cross (Services weighted by their ready endpoints, ${clientsText(sum)}).`;
  const sentences = [
    shares,
    sum.inZoneShare === null ? '' : savingText(sum),
    bypassedText(sum),
    clean(costText(report)),
  ];
  const lines = sentences.filter((text) => text !== '').map((text) => wrapText(text, columns, ''));
  return `\n${paint.strong(verdictsText(sum))}\n${lines.join('')}`;
};

const causesText = ({ causes }: AuditReport, paint: Paint): string => {
  if (causes.length === 0) return '';
  const row = ({ reason, services, crossZoneShare, saving }: CauseGroup): string[] => [
    reason,
    String(services),
    percentText(crossZoneShare),
    percentText(saving.routing),
    percentText(saving.endpoints),
  ];
  const headers = ['CAUSE', 'SERVICES', 'CROSSES', 'SAVES', 'NEEDS ENDPOINTS'];
  return `\n${paint.strong('First causes, of all connections')}\n${renderTable(headers, causes.map(row))}`;
};

const findingText = ({ reason, certainty, evidence, remedy }: ClusterFinding, columns: number, paint: Paint): string =>
  [
    `  ${paint.strong(reason)}${certainty === 'possible' ? ' (cannot be seen from here)' : ''}\n`,
    wrapText(clean(evidence), columns, '    '),
    wrapText(clean(remedy), columns, '    ').replace(/^ {4}/, '  → '),
  ].join('');

const unseenText = ({ unseen }: AuditReport, columns: number, paint: Paint): string => {
  const groups = [...Map.groupBy(unseen, ({ why }) => why)];
  if (groups.length === 0) return '';
  const text = groups.map(([why, items]) => `${items.map(({ what }) => what).join(', ')} (${why})`).join('; ');
  return `\n${paint.faint(wrapText(`Not seen: ${clean(text)}.`, columns, '').trimEnd())}\n`;
};

/** Services come in the order of the report. */
export const renderAudit = (report: AuditReport, style: AuditStyle): string => {
  const paint = paintFor(style.color);
  const width = Math.max(style.columns, 60);
  const columns = columnsOf(report, style.wide);
  const rows = report.services.map((service) => columns.map(([, cell]) => cell(service)));
  const headers = columns.map(([title]) => title);
  const findings = report.findings.map((finding) => findingText(finding, width, paint)).join('');
  return [
    rows.length === 0 ? '' : renderTable(headers, rows),
    sumText(report, width, paint),
    causesText(report, paint),
    findings === '' ? '' : `\n${paint.strong('Of the whole cluster')}\n${findings}`,
    unseenText(report, width, paint),
  ]
    .join('')
    .replace(/^\n/, '');
};
