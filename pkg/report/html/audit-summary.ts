// The upper half of the page of an audit: what it comes to, where traffic goes, what to fix first.
import { AUDIT_GROUPS } from '../../diagnosis/audit/group.ts';
import type { AuditGroup, AuditReport, CauseGroup, ClusterFinding } from '../../diagnosis/audit/types.ts';
import { GROUP_TITLES } from '../audit.ts';
import { moneyText, percentText } from '../figures.ts';
import { MEASURED_HEADERS, measuredRows, measuredSentences } from '../measured.ts';
import { shareBar } from '../svg.ts';
import type { BarPart } from '../svg.ts';
import { card } from './document.ts';
import { NOTHING, markup, sentence } from './markup.ts';
import type { Markup } from './markup.ts';

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
