// The audit as one self-contained page, with its style and script, for people who decide about money and have no terminal.
import type { AuditReport } from '../../diagnosis/audit/audit.ts';
import { clientsText, costText, verdictsText } from '../audit.ts';
import { routerHead } from '../routers.ts';
import { unseenList } from '../text.ts';
import { cards, causes, findings, heatMap, measured, savings, servicesTable } from './audit-services.ts';
import { type Markup, NOTHING, markup, minuteOf, renderPage } from './document.ts';

const AUDIT_SCRIPT = `
(() => {
  'use strict';
  const table = document.getElementById('services');
  if (table === null) return;
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const headers = Array.from(table.tHead.rows[0].cells);
  const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));

  // Numbers and texts alike; what is not known stays last in either direction.
  const compare = (index, numeric, sign) => (a, b) => {
    const left = a.cells[index].dataset.value;
    const right = b.cells[index].dataset.value;
    if (left === '' || right === '') return left === right ? 0 : left === '' ? 1 : -1;
    const order = numeric ? Number(left) - Number(right) : left < right ? -1 : left > right ? 1 : 0;
    return order * sign;
  };
  const sortBy = (header) => {
    const numeric = header.dataset.sort === 'number';
    const first = numeric ? 'descending' : 'ascending';
    const other = numeric ? 'ascending' : 'descending';
    const direction = header.getAttribute('aria-sort') === first ? other : first;
    for (const each of headers) each.setAttribute('aria-sort', each === header ? direction : 'none');
    rows.sort(compare(headers.indexOf(header), numeric, direction === 'ascending' ? 1 : -1));
    body.append(...rows);
  };
  for (const header of headers) header.querySelector('button').addEventListener('click', () => sortBy(header));

  const filter = document.getElementById('filter');
  const verdict = document.getElementById('verdict');
  const cause = document.getElementById('cause');
  const shown = document.getElementById('shown');
  const apply = () => {
    const words = filter.value.toLowerCase().split(/\\s+/).filter((word) => word !== '');
    let count = 0;
    for (const row of rows) {
      const visible =
        (verdict.value === '' || row.dataset.verdict === verdict.value) &&
        (cause.value === '' || row.dataset.cause === cause.value) &&
        words.every((word) => texts.get(row).includes(word));
      row.hidden = !visible;
      if (visible) count += 1;
    }
    shown.textContent = count + ' of ' + rows.length + (rows.length === 1 ? ' Service' : ' Services');
  };
  for (const each of [filter, verdict, cause]) each.addEventListener('input', apply);
  const show = (reason, next) => {
    filter.value = verdict.value = '';
    cause.value = reason;
    apply();
    next.focus();
  };
  document.getElementById('clear').addEventListener('click', () => show('', filter));
  for (const button of document.querySelectorAll('button[data-show-cause]')) {
    button.addEventListener('click', () => {
      show(button.dataset.showCause, cause);
      document.getElementById('services-title').scrollIntoView({ block: 'start' });
    });
  }
  for (const element of document.querySelectorAll('[data-needs-script]')) element.hidden = false;
  apply();
})();
`;

/** Colors of both schemes; paper is light. */
const COLORS = `
--page: light-dark(#ffffff, #0f1419); --panel: light-dark(#f5f7f9, #1a2129); --text: light-dark(#1b1f24, #e6edf3);
--muted: light-dark(#545d68, #a3b0bd); --line: light-dark(#d3d9e0, #37414c); --accent: light-dark(#0a58a6, #79bdff);
--good: light-dark(#14682f, #62d186); --warn: light-dark(#7d4a00, #f1b84b); --bad: light-dark(#b02a1c, #ff9a90);
--stay-1: light-dark(#dcf3e5, #10301f); --stay-1-text: light-dark(#0b4a25, #b9f0ce);
--stay-2: light-dark(#a9e0c0, #174a2e); --stay-2-text: light-dark(#073a1c, #cdf6dc);
--stay-3: light-dark(#63c28c, #1d6640); --stay-3-text: light-dark(#04240f, #ffffff);
--stay-4: light-dark(#1b7643, #46c27d); --stay-4-text: light-dark(#ffffff, #04200f);
--cross-1: light-dark(#fdeed8, #392711); --cross-1-text: light-dark(#5a2e00, #ffdcae);
--cross-2: light-dark(#f8cf98, #5a390f); --cross-2-text: light-dark(#472400, #ffe4c2);
--cross-3: light-dark(#ec9b48, #82490a); --cross-3-text: light-dark(#2e1700, #ffffff);
--cross-4: light-dark(#ad4a06, #e8943a); --cross-4-text: light-dark(#ffffff, #1a0e00);`;

const CELLS = [1, 2, 3, 4]
  .flatMap((level) =>
    ['stay', 'cross'].map(
      (of) => `.heat-map .${of}-${level} { background: var(--${of}-${level}); color: var(--${of}-${level}-text); }`,
    ),
  )
  .join('\n');

const BASE = `
:root { color-scheme: light dark; ${COLORS} }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
html { font: 16px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif; }
body { margin: 0; background: var(--page); color: var(--text); font-variant-numeric: tabular-nums; }
header, main, footer { max-width: 1360px; margin: 0 auto; padding: 0 24px; }
header { padding-top: 32px; }
footer { padding-bottom: 48px; color: var(--muted); font-size: .875rem; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0; letter-spacing: -.01em; }
h2 { font-size: 1.2rem; margin: 40px 0 8px; scroll-margin-top: 12px; }
p { margin: 4px 0 12px; max-width: 80ch; }
.muted { color: var(--muted); }
code { font: .9em ui-monospace, 'Cascadia Code', 'Noto Sans Mono', monospace; overflow-wrap: anywhere; }
button, input, select { font: inherit; color: inherit; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
`;

const SUMMARY = `
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(196px, 1fr)); gap: 12px; padding: 0; margin: 24px 0 20px; list-style: none; }
.cards li { background: var(--panel); border: 1px solid var(--line); border-radius: 10px; padding: 14px 16px; }
.cards strong { display: block; font-size: 1.55rem; line-height: 1.2; }
.cards span { color: var(--muted); font-size: .9rem; }
.bar { display: block; width: 100%; height: 26px; border-radius: 6px; }
.bar rect { stroke: var(--page); stroke-width: 2; }
.bar-stays { fill: var(--stay-4); } .bar-routing { fill: var(--accent); } .bar-endpoints { fill: var(--cross-3); } .bar-rest { fill: var(--muted); }
.legend { display: flex; flex-wrap: wrap; gap: 4px 24px; padding: 0; margin: 10px 0 0; list-style: none; font-size: .9rem; }
.legend svg { width: 14px; height: 14px; margin-right: 8px; vertical-align: -2px; border-radius: 3px; }
.scroll { overflow-x: auto; padding-bottom: 4px; }
.heat-map { width: auto; border-collapse: separate; border-spacing: 3px; }
.heat-map td { min-width: 84px; padding: 14px 8px; border: 0; border-radius: 6px; background: var(--panel); color: var(--muted); text-align: center; font-weight: 600; }
.heat-map th { background: none; border: 0; font-weight: 400; vertical-align: middle; } .heat-map thead th { text-align: center; }
${CELLS}
.findings { padding: 0; margin: 0; list-style: none; display: grid; gap: 10px; }
.findings li { border: 1px solid var(--line); border-left: 5px solid var(--warn); border-radius: 8px; padding: 10px 16px; }
.findings .possible { border-left-color: var(--line); }
.findings p { margin: 2px 0; }
`;

const TABLES = `
table { border-collapse: collapse; width: 100%; font-size: .875rem; line-height: 1.4; }
th, td { text-align: left; vertical-align: top; padding: 8px; border-bottom: 1px solid var(--line); unicode-bidi: isolate; }
th { font-weight: 600; background: var(--panel); border-bottom-width: 2px; }
.number { text-align: right; white-space: nowrap; }
th.number { white-space: normal; }
.number small { white-space: normal; max-width: 10ch; margin-left: auto; }
td small { display: block; color: var(--muted); font-size: .8125rem; }
td.why { min-width: 300px; overflow-wrap: break-word; }
td.why p { margin: 2px 0; max-width: 90ch; }
td.service { overflow-wrap: anywhere; min-width: 148px; }
.remedy::before { content: '→ '; color: var(--accent); font-weight: 700; }
.badge { display: inline-block; white-space: nowrap; font-size: .8125rem; font-weight: 600; }
.badge::before { content: ''; display: inline-block; width: .6em; height: .6em; border-radius: 50%; margin-right: .4em; background: currentColor; }
.Effective { color: var(--good); } .NotWanted { color: var(--warn); } .Ineffective { color: var(--bad); }
#services thead th { position: sticky; top: 0; z-index: 1; padding: 0; }
th button { all: unset; box-sizing: border-box; display: block; width: 100%; padding: 8px; cursor: pointer; text-decoration: underline dotted var(--muted); text-underline-offset: 4px; }
th button:focus-visible { outline: 3px solid var(--accent); outline-offset: -3px; }
th button:hover { color: var(--accent); }
[aria-sort=ascending] button::after { content: '\\a0↑'; color: var(--accent); font-weight: 700; }
[aria-sort=descending] button::after { content: '\\a0↓'; color: var(--accent); font-weight: 700; }
tbody tr:hover { background: var(--panel); }
.toolbar { display: flex; flex-wrap: wrap; gap: 8px 16px; align-items: end; margin: 12px 0; }
.toolbar label { display: grid; gap: 2px; grid-template-rows: auto 38px; font-size: .8125rem; color: var(--muted); min-width: 0; }
.toolbar input, .toolbar select, .plain { background: var(--page); color: var(--text); border: 1px solid var(--muted); border-radius: 6px; padding: 6px 10px; max-width: 100%; font-size: .9rem; min-height: 38px; }
.toolbar input { width: 260px; }
.plain { cursor: pointer; } .plain:hover { border-color: var(--accent); color: var(--accent); }
.show { all: unset; cursor: pointer; color: var(--accent); text-decoration: underline; overflow-wrap: anywhere; }
.causes .service { white-space: nowrap; }
.show:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
#shown { font-size: .9rem; color: var(--muted); padding: 6px 0; }
`;

const NARROW = `
@media screen and (max-width: 1280px) {
  #services { font-size: .8125rem; }
  #services td, #services th button { padding: 6px 5px; }
  #services td.why { min-width: 200px; }
  #services td.service { min-width: 110px; }
}
@media screen and (max-width: 1060px) {
  header, main, footer { padding-left: 16px; padding-right: 16px; }
  .toolbar label, .toolbar input, .toolbar select { width: 100%; }
  table.cards-when-narrow, .cards-when-narrow tbody, .cards-when-narrow tr { display: block; }
  .cards-when-narrow thead tr { display: flex; flex-wrap: wrap; gap: 4px; margin-bottom: 12px; }
  .cards-when-narrow thead th { display: block; border: 1px solid var(--line); border-radius: 6px; position: static !important; }
  .cards-when-narrow:not(#services) thead { display: none; }
  .cards-when-narrow tbody tr { border: 1px solid var(--line); border-radius: 10px; padding: 8px 12px; margin-bottom: 12px; }
  .cards-when-narrow td { display: flow-root; text-align: right; border: 0; padding: 3px 0; min-width: 0; }
  .cards-when-narrow td::before { content: attr(data-label); color: var(--muted); float: left; margin-right: 16px; }
  .cards-when-narrow td.why, .cards-when-narrow td.service { min-width: 0; text-align: left; white-space: normal; }
  .cards-when-narrow td.why::before, .cards-when-narrow td.service::before { content: none; }
  .cards-when-narrow td.number { white-space: normal; text-align: right; }
  .cards-when-narrow .number small { max-width: none; }
}
`;

const PRINT = `
@page { size: A4 landscape; margin: 12mm; }
@media print {
  :root { color-scheme: light; }
  html { font-size: 11.5px; }
  header, main, footer { max-width: none; padding: 0; }
  .toolbar, th button::after { display: none; }
  th button { text-decoration: none; }
  .show { color: inherit; text-decoration: none; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  #services thead th { position: static; }
  tr, .cards li, .findings li, .heat-map, .bar { break-inside: avoid; }
  h2 { break-after: avoid; }
  th, td, th button { padding: 4px 6px; }
  td.why { min-width: 280px; }
  .scroll { overflow: visible; }
}
`;

const heading = ({ namespace, kubernetesVersion, sum, ...routers }: AuditReport, now: number): Markup =>
  markup`<header>
    <h1>Traffic across zones</h1>
    <p class="muted">
      ${namespace === null ? 'All namespaces' : `Namespace ${namespace}`} · Kubernetes ${kubernetesVersion} · ${routerHead(routers)} ·
      ${minuteOf(now)}
    </p>
    <p>${verdictsText(sum)}</p>
  </header>`;

const matrixSection = (report: AuditReport): Markup =>
  report.sum.inZoneShare === null
    ? NOTHING
    : markup`<h2>From zone to zone</h2>
        <p class="muted">
          Shares of all connections. Green stays in its zone, orange crosses; the stronger the color, the more.
        </p>
        <div class="scroll" tabindex="0" role="region" aria-label="Zone matrix">${heatMap(report.matrix)}</div>`;

const notes = (report: AuditReport): Markup => {
  const unseen = unseenList(report.unseen);
  const cost = costText(report);
  return markup`<footer>
    <h2>How to read this</h2>
    <p>
      ${report.measured === undefined ? 'Nothing was measured: shares' : 'Bytes and money are measured; shares of connections'} are predicted from Nodes, Services and EndpointSlices by models of the control plane
      and of the proxies, with ${clientsText(report.sum)}. Services are weighted by their ready endpoints, which stand
      in for their traffic. <em>Overload</em> is how far the busiest endpoint is above its fair share.
    </p>
    ${cost === '' ? NOTHING : markup`<p>${cost}</p>`} ${unseen === '' ? NOTHING : markup`<p>Not seen: ${unseen}.</p>`}
  </footer>`;
};

/** `now`: milliseconds since the epoch. Services come in the order of the report, which should be worst first. */
export const renderAuditPage = (report: AuditReport, { now }: { readonly now: number }): string =>
  renderPage({
    title: 'Traffic across zones',
    style: [BASE, SUMMARY, TABLES, NARROW, PRINT].join(''),
    script: AUDIT_SCRIPT,
    body: markup`${heading(report, now)}
      <main>
        ${cards(report)} ${measured(report)} ${savings(report)} ${matrixSection(report)} ${causes(report)} ${findings(report)}
        ${servicesTable(report)}
      </main>
      ${notes(report)}`,
  });
