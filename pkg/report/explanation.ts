// One screen that explains a Service: wanted, given, used, effective, its closed loop, and the causes with their remedies.
import type { ExplainedTraffic } from '../diagnosis/audit/audit.ts';
import { isKeptAround, wayOf } from '../diagnosis/explain/around.ts';
import type { Explanation } from '../diagnosis/explain/explain.ts';
import type { Cause } from '../diagnosis/explain/reasons.ts';
import { percentText } from './figures.ts';
import { type Column, type Screen, type Style, clean, indented, screenFor, tableOf, zoneText } from './text.ts';
import { loopText } from './loop.ts';
import { explainedTraffic, measuredAlso } from './measured.ts';
import { isAlone, lends, firstLineOf } from './first-line.ts';
import { certaintyMark, routerHead, routersText } from './routers.ts';

type UsedReport = Explanation['used'][number];

const INDENT = ' '.repeat(11);

const wantedText = ({ wanted, kubernetesVersion }: Explanation, { under, mark }: Screen): string => {
  // kubernetes/kubernetes#134457
  const isRenamed = Number(kubernetesVersion.split('.')[1]) > 33;
  const by = wanted.by.replace(/PreferClose$/, isRenamed ? '$& (the older name of PreferSameZone)' : '$&');
  const text = wanted.strategy === undefined ? clean(by) : `${wanted.strategy}, by ${clean(by)}`;
  return under('WANTED', INDENT, `${INDENT}${mark(wanted.wanted)} ${by === '' ? 'no' : text}\n`);
};

type GivenZone = readonly [family: string, zone: string, { readonly endpoints: number; readonly hinted: number }];

const GIVEN: readonly Column<GivenZone>[] = [
  ['FAMILY', ([family]) => family],
  ['ZONE', ([, zone]) => zoneText(zone)],
  ['ENDPOINTS', ([, , { endpoints }]) => String(endpoints)],
  ['HINTS', ([, , { hinted }]) => String(hinted)],
];

const givenText = ({ given, loop }: Explanation, { under, mark }: Screen): string => {
  const lines = given.map(({ addressType, ready, hinted }) =>
    ready === 0
      ? `${mark(false)} ${addressType}: no ready endpoint\n`
      : `${mark(hinted === (loop?.spreadOnPurpose === true ? 0 : ready))} ${addressType}: ${hinted} of ${ready} ready endpoints carry a zone hint\n`,
  );
  const rows = given.flatMap(({ addressType, zones }) =>
    Object.entries(zones).map(([zone, counts]): GivenZone => [addressType, zone, counts]),
  );
  return `${under('GIVEN', INDENT, `${INDENT}${lines.join(INDENT)}`)}${rows.length === 0 ? '' : indented(tableOf(GIVEN, rows), INDENT)}`;
};

/** Nodes that are treated alike are one row, unless every Node is asked for. */
const usedTable = (used: readonly UsedReport[], wide: boolean): string => {
  const groups = [...Map.groupBy(used, (row) => JSON.stringify({ ...row, node: '' })).values()];
  const alike = groups.flatMap((own) => own.slice(0, 1).map((row) => ({ ...row, node: String(own.length) })));
  const rows = wide ? used : alike.sort((a, b) => (zoneText(a.zone) < zoneText(b.zone) ? -1 : 1));
  const dual = new Set(used.map(({ addressType }) => addressType)).size > 1;
  const family: Column<UsedReport> = ['FAMILY', ({ addressType }) => addressType];
  const columns: readonly Column<UsedReport>[] = [
    ['ZONE', ({ zone }) => zoneText(zone)],
    [wide ? 'NODE' : 'NODES', ({ node }) => node],
    ...(dual ? [family] : []),
    ['PORT', ({ port }) => port || '-'],
    ['VERSION', ({ version }) => version],
    ['MODE', ({ mode }) => mode || '-'],
    ['ENDPOINTS', ({ endpoints }) => String(endpoints)],
    ['IN ZONE', ({ inZone }) => percentText(inZone)],
    ['RULE', ({ reason }) => reason],
  ];
  return indented(tableOf(columns, rows), INDENT);
};

const usedText = (report: Explanation, screen: Screen): string => {
  const { used, loop } = report;
  const { under, mark, wide } = screen;
  if (used.length === 0) return under('USED', INDENT, `${INDENT}${mark(false)} no route: no ready Node is known\n`);
  const filtered = used.filter(({ mode }) => mode !== '').length;
  const unknown = used.filter(({ reason }) => reason === 'RouterUnknown').length;
  const kept = `${filtered} of ${used.length} routes follow hints${wayOf(report.scope.around) ? ' (no client seen takes the cluster IP)' : ''}`;
  const line =
    unknown === 0
      ? `${mark(filtered === (loop?.spreadOnPurpose === true ? 0 : used.length))} ${kept}`
      : `${certaintyMark('unknown', screen)} ${unknown < used.length ? `${kept}, ` : ''}${unknown} not known: the data plane cannot be determined`;
  return `${under('USED', INDENT, `${INDENT}${line}\n`)}${usedTable(used, wide)}`;
};

const effectiveText = (report: Explanation, screen: Screen): string => {
  const { effective, loop } = report;
  const { clientZones, unserved, effective: good } = effective;
  const { mark } = screen;
  const line = (text: string): string => screen.under('EFFECTIVE', INDENT, `${INDENT}${text}\n`);
  if (clientZones.length === 0) return line(`${mark(good)} ${good ? 'on every Node' : 'no client zone is known'}`);
  const served = clientZones.length - unserved.length;
  const zoneless = effective.effective || unserved.length > 0 || !report.used.some(({ zone }) => zone === '');
  const left = unserved.length > 0 ? `; not ${unserved.join(', ')}` : zoneless ? '' : ', but Nodes without zone do not';
  const planned = loop?.inForce === true && effective.effective;
  const what = planned
    ? 'have their traffic as planned'
    : lends(report)
      ? 'follow their hints, which lend endpoints to other zones'
      : `${wayOf(report.scope.around) ? 'would ' : ''}keep ${(effective.effective && !isAlone(report)) || wayOf(report.scope.around) ? 'what goes through the cluster IP' : 'their traffic'}`;
  if (report.verdict === 'Unknown') {
    const rest = served === 0 ? '' : `${served} of ${clientZones.length} client zones ${what}; `;
    const of = unserved.length === 0 ? 'endpoints of other clusters' : unserved.join(', ');
    return line(`${certaintyMark('unknown', screen)} ${rest}not known of ${of}`);
  }
  const sure = effective.effective && report.certainty !== 'seen' ? certaintyMark(report.certainty, screen) : undefined;
  const sign = firstLineOf(report)[1] === '!' ? screen.strong('!') : (sure ?? mark(good));
  return line(`${sign} ${served} of ${clientZones.length} client zones ${what}${left}`);
};

/** Clients to whom all of the above does not apply; what a cause has in full is said there alone. */
const bypassesText = ({ bypasses, causes }: Explanation, { under, wrap }: Screen): string => {
  const lines = bypasses.flatMap(({ client, evidence: { object }, decides, setting }) => {
    const at = causes.find(({ evidence }) => evidence.includes(decides));
    const way = setting === '' || at?.remedy.includes(setting) ? '' : wrap(`→ ${setting}`, `${INDENT}  `);
    return `${wrap(`! ${client} (${object}): ${at ? `see ${at.reason} below` : decides}`, INDENT)}${way}`;
  });
  return under('BYPASSED', INDENT, lines.join(''));
};

const causeText = ({ reason, evidence, remedy, fix = [] }: Cause, screen: Screen): string => {
  // Not wrapped: they are copied.
  const lines = fix.map((command) => `      ${clean(command)}\n`).join('');
  return `  ${screen.strong(reason)}\n${screen.evidence(evidence, remedy)}${lines}`;
};

/** A command that mends several causes is printed with the first of them, and named with the others. */
const saidOnce = (causes: readonly Cause[]): readonly Cause[] =>
  causes.map((each, at) => {
    const { fix = [] } = each;
    const above = (line: string) => causes.slice(0, at).find((own) => own.fix?.includes(line));
    const left = fix.filter((line) => above(line) === undefined);
    const under = fix.flatMap((line) => above(line)?.reason ?? [])[0];
    return under === undefined ? each : { ...each, fix: [...left, `# see the lines under ${under} above`] };
  });

const causesText = (report: Explanation, screen: Screen): string => {
  const { causes, verdict } = report;
  const [first, ...others] = saidOnce(causes);
  if (first === undefined) return '';
  const isGood = verdict === 'Effective' || verdict === 'Assumed' || isKeptAround(report.scope);
  const rest = others.map((each) => causeText(each, screen)).join('');
  const more = rest === '' ? '' : `\n${screen.strong('Also')}\n${rest}`;
  return `\n${screen.strong(isGood ? 'To look at' : 'First cause')}\n${causeText(first, screen)}${more}`;
};

export const renderExplanation = (report: Explanation, style: Style, measured?: ExplainedTraffic): string => {
  const screen = screenFor(style);
  const { spread, loop } = report;
  const [paint, sign, text] = firstLineOf(report);
  const head = `Service ${report.namespace}/${report.name} (Kubernetes ${report.kubernetesVersion}, ${routerHead(report)})`;
  return [
    `${screen.strong(head)}\n${screen[paint](`${sign} ${text}`)}${measured === undefined ? '' : measuredAlso(measured)}\n\n`,
    routersText(report, INDENT, screen),
    wantedText(report, screen),
    givenText(report, screen),
    usedText(report, screen),
    effectiveText(report, screen),
    measured === undefined ? '' : explainedTraffic(measured, INDENT, screen),
    bypassesText(report, screen),
    loop === undefined ? '' : loopText(loop, INDENT, screen),
    spread === '' ? '' : screen.under('SPREAD', INDENT, screen.wrap(spread, INDENT)),
    causesText(report, screen),
    screen.unseen(report.unseen),
  ].join('');
};
