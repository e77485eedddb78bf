// The table of Services in the page of an audit: sortable by every header, filterable, with cause and remedy.
// The upper half of the page of an audit: what it comes to, where traffic goes, what to fix first.
import { AUDIT_GROUPS, type Part, type ServiceAudit } from '../../diagnosis/audit/service.ts';
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
  /** What rows are sorted by, where they are; null: not known, always last. */
  readonly value?: string | number | null;
}

interface Column<Row> {
  readonly title: string;
  readonly kind: 'number' | 'text' | 'service' | 'why';
  readonly sort?: 'number' | 'text';
  cell(row: Row): Cell;
}

// Worst first is no order of one column: what fails comes before what costs.
const header = <Row>({ title, kind, sort }: Column<Row>): Markup =>
  sort === undefined
    ? markup`<th role="columnheader" scope="col" class="${kind}">${title}</th>`
    : markup`<th role="columnheader" scope="col" class="${kind}" data-sort="${sort}" aria-sort="none"><button type="button">${title}</button></th>`;

// Without white space around: there are thousands of rows.
const rowOf = <Row>(columns: readonly Column<Row>[], row: Row, attributes: Markup = NOTHING): Markup => {
  const cells = columns.map(({ title, kind, cell }) => {
    const { content, value } = cell(row);
    const sorted = value === undefined ? NOTHING : markup` data-value="${value ?? ''}"`;
    return markup`<td role="cell" class="${kind}" data-label="${title}"${sorted}>${content}</td>`;
  });
  return markup`<tr role="row"${attributes}>${cells}</tr>\n`;
};

/** Rows become cards where it is narrow. */
const table = <Row>(attributes: Markup, columns: readonly Column<Row>[], rows: readonly Markup[]): Markup =>
  markup`<table role="table" ${attributes}>
    <thead role="rowgroup"><tr role="row">${columns.map(header)}</tr></thead>
    <tbody role="rowgroup">${rows}</tbody>
  </table>`;

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

const moneyColumns = ({ prices }: AuditReport): Column<ServiceAudit>[] =>
  prices === undefined
    ? []
    : [
        number('Cost a month (estimate)', ({ monthlyCost, measured }) =>
          known(
            monthlyCost?.current ?? null,
            markup`${moneyText(monthlyCost?.current ?? 0, prices.currency)}${measured === undefined ? NOTHING : volume(measured)}`,
          ),
        ),
      ];

const number = (title: string, cell: (service: ServiceAudit) => Cell): Column<ServiceAudit> => ({
  title,
  kind: 'number',
  sort: 'number',
  cell,
});

const columnsOf = (report: AuditReport): readonly Column<ServiceAudit>[] => [
  { title: 'Service', kind: 'service', sort: 'text', cell: serviceCell },
  {
    title: 'Wanted',
    kind: 'text',
    sort: 'text',
    cell: ({ wanted }) => ({ content: WANTED_TEXT[wanted.source], value: WANTED_TEXT[wanted.source] }),
  },
  number('Given', ({ given }) => partCell(given)),
  number('Used', ({ used }) => partCell(used)),
  number('Effective', ({ effective }) => partCell(effective)),
  number('Endpoints', ({ endpoints, zones }) =>
    known(endpoints, markup`${endpoints}<small>in ${zones} ${zones === 1 ? 'zone' : 'zones'}</small>`),
  ),
  number('Crosses', ({ crossZoneShare }) => known(crossZoneShare, percentText(crossZoneShare))),
  number('Of all', ({ crossZoneShare, weight }) => {
    const share = crossZoneShare === null ? null : crossZoneShare * weight;
    return known(share, percentText(share));
  }),
  ...moneyColumns(report),
  number('Overload', overloadCell),
  number('Saves', savesCell),
  { title: 'Cause and remedy', kind: 'why', sort: 'text', cell: whyCell },
];

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
  const money = (amount: number): string => moneyText(amount, prices.currency);
  return [
    prices.basis === 'Measured'
      ? card(money(monthlyCost.current), 'a month is the cost of crossing zones for these Services, by measured bytes')
      : card(money(monthlyCost.current), 'a month is the estimated cost of crossing zones at the assumed volume'),
    card(
      monthlyCost.saving === null ? '–' : money(monthlyCost.saving.routing),
      'a month is the estimated saving with routing by zone',
    ),
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
  const columns = MEASURED_HEADERS.map((title, index): Column<readonly string[]> => ({
    title,
    kind: index === 0 ? 'text' : 'number',
    cell: (row) => ({ content: row[index] ?? '' }),
  }));
  return markup`<h2>Measured</h2>
    ${measuredSentences(report).map((text) => markup`<p>${text}</p>`)}
    ${table(
      markup`class="cards-when-narrow" id="measured" aria-label="Measured traffic"`,
      columns,
      rows.map((row) => rowOf(columns, row)),
    )}`;
};

const partsOf = ({ sum }: AuditReport): BarPart[] => {
  const { inZoneShare, saving } = sum;
  const stays = inZoneShare ?? 0;
  const parts: BarPart[] = [
    { kind: 'stays', label: 'stays in its zone now', share: stays },
    { kind: 'routing', label: 'would stay with routing by zone', share: saving?.routing ?? 0 },
    { kind: 'endpoints', label: 'needs endpoints in zones without any', share: saving?.endpoints ?? 0 },
  ];
  const rest = 1 - parts.reduce((all, { share }) => all + share, 0);
  // What another way of routing keeps better than hints by zone leaves a remainder.
  return rest > 0.0005
    ? [
        ...parts,
        {
          kind: 'rest',
          label: saving === null || sum.promised < sum.services - sum.unpredicted ? 'crosses' : 'always crosses',
          share: rest,
        },
      ]
    : parts;
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

const causeColumns = ({ prices }: AuditReport): readonly Column<CauseGroup>[] => [
  {
    title: 'Cause',
    kind: 'service',
    cell: ({ reason }) => ({
      content: markup`<button type="button" class="show" data-show-cause="${reason}" title="Show these Services"><code>${reason}</code></button>`,
    }),
  },
  { title: 'Services', kind: 'number', cell: ({ services }) => ({ content: services }) },
  { title: 'Crosses', kind: 'number', cell: ({ crossZoneShare }) => ({ content: percentText(crossZoneShare) }) },
  {
    title: 'Saved by routing',
    kind: 'number',
    cell: ({ saving }) => ({ content: percentText(saving?.routing ?? null) }),
  },
  {
    title: 'Needs endpoints',
    kind: 'number',
    cell: ({ saving }) => ({ content: percentText(saving?.endpoints ?? null) }),
  },
  ...(prices === undefined
    ? []
    : [
        {
          title: 'Saves a month (estimate)',
          kind: 'number',
          cell: ({ monthlyCost }: CauseGroup) => ({
            content: monthlyCost?.saving ? moneyText(monthlyCost.saving.routing, prices.currency) : '–',
          }),
        } as const,
      ]),
  {
    title: 'Remedy',
    kind: 'why',
    cell: ({ remedy }) => ({ content: markup`<p class="remedy">${sentence(remedy)}</p>` }),
  },
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
