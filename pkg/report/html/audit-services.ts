// The parts of the page of an audit: what it comes to, where traffic goes, what to fix first, and the table of Services.
import { AUDIT_GROUPS, type ServiceAudit, isEffectiveInPart } from '../../diagnosis/audit/service.ts';
import { type CauseGroup } from '../../diagnosis/audit/sum.ts';
import type { AuditReport, ClusterFinding } from '../../diagnosis/audit/audit.ts';
import { GROUP_TITLES } from '../audit.ts';
import { moneyText, overloadText, percentText, threeDigits } from '../figures.ts';
import { MEASURED_HEADERS, WANTED_TEXT, measuredRows, measuredSentences } from '../measured.ts';
import { type Content, type Markup, NOTHING, card, markup, sentence } from './document.ts';

/** A column with a value can be sorted by it; null is what is not known: a dash, and always last. */
type Column<Row> = readonly [
  title: string,
  kind: 'number' | 'text' | 'service' | 'why',
  content: (row: Row) => Content,
  value?: (row: Row) => string | number | null,
];

// Worst first is no order of one column: what fails comes before what costs.
const header = <Row>([title, kind, , value]: Column<Row>): Markup =>
  value === undefined
    ? markup`<th role="columnheader" scope="col" class="${kind}">${title}</th>`
    : markup`<th role="columnheader" scope="col" class="${kind}" data-sort="${kind === 'number' ? kind : 'text'}" aria-sort="none"><button type="button">${title}</button></th>`;

// Without white space around: there are thousands of rows.
const rowOf = <Row>(columns: readonly Column<Row>[], row: Row, attributes: Markup = NOTHING): Markup => {
  const cells = columns.map(([title, kind, content, valueOf]) => {
    const value = valueOf?.(row);
    const sorted = value === undefined ? NOTHING : markup` data-value="${value ?? ''}"`;
    return markup`<td role="cell" class="${kind}" data-label="${title}"${sorted}>${value === null ? '–' : content(row)}</td>`;
  });
  return markup`<tr role="row"${attributes}>${cells}</tr>\n`;
};

/** Rows become cards where it is narrow. */
const table = <Row>(attributes: Markup, columns: readonly Column<Row>[], rows: readonly Markup[]): Markup =>
  markup`<table role="table" ${attributes}>
    <thead role="rowgroup"><tr role="row">${columns.map(header)}</tr></thead>
    <tbody role="rowgroup">${rows}</tbody>
  </table>`;

const VERDICTS = ['Effective', 'Assumed', 'Unknown', 'Ineffective', 'NotWanted'];
const verdictText = (verdict: string): string => (verdict === 'NotWanted' ? 'not wanted' : verdict.toLowerCase());

const serviceContent = ({ namespace, name, verdict }: ServiceAudit): Markup =>
  markup`<strong>${name}</strong><small>${namespace}</small><span class="badge ${verdict}">${verdictText(verdict)}</span>`;

const wantedContent = ({ wanted }: ServiceAudit): string => WANTED_TEXT[wanted.source];

const part = (
  title: string,
  partOf: (service: ServiceAudit) => ServiceAudit['used'],
  remark: (service: ServiceAudit) => Content = () => NOTHING,
): Column<ServiceAudit> => [
  title,
  'number',
  (service) => markup`${partOf(service).count}<span class="muted">/${partOf(service).of}</span>${remark(service)}`,
  (service) => (partOf(service).of === 0 ? null : partOf(service).count / partOf(service).of),
];

const share = (title: string, shareOf: (service: ServiceAudit) => number | null): Column<ServiceAudit> => [
  title,
  'number',
  (service) => percentText(shareOf(service)),
  shareOf,
];

const overloadContent = ({ worstOverload, overloadRoutedByZone, saving }: ServiceAudit): Markup => {
  const [now, routed] = [overloadText(worstOverload), overloadText(overloadRoutedByZone)];
  const changes = (saving?.routing ?? 0) > 0 && now !== routed;
  return markup`${now}${changes ? markup`<small>${routed} if routed by zone</small>` : NOTHING}`;
};

const savesContent = ({ saving }: ServiceAudit): Markup => {
  const { routing = null, endpoints = 0 } = saving ?? {};
  const more = endpoints > 0 ? markup`<small>${percentText(endpoints)} with more endpoints</small>` : NOTHING;
  return markup`${percentText(routing)}${more}`;
};

const causeContent = ({ cause, alsoFound }: ServiceAudit): Markup => {
  const also = alsoFound.length === 0 ? NOTHING : markup`<small>also: ${alsoFound.join(', ')}</small>`;
  return markup`<code>${cause?.reason ?? ''}</code><p>${cause?.evidence ?? ''}</p><p class="remedy">${sentence(cause?.remedy ?? '')}</p>${also}`;
};

/** A column of money; none where nothing has a price. */
const ifPriced = <Row>(prices: AuditReport['prices'], column: (currency: string) => Column<Row>): Column<Row>[] =>
  prices === undefined ? [] : [column(prices.currency)];

const costContent = ({ monthlyCost, measured: own }: ServiceAudit, currency: string): Markup => {
  const volume =
    own === undefined
      ? NOTHING
      : markup`<small>${threeDigits(own.gigabytesPerDay)} GB a day, ${percentText(own.crossZoneShare)} crosses</small>`;
  return markup`${moneyText(monthlyCost?.current ?? 0, currency)}${volume}`;
};

const columnsOf = ({ prices }: AuditReport): readonly Column<ServiceAudit>[] => [
  ['Service', 'service', serviceContent, ({ name, namespace }) => `${name} ${namespace}`],
  ['Wanted', 'text', wantedContent, wantedContent],
  part('Given', ({ given }) => given),
  part('Used', ({ used }) => used),
  part(
    'Effective',
    ({ effective }) => effective,
    (service) => (isEffectiveInPart(service) ? markup`<small>through the cluster IP</small>` : NOTHING),
  ),
  [
    'Endpoints',
    'number',
    ({ endpoints, zones }) => markup`${endpoints}<small>in ${zones} ${zones === 1 ? 'zone' : 'zones'}</small>`,
    ({ endpoints }) => endpoints,
  ],
  share('Crosses', ({ crossZoneShare }) => crossZoneShare),
  share('Of all', ({ crossZoneShare, weight }) => (crossZoneShare === null ? null : crossZoneShare * weight)),
  ...ifPriced(prices, (currency): Column<ServiceAudit> => [
    'Cost a month (estimate)',
    'number',
    (service) => costContent(service, currency),
    ({ monthlyCost }) => monthlyCost?.current ?? null,
  ]),
  ['Overload', 'number', overloadContent, ({ worstOverload }) => worstOverload],
  ['Saves', 'number', savesContent, ({ saving }) => saving?.routing ?? null],
  ['Cause and remedy', 'why', causeContent, ({ cause }) => cause?.reason ?? null],
];

const option = (value: string, text: string): Markup => markup`<option value="${value}">${text}</option>`;

const toolbar = ({ causes }: AuditReport): Markup =>
  markup`<div class="toolbar" data-needs-script hidden role="search" aria-label="Filter Services">
    <label for="filter"
      >Name, namespace, cause<input id="filter" type="search" autocomplete="off" spellcheck="false"
    /></label>
    <label for="verdict"
      >Verdict<select id="verdict">
        ${option('', 'all')}${VERDICTS.map((verdict) => option(verdict, verdictText(verdict)))}
      </select></label
    >
    <label for="cause"
      >First cause<select id="cause">
        ${option('', 'all')}${causes.map(({ reason }) => option(reason, reason))}
      </select></label
    >
    <button type="button" class="plain" id="clear">Clear</button>
    <output id="shown" aria-live="polite"></output>
  </div>`;

export const servicesTable = (report: AuditReport): Markup => {
  const columns = columnsOf(report);
  return markup`<h2 id="services-title">Services, worst first</h2>
    <p class="muted">
      What fails, then what costs, then what routing by zone cannot save. Wanted by field, annotation or label; given: ready endpoints with a hint; used: Nodes whose proxy keeps to them;
      effective: zones that keep their traffic. <em>Of all</em> is what crosses here of all connections.
    </p>
    ${toolbar(report)}
    ${table(
      markup`id="services" class="cards-when-narrow" aria-labelledby="services-title"`,
      columns,
      report.services.map((service) =>
        rowOf(columns, service, markup` data-verdict="${service.verdict}" data-cause="${service.cause?.reason ?? ''}"`),
      ),
    )}`;
};

const moneyCards = ({ sum: { monthlyCost }, prices }: AuditReport): Markup[] => {
  if (monthlyCost === undefined || prices === undefined) return [];
  const { current, saving } = monthlyCost;
  const money = (amount: number): string => moneyText(amount, prices.currency);
  const what =
    prices.basis === 'Measured'
      ? 'the cost of crossing zones for these Services, by measured bytes'
      : 'the estimated cost of crossing zones at the assumed volume';
  return [
    card(money(current), `a month is ${what}`),
    card(saving === null ? '–' : money(saving.routing), 'a month is the estimated saving with routing by zone'),
  ];
};

/** The few figures to remember. */
export const cards = (report: AuditReport): Markup => {
  const { sum } = report;
  const { verdicts, services, saving } = sum;
  return markup`<ul class="cards">
    ${card(markup`${verdicts.Effective}<span class="muted"> of ${services}</span>`, `Services keep their traffic in every zone; ${verdicts.Ineffective} request it without effect`)}
    ${card(percentText(sum.crossZoneShare), `of connections through the cluster IPs of ${services - sum.unpredicted} Services cross zones`)}
    ${card(percentText(saving?.routing ?? null), 'more would stay if every Service were routed by zone, with the endpoints as they are')}
    ${moneyCards(report)}
  </ul>`;
};

/** What was measured: what Services could save, and what they could not. */
export const measured = (report: AuditReport): Markup => {
  const rows = measuredRows(report);
  if (rows.length === 0) return NOTHING;
  const columns = MEASURED_HEADERS.map((title, index): Column<readonly string[]> => [
    title,
    index === 0 ? 'text' : 'number',
    (row) => row[index] ?? '',
  ]);
  return markup`<h2>Measured</h2>
    ${measuredSentences(report).map((text) => markup`<p>${text}</p>`)}
    ${table(
      markup`class="cards-when-narrow" id="measured" aria-label="Measured traffic"`,
      columns,
      rows.map((row) => rowOf(columns, row)),
    )}`;
};

/** What stays, could stay, and crosses: fractions that together are at most 1. */
const partsOf = ({ sum }: AuditReport) => {
  const { inZoneShare, saving } = sum;
  const parts = [
    { kind: 'stays', label: 'stays in its zone now', share: inZoneShare ?? 0 },
    { kind: 'routing', label: 'would stay with routing by zone', share: saving?.routing ?? 0 },
    { kind: 'endpoints', label: 'needs endpoints in zones without any', share: saving?.endpoints ?? 0 },
  ];
  const rest = 1 - parts.reduce((all, one) => all + one.share, 0);
  const isPart = sum.promisedInPart > 0 || sum.promised < sum.services - sum.unpredicted;
  const label = saving === null || isPart ? 'crosses' : 'always crosses';
  // What another way of routing keeps better than hints by zone leaves a remainder.
  return rest > 0.0005 ? [...parts, { kind: 'rest', label, share: rest }] : parts;
};

/** Parts beside each other; what they are stands in the legend below, and in a label. */
export const shareBar = (parts: ReturnType<typeof partsOf>): Markup => {
  let x = 0;
  const rects = parts.map(({ kind, share: width }) => {
    const rect = markup`<rect class="bar-${kind}" x="${x}" width="${width}" height="1" />`;
    x += width;
    return rect;
  });
  const label = parts.map((one) => `${one.label}: ${percentText(one.share)}`).join('; ');
  return markup`<svg class="bar" viewBox="0 0 1 1" preserveAspectRatio="none" role="img" aria-label="${label}">${rects}</svg>`;
};

/** All connections in one bar. */
export const savings = (report: AuditReport): Markup => {
  if (report.sum.inZoneShare === null) return NOTHING;
  const parts = partsOf(report);
  return markup`<h2>What would be saved</h2>
    ${shareBar(parts)}
    <ul class="legend">
      ${parts.map(
        (one) =>
          markup`<li>
            <svg viewBox="0 0 1 1" aria-hidden="true"><rect class="bar-${one.kind}" width="1" height="1" /></svg
            ><b>${percentText(one.share)}</b> ${one.label}
          </li>`,
      )}
    </ul>`;
};

const causeColumns = ({ prices }: AuditReport): readonly Column<CauseGroup>[] => [
  [
    'Cause',
    'service',
    ({ reason }) =>
      markup`<button type="button" class="show" data-show-cause="${reason}" title="Show these Services"><code>${reason}</code></button>`,
  ],
  ['Services', 'number', ({ services }) => services],
  ['Crosses', 'number', ({ crossZoneShare }) => percentText(crossZoneShare)],
  ['Saved by routing', 'number', ({ saving }) => percentText(saving?.routing ?? null)],
  ['Needs endpoints', 'number', ({ saving }) => percentText(saving?.endpoints ?? null)],
  ...ifPriced(prices, (currency): Column<CauseGroup> => [
    'Saves a month (estimate)',
    'number',
    ({ monthlyCost }) => (monthlyCost?.saving ? moneyText(monthlyCost.saving.routing, currency) : '–'),
  ]),
  ['Remedy', 'why', ({ remedy }) => markup`<p class="remedy">${sentence(remedy)}</p>`],
];

/** Services by their first cause: what fails, what costs, what routing by zone cannot save. */
export const causes = (report: AuditReport): Markup => {
  if (report.causes.length === 0) return NOTHING;
  const columns = causeColumns(report);
  const rows = AUDIT_GROUPS.flatMap((group) => {
    const own = report.causes.filter((cause) => cause.group === group);
    const title = markup`<tr role="row"><th role="rowheader" scope="colgroup" colspan="${columns.length}" class="group">${GROUP_TITLES[group]}</th></tr>`;
    return own.length === 0 ? [] : [title, ...own.map((cause) => rowOf(columns, cause))];
  });
  return markup`<h2>What to fix first</h2>
    <p class="muted">Services by their first cause; shares are of all connections.</p>
    ${table(markup`class="cards-when-narrow causes" aria-label="Causes"`, columns, rows)}`;
};

/** A larger table is too large for readers. */
const MOST_ZONES = 60;
const LEVELS = 4;

/** Rows are zones of clients, columns zones of endpoints; colors go by quarters of the largest cell. */
export const heatMap = (matrix: AuditReport['matrix']): Markup => {
  const from = Object.keys(matrix);
  const zones = [...new Set(Object.values(matrix).flatMap((row) => Object.keys(row)))];
  if (zones.length === 0) return markup`<p>There are no connections between zones.</p>`;
  if (Math.max(from.length, zones.length) > MOST_ZONES)
    return markup`<p>${zones.length} zones are too many for a picture; <code>-o json</code> holds all of them.</p>`;
  const largest = Math.max(...Object.values(matrix).flatMap((row) => Object.values(row)));
  const zoneText = (zone: string): string => (zone === '' ? 'no zone' : zone);
  const cell = (zone: string, to: string): Markup => {
    const amount = matrix[zone]?.[to] ?? 0;
    const stays = zone !== '' && zone === to;
    const level = amount <= 0 ? 0 : Math.ceil((amount / largest) * LEVELS);
    const label = `From ${zoneText(zone)} to ${zoneText(to)}: ${percentText(amount)} of all connections, ${stays ? 'in the zone' : 'crossing'}`;
    return markup`<td class="${stays ? 'stay' : 'cross'}-${level}" title="${label}" aria-label="${label}">${percentText(amount)}</td>`;
  };
  return markup`<table class="heat-map" aria-label="Shares of connections by zone of client and zone of endpoint">
    <thead>
      <tr><th scope="col">from ↓ to →</th>${zones.map((zone) => markup`<th scope="col">${zoneText(zone)}</th>`)}</tr>
    </thead>
    <tbody>
      ${from.map((zone) => markup`<tr><th scope="row">${zoneText(zone)}</th>${zones.map((to) => cell(zone, to))}</tr>`)}
    </tbody>
  </table>`;
};

const findingItem = ({ reason, certainty, evidence, remedy }: ClusterFinding): Markup => {
  const possible = certainty === 'possible';
  return markup`<li class="${certainty}">
    <code>${reason}</code>${possible ? markup` <span class="muted">(not visible in objects)</span>` : NOTHING}
    <p>${evidence}</p>
    <p class="remedy">${sentence(remedy)}</p>
  </li>`;
};

/** What may concern every Service, although each by itself looks right. */
export const findings = ({ findings: found }: AuditReport): Markup =>
  found.length === 0
    ? NOTHING
    : markup`<h2>Of the whole cluster</h2>
        <ul class="findings">
          ${found.map(findingItem)}
        </ul>`;
