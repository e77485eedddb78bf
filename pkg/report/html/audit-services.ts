// The table of Services in the page of an audit: sortable by every header, filterable, with cause and remedy.
import type { AuditReport, Part, ServiceAudit } from '../../diagnosis/audit/types.ts';
import type { MeasuredService } from '../../diagnosis/measured/cost.ts';
import { moneyText, overloadText, percentText, volumeText } from '../figures.ts';
import { WANTED_TEXT } from '../measured.ts';
import { NOTHING, markup, sentence } from './markup.ts';
import type { Content, Markup } from './markup.ts';

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
const row = (columns: readonly Column[], service: ServiceAudit): Markup => {
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
        ${report.services.map((service) => row(columns, service))}
      </tbody>
    </table>`;
};
