// The audit as text: a row a Service, the sum, its causes and what concerns the whole cluster.
import { AUDIT_GROUPS, isEffectiveInPart, isMeasuredPast } from '../diagnosis/audit/service.ts';
import type { AuditGroup, ServiceAudit } from '../diagnosis/audit/service.ts';
import { type AuditSum, type CauseGroup } from '../diagnosis/audit/sum.ts';
import type { AuditReport, ClusterFinding } from '../diagnosis/audit/audit.ts';
import { sumBy } from '../apis/values.ts';
import { countText, moneyText, overloadText, percentText, threeDigits } from './figures.ts';
import { type Column, type Screen, type Style, clean, screenFor, tableOf } from './text.ts';
import { WANTED_TEXT, measuredText } from './measured.ts';

const part = ({ count, of }: ServiceAudit['used']): string => (of === 0 ? '-' : `${count}/${of}`);

type ServiceColumn = Column<ServiceAudit>;

const MEASURED: readonly ServiceColumn[] = [
  ['GB/DAY', ({ measured }) => (measured === undefined ? '-' : threeDigits(measured.gigabytesPerDay))],
  ['MEASURED', ({ measured }) => percentText(measured?.crossZoneShare ?? null)],
];

const moneyColumns = ({ prices }: AuditReport): ServiceColumn[] => {
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

const WIDE: readonly ServiceColumn[] = [
  ['TYPE', ({ type }) => type],
  ['BY', ({ wanted }) => (wanted.by === '' ? '-' : wanted.by)],
  ['OVERLOAD ROUTED', ({ overloadRoutedByZone }) => overloadText(overloadRoutedByZone)],
  ['NEEDS ENDPOINTS', ({ saving }) => percentText(saving?.endpoints ?? null)],
  ['BYPASSED BY', (own) => [...own.bypasses, ...(isMeasuredPast(own) ? ['measured'] : [])].join(',') || '-'],
  ['ALSO', ({ alsoFound }) => (alsoFound.length === 0 ? '-' : alsoFound.join(','))],
  ['EVIDENCE', ({ cause }) => cause?.evidence ?? '-'],
  ['REMEDY', ({ cause }) => cause?.remedy ?? '-'],
];

const columnsOf = (report: AuditReport, wide: boolean): readonly ServiceColumn[] => [
  ['NAMESPACE', ({ namespace }) => namespace],
  ['SERVICE', ({ name }) => name],
  ['WANTED', ({ wanted }) => WANTED_TEXT[wanted.source]],
  ['GIVEN', ({ given }) => part(given)],
  ['USED', ({ used }) => part(used)],
  ['EFFECTIVE', (service) => `${part(service.effective)}${isEffectiveInPart(service) ? '*' : ''}`],
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
const fitting = (columns: readonly ServiceColumn[], services: readonly ServiceAudit[]): readonly ServiceColumn[] => {
  const widthOf = ([title, cell]: ServiceColumn): number =>
    2 + services.reduce((most, service) => Math.max(most, clean(cell(service)).length), title.length);
  const widths = new Map(columns.map((column) => [column, widthOf(column)]));
  const total = (left: readonly ServiceColumn[]): number => sumBy(left, (each) => widths.get(each) ?? 0) - 2;
  return DROPPED_FIRST.reduce<readonly ServiceColumn[]>(
    (left, dropped) => (total(left) <= MOST_COLUMNS ? left : left.filter(([title]) => title !== dropped)),
    columns,
  );
};

export const verdictsText = ({ services, verdicts, nodes, unpredicted, effectiveInPart }: AuditSum): string => {
  const { Effective, Assumed, Unknown, NotWanted, Ineffective } = verdicts;
  const unsure = [
    ...(Assumed === 0 ? [] : [`${Assumed} effective if the router is as assumed`]),
    ...(Unknown === 0 ? [] : [`${Unknown} not known (router, zones, or endpoints of other clusters)`]),
  ];
  const inPart = effectiveInPart === 0 ? '' : ` (${effectiveInPart} of them only through the cluster IP)`;
  const rest = [...unsure, `${Ineffective} ineffective`, `${NotWanted} not wanted`].join(', ');
  const without =
    unpredicted === 0
      ? ''
      : `; ${unpredicted} without prediction (no proxy routes them, no client seen takes the cluster IP, or the data plane or zones are not known)`;
  return `${countText(services, 'Service')}, ${countText(nodes, 'ready Node')}: ${Effective} effective${inPart}, ${rest}${without}.`;
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

/** Of the marks in the table. */
const inPartText = ({ effectiveInPart }: AuditSum): string =>
  effectiveInPart === 0 ? '' : '* Through the cluster IP: clients seen or measured go around it or come from outside.';

const savingText = ({ saving, promised, promisedInPart, services, unpredicted }: AuditSum): string => {
  if (saving === null) return '';
  const of =
    promised === services - unpredicted
      ? ''
      : ` (of ${countText(promised, 'Service')}; of the others nothing can be promised)`;
  const more =
    saving.endpoints > 0 ? `; endpoints in zones without any would add another ${percentText(saving.endpoints)}` : '';
  const inPart =
    promisedInPart === 0
      ? ''
      : ` Of ${countText(promisedInPart, 'Service')} that counts only the share of connections that meters saw go through the cluster IP.`;
  return `Routing by zone with the endpoints as they are would keep ${percentText(saving.routing)} more${of}${more}.${inPart}`;
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

/** Nothing shows where Nodes and endpoints without zone are. */
const unplacedText = ({ inZoneShare, crossZoneShare }: AuditSum): string => {
  const unplaced = 1 - (inZoneShare ?? 0) - (crossZoneShare ?? 0);
  return unplaced < 0.0005 ? '' : `, and ${percentText(unplaced)} go from or to what has no zone and may do either`;
};

const sumText = (report: AuditReport, { wrap, strong }: Screen): string => {
  const { sum } = report;
  const shares =
    sum.inZoneShare === null
      ? 'No prediction is possible: no proxy routes any of them, or the data plane, ready Nodes, their zones or all endpoints are not known.'
      : `Of connections through the cluster IPs of ${countText(sum.services - sum.unpredicted, 'Service')} ${percentText(sum.inZoneShare)} stay in their zone, ${percentText(sum.crossZoneShare)} cross${unplacedText(sum)} (by the routers seen; Services weighted by their ready endpoints, ${clientsText(sum)}).`;
  const sentences = [inPartText(sum), shares, savingText(sum), bypassedText(sum), costText(report)];
  const lines = sentences.filter((text) => text !== '').map((text) => wrap(text));
  return `\n${strong(verdictsText(sum))}\n${lines.join('')}`;
};

/** What each group of causes is, as a title. */
export const GROUP_TITLES: Readonly<Record<AuditGroup, string>> = {
  Fails: 'Fails: requested without effect, or connections fail',
  Costs: 'Costs: crosses zones and could stay',
  NotSavable: 'Cannot be saved by zone routing: one endpoint, API server, no cluster IP or past it, nothing to set',
  NotKnown: 'Not known: the data plane, or where clients are',
  Kept: 'Also, although nothing crosses that could stay',
};

const CAUSES: readonly Column<CauseGroup>[] = [
  ['FIRST CAUSE', ({ reason }) => reason],
  ['SERVICES', ({ services }) => String(services)],
  ['CROSSES', ({ crossZoneShare }) => percentText(crossZoneShare)],
  ['SAVES', ({ saving }) => percentText(saving?.routing ?? null)],
  ['NEEDS ENDPOINTS', ({ saving }) => percentText(saving?.endpoints ?? null)],
];

const causesText = ({ causes }: AuditReport, { wrap, strong }: Screen): string =>
  AUDIT_GROUPS.map((group) => {
    const own = causes.filter((cause) => cause.group === group);
    return own.length === 0 ? '' : `\n${strong(wrap(GROUP_TITLES[group]).trimEnd())}\n${tableOf(CAUSES, own)}`;
  }).join('');

const findingText = ({ reason, certainty, evidence, remedy }: ClusterFinding, screen: Screen): string =>
  `  ${screen.strong(reason)}${certainty === 'possible' ? ' (not visible in objects)' : ''}\n${screen.evidence(evidence, remedy)}`;

export const renderAudit = (report: AuditReport, style: Style): string => {
  const screen = screenFor(style);
  const { services, unseen } = report;
  const all = columnsOf(report, screen.wide);
  const findings = report.findings.map((finding) => findingText(finding, screen)).join('');
  return [
    services.length === 0 ? '' : tableOf(screen.wide ? all : fitting(all, services), services),
    sumText(report, screen),
    measuredText(report, screen),
    causesText(report, screen),
    findings === '' ? '' : `\n${screen.strong('Of the whole cluster')}\n${findings}`,
    screen.unseen(unseen),
  ]
    .join('')
    .replace(/^\n/, '');
};
