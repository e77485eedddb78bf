// The table of Services in the page of an audit: sortable by every header, filterable, with cause and remedy.
// The upper half of the page of an audit: what it comes to, where traffic goes, what to fix first.
import { AUDIT_GROUPS, type AuditGroup, type Part, type ServiceAudit } from '../../diagnosis/audit/service.ts';
import { type CauseGroup } from '../../diagnosis/audit/sum.ts';
import type { AuditReport, ClusterFinding } from '../../diagnosis/audit/audit.ts';
import type { MeasuredService } from '../../diagnosis/measured.ts';
import { GROUP_TITLES } from '../audit.ts';
import { moneyText, overloadText, percentText, volumeText } from '../text.ts';
import { MEASURED_HEADERS, WANTED_TEXT, measuredRows, measuredSentences } from '../measured.ts';
import { type BarPart, shareBar } from '../svg.ts';
import { type Content, type Markup, NOTHING, card, markup, sentence } from './document.ts';

interface Cell {
  readonly content: Content;
  /** What rows are sorted by; null: not known, always last. */
  readonly value: string | number | null;
}

interface Column {
  readonly title: string;
  readonly sort: 'number' | 'text';
  readonly kind?: string;
  cell(service: ServiceAudit): Cell;
}

const known = (value: number | null, text: Content): Cell => ({ content: value === null ? '–' : text, value });

const VERDICTS = {
  Effective: 'effective',
  Assumed: 'assumed',
  Unknown: 'unknown',
  Ineffective: 'ineffective',
  NotWanted: 'not wanted',
} as const;

const partCell = ({ count, of }: Part): Cell =>
  known(of === 0 ? null : count / of, markup`${count}<span class="muted">/${of}</span>`);

const overloadCell = ({ worstOverload, overloadRoutedByZone, saving }: ServiceAudit): Cell => {
  const changes = (saving?.routing ?? 0) > 0 && overloadText(worstOverload) !== overloadText(overloadRoutedByZone);
  const routed = changes ? markup`<small>${overloadText(overloadRoutedByZone)} if routed by zone</small>` : NOTHING;
  return known(worstOverload, markup`${overloadText(worstOverload)}${routed}`);
};

const savesCell = ({ saving }: ServiceAudit): Cell => {
  const more = (saving?.endpoints ?? 0) > 0;
  const needs = more ? markup`<small>${percentText(saving?.endpoints ?? null)} with more endpoints</small>` : NOTHING;
  return known(saving?.routing ?? null, markup`${percentText(saving?.routing ?? null)}${needs}`);
};

const whyCell = ({ cause, alsoFound }: ServiceAudit): Cell => {
  if (cause === null) return { content: '–', value: null };
  const also = alsoFound.length === 0 ? NOTHING : markup`<small>also: ${alsoFound.join(', ')}</small>`;
  return {
    content: markup`<code>${cause.reason}</code><p>${cause.evidence}</p><p class="remedy">${sentence(cause.remedy)}</p>${also}`,
    value: cause.reason,
  };
};

const serviceCell = ({ namespace, name, verdict }: ServiceAudit): Cell => ({
  content: markup`<strong>${name}</strong><small>${namespace}</small><span class="badge ${verdict}">${VERDICTS[verdict]}</span>`,
  value: `${name} ${namespace}`,
});

const volume = ({ gigabytesPerDay, crossZoneShare }: MeasuredService): Markup =>
  markup`<small>${volumeText(gigabytesPerDay)} GB a day, ${percentText(crossZoneShare)} crosses</small>`;

const moneyColumns = ({ prices }: AuditReport): Column[] =>
  prices === undefined
    ? []
    : [
        {
          title: 'Cost a month (estimate)',
          sort: 'number',
          cell: ({ monthlyCost, measured }) =>
            known(
              monthlyCost?.current ?? null,
              markup`${moneyText(monthlyCost?.current ?? 0, prices.currency)}${measured === undefined ? NOTHING : volume(measured)}`,
            ),
        },
      ];

const columnsOf = (report: AuditReport): readonly Column[] => [
  { title: 'Service', sort: 'text', kind: 'service', cell: serviceCell },
  {
    title: 'Wanted',
    sort: 'text',
    cell: ({ wanted }) => ({ content: WANTED_TEXT[wanted.source], value: WANTED_TEXT[wanted.source] }),
  },
  { title: 'Given', sort: 'number', cell: ({ given }) => partCell(given) },
  { title: 'Used', sort: 'number', cell: ({ used }) => partCell(used) },
  { title: 'Effective', sort: 'number', cell: ({ effective }) => partCell(effective) },
  {
    title: 'Endpoints',
    sort: 'number',
    cell: ({ endpoints, zones }) =>
      known(endpoints, markup`${endpoints}<small>in ${zones} ${zones === 1 ? 'zone' : 'zones'}</small>`),
  },
  {
    title: 'Crosses',
    sort: 'number',
    cell: ({ crossZoneShare }) => known(crossZoneShare, percentText(crossZoneShare)),
  },
  {
    title: 'Of all',
    sort: 'number',
    cell: ({ crossZoneShare, weight }) =>
      known(crossZoneShare === null ? null : crossZoneShare * weight, percentText((crossZoneShare ?? 0) * weight)),
  },
  ...moneyColumns(report),
  { title: 'Overload', sort: 'number', cell: overloadCell },
  { title: 'Saves', sort: 'number', cell: savesCell },
  { title: 'Cause and remedy', sort: 'text', kind: 'why', cell: whyCell },
];

const classOf = ({ kind, sort }: Column): string => kind ?? (sort === 'number' ? 'number' : 'text');

// Worst first is no order of one column: what fails comes before what costs.
const header = (column: Column): Markup =>
  markup`<th role="columnheader" scope="col" class="${classOf(column)}" data-sort="${column.sort}" aria-sort="none"><button type="button">${column.title}</button></th>`;

// Without white space around: there are thousands of rows.
const serviceRow = (columns: readonly Column[], service: ServiceAudit): Markup => {
  const cells = columns.map((column) => {
    const { content, value } = column.cell(service);
    return markup`<td role="cell" class="${classOf(column)}" data-label="${column.title}" data-value="${value ?? ''}">${content}</td>`;
  });
  const reason = service.cause?.reason ?? '';
  return markup`<tr role="row" data-verdict="${service.verdict}" data-cause="${reason}">${cells}</tr>\n`;
};

const option = (value: string, text: string): Markup => markup`<option value="${value}">${text}</option>`;

const toolbar = ({ causes }: AuditReport): Markup =>
  markup`<div class="toolbar" data-needs-script hidden role="search" aria-label="Filter Services">
    <label for="filter"
      >Name, namespace, cause<input id="filter" type="search" autocomplete="off" spellcheck="false"
    /></label>
    <label for="verdict"
      >Verdict<select id="verdict">
        ${option('', 'all')}${Object.entries(VERDICTS).map(([value, text]) => option(value, text))}
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
    <table role="table" id="services" class="cards-when-narrow" aria-labelledby="services-title">
      <thead role="rowgroup">
        <tr role="row">
          ${columns.map(header)}
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${report.services.map((service) => serviceRow(columns, service))}
      </tbody>
    </table>`;
};

const moneyCards = ({ sum: { monthlyCost }, prices }: AuditReport): Markup[] => {
  if (monthlyCost === undefined || prices === undefined) return [];
  const money = (amount: number): string => moneyText(amount, prices.currency);
  return [
    prices.basis === 'Measured'
      ? card(money(monthlyCost.current), 'a month is the cost of crossing zones for these Services, by measured bytes')
      : card(money(monthlyCost.current), 'a month is the estimated cost of crossing zones at the assumed volume'),
    card(money(monthlyCost.saving.routing), 'a month is the estimated saving with routing by zone'),
  ];
};

/** The few figures to remember. */
export const cards = (report: AuditReport): Markup => {
  const { sum } = report;
  const { verdicts, services, saving } = sum;
  return markup`<ul class="cards">
    ${card(markup`${verdicts.Effective}<span class="muted"> of ${services}</span>`, `Services keep their traffic in every zone; ${verdicts.Ineffective} request it without effect`)}
    ${card(percentText(sum.crossZoneShare), 'of connections cross zones')}
    ${card(percentText(sum.inZoneShare === null ? null : saving.routing), 'more would stay if every Service were routed by zone, with the endpoints as they are')}
    ${moneyCards(report)}
  </ul>`;
};

/** What was measured: what Services could save, and what they could not. */
export const measured = (report: AuditReport): Markup => {
  const rows = measuredRows(report);
  if (rows.length === 0) return NOTHING;
  const [first, ...others] = MEASURED_HEADERS;
  const row = ([name = '', ...figures]: readonly string[]): Markup =>
    markup`<tr role="row">
      <th role="rowheader" scope="row">${name}</th>
      ${figures.map((figure, index) => markup`<td role="cell" class="number" data-label="${others[index] ?? ''}">${figure}</td>`)}
    </tr>`;
  return markup`<h2>Measured</h2>
    ${measuredSentences(report).map((text) => markup`<p>${text}</p>`)}
    <table role="table" class="cards-when-narrow" id="measured" aria-label="Measured traffic">
      <thead role="rowgroup">
        <tr role="row">
          <th role="columnheader" scope="col">${first}</th>
          ${others.map((title) => markup`<th role="columnheader" scope="col" class="number">${title}</th>`)}
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${rows.map(row)}
      </tbody>
    </table>`;
};

const partsOf = ({ sum: { inZoneShare, saving } }: AuditReport): BarPart[] => {
  const stays = inZoneShare ?? 0;
  const parts: BarPart[] = [
    { kind: 'stays', label: 'stays in its zone now', share: stays },
    { kind: 'routing', label: 'would stay with routing by zone', share: saving.routing },
    { kind: 'endpoints', label: 'needs endpoints in zones without any', share: saving.endpoints },
  ];
  const rest = 1 - parts.reduce((sum, { share }) => sum + share, 0);
  // What another way of routing keeps better than hints by zone leaves a remainder.
  return rest > 0.0005 ? [...parts, { kind: 'rest', label: 'always crosses', share: rest }] : parts;
};

const legendItem = ({ kind, label, share }: BarPart): Markup =>
  markup`<li>
    <svg viewBox="0 0 1 1" aria-hidden="true"><rect class="bar-${kind}" width="1" height="1" /></svg
    ><b>${percentText(share)}</b> ${label}
  </li>`;

/** All connections in one bar. */
export const savings = (report: AuditReport): Markup => {
  if (report.sum.inZoneShare === null) return NOTHING;
  const parts = partsOf(report);
  return markup`<h2>What would be saved</h2>
    ${shareBar(parts)}
    <ul class="legend">
      ${parts.map(legendItem)}
    </ul>`;
};

const groupRow = (group: AuditGroup, columns: number): Markup =>
  markup`<tr role="row"><th role="rowheader" scope="colgroup" colspan="${columns}" class="group">${GROUP_TITLES[group]}</th></tr>`;

const causeRow = (group: CauseGroup, { prices }: AuditReport): Markup => {
  const { reason, services, crossZoneShare, saving, monthlyCost, remedy } = group;
  const money =
    prices === undefined
      ? NOTHING
      : markup`<td role="cell" class="number" data-label="Saves a month (estimate)">
          ${monthlyCost === undefined || saving === null ? '–' : moneyText(monthlyCost.saving.routing, prices.currency)}
        </td>`;
  return markup`<tr role="row">
    <td role="cell" class="service">
      <button type="button" class="show" data-show-cause="${reason}" title="Show these Services">
        <code>${reason}</code>
      </button>
    </td>
    <td role="cell" class="number" data-label="Services">${services}</td>
    <td role="cell" class="number" data-label="Crosses">${percentText(crossZoneShare)}</td>
    <td role="cell" class="number" data-label="Saved by routing">${percentText(saving?.routing ?? null)}</td>
    <td role="cell" class="number" data-label="Needs endpoints">${percentText(saving?.endpoints ?? null)}</td>
    ${money}
    <td role="cell" class="why remedy">${sentence(remedy)}</td>
  </tr>`;
};

const groupRows = (group: AuditGroup, report: AuditReport): Markup[] => {
  const own = report.causes.filter((cause) => cause.group === group);
  const columns = report.prices === undefined ? 6 : 7;
  return own.length === 0 ? [] : [groupRow(group, columns), ...own.map((cause) => causeRow(cause, report))];
};

/** Services by their first cause: what fails, what costs, what routing by zone cannot save. */
export const causes = (report: AuditReport): Markup => {
  if (report.causes.length === 0) return NOTHING;
  const money =
    report.prices === undefined
      ? NOTHING
      : markup`<th role="columnheader" scope="col" class="number">Saves a month (estimate)</th>`;
  return markup`<h2>What to fix first</h2>
    <p class="muted">Services by their first cause; shares are of all connections.</p>
    <table role="table" class="cards-when-narrow causes" aria-label="Causes">
      <thead role="rowgroup">
        <tr role="row">
          <th role="columnheader" scope="col">Cause</th>
          <th role="columnheader" scope="col" class="number">Services</th>
          <th role="columnheader" scope="col" class="number">Crosses</th>
          <th role="columnheader" scope="col" class="number">Saved by routing</th>
          <th role="columnheader" scope="col" class="number">Needs endpoints</th>
          ${money}
          <th role="columnheader" scope="col">Remedy</th>
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${AUDIT_GROUPS.flatMap((group) => groupRows(group, report))}
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
