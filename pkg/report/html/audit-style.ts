// Style of the page of an audit: light and dark by preference, cards instead of rows where it is narrow, landscape on paper.

const LIGHT = `
--page: #ffffff; --panel: #f5f7f9; --text: #1b1f24; --muted: #545d68; --line: #d3d9e0; --accent: #0a58a6;
--good: #14682f; --warn: #7d4a00; --bad: #b02a1c; --ring: #0a58a6;
--stay-1: #dcf3e5; --stay-1-text: #0b4a25; --stay-2: #a9e0c0; --stay-2-text: #073a1c;
--stay-3: #63c28c; --stay-3-text: #04240f; --stay-4: #1b7643; --stay-4-text: #ffffff;
--cross-1: #fdeed8; --cross-1-text: #5a2e00; --cross-2: #f8cf98; --cross-2-text: #472400;
--cross-3: #ec9b48; --cross-3-text: #2e1700; --cross-4: #ad4a06; --cross-4-text: #ffffff;`;

const DARK = `
--page: #0f1419; --panel: #1a2129; --text: #e6edf3; --muted: #a3b0bd; --line: #37414c; --accent: #79bdff;
--good: #62d186; --warn: #f1b84b; --bad: #ff9a90; --ring: #79bdff;
--stay-1: #10301f; --stay-1-text: #b9f0ce; --stay-2: #174a2e; --stay-2-text: #cdf6dc;
--stay-3: #1d6640; --stay-3-text: #ffffff; --stay-4: #46c27d; --stay-4-text: #04200f;
--cross-1: #392711; --cross-1-text: #ffdcae; --cross-2: #5a390f; --cross-2-text: #ffe4c2;
--cross-3: #82490a; --cross-3-text: #ffffff; --cross-4: #e8943a; --cross-4-text: #1a0e00;`;

const CELLS = [1, 2, 3, 4]
  .flatMap((level) =>
    ['stay', 'cross'].map(
      (kind) =>
        `.${kind}-${level} rect { fill: var(--${kind}-${level}); } .${kind}-${level} text { fill: var(--${kind}-${level}-text); }`,
    ),
  )
  .join('\n');

const BASE = `
:root { color-scheme: light dark; ${LIGHT} }
@media screen and (prefers-color-scheme: dark) { :root { ${DARK} } }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
html { font: 16px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif; }
body { margin: 0; background: var(--page); color: var(--text); }
header, main, footer { max-width: 1360px; margin: 0 auto; padding: 0 24px; }
header { padding-top: 32px; }
footer { padding-bottom: 48px; color: var(--muted); font-size: .875rem; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0; letter-spacing: -.01em; }
h2 { font-size: 1.2rem; margin: 40px 0 8px; scroll-margin-top: 12px; }
p { margin: 4px 0 12px; max-width: 80ch; }
.muted { color: var(--muted); }
code { font: .9em ui-monospace, 'Cascadia Code', 'Noto Sans Mono', monospace; overflow-wrap: anywhere; }
button, input, select { font: inherit; color: inherit; }
:focus-visible { outline: 3px solid var(--ring); outline-offset: 2px; border-radius: 4px; }
`;

const SUMMARY = `
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(196px, 1fr)); gap: 12px; padding: 0; margin: 24px 0 20px; list-style: none; }
.cards li { background: var(--panel); border: 1px solid var(--line); border-radius: 10px; padding: 14px 16px; }
.cards strong { display: block; font-size: 1.55rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
.cards span { color: var(--muted); font-size: .9rem; }
.bar { display: block; width: 100%; height: 26px; border-radius: 6px; }
.bar rect { stroke: var(--page); stroke-width: 2; }
.bar-stays { fill: var(--stay-4); } .bar-routing { fill: var(--accent); } .bar-endpoints { fill: var(--cross-3); } .bar-rest { fill: var(--muted); }
.legend { display: flex; flex-wrap: wrap; gap: 4px 24px; padding: 0; margin: 10px 0 0; list-style: none; font-size: .9rem; }
.legend svg { width: 14px; height: 14px; margin-right: 8px; vertical-align: -2px; border-radius: 3px; }
.legend b { font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; padding-bottom: 4px; }
.heat-map { max-width: 100%; height: auto; min-width: 340px; }
.heat-map text { font-size: 14px; fill: var(--text); }
.heat-map .cell text { text-anchor: middle; dominant-baseline: central; font-weight: 600; font-variant-numeric: tabular-nums; }
.heat-map .label { dominant-baseline: central; } .heat-map .head { text-anchor: middle; dominant-baseline: auto; }
.heat-map .axis { fill: var(--muted); font-size: 13px; }
.cross-0 rect, .stay-0 rect { fill: var(--panel); } .cross-0 text, .stay-0 text { fill: var(--muted); }
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
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
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
th button:focus-visible { outline: 3px solid var(--ring); outline-offset: -3px; }
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
.show:focus-visible { outline: 3px solid var(--ring); outline-offset: 2px; border-radius: 4px; }
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
  .cards-when-narrow td.remedy::before { content: '→ '; float: none; margin: 0; color: var(--accent); }
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
  thead { display: table-header-group; }
  tr, .cards li, .findings li, .heat-map, .bar { break-inside: avoid; }
  h2 { break-after: avoid; }
  th, td { padding: 4px 6px; }
  th button { padding: 4px 6px; }
  td.why { min-width: 280px; }
  .scroll { overflow: visible; }
}
`;

export const AUDIT_STYLE = [BASE, SUMMARY, TABLES, NARROW, PRINT].join('');
