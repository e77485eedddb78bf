// One screen that explains a Service: wanted, given, used, effective, and the causes with their remedies.
// The closed loop of a Service on one screen: what it aims at, what each zone asks for and gets, and what changed last.
import type { ExplainedTraffic } from '../diagnosis/audit/audit.ts';
import type { Explanation } from '../diagnosis/explain/explain.ts';
import type { LoopReport } from '../diagnosis/explain/facts.ts';
import type { Cause } from '../diagnosis/explain/reasons.ts';

type UsedReport = Explanation['used'][number];
import { clean, evidenceText, indented, paintFor, percentText, renderTable, unseenText, wrapText } from './text.ts';
import type { Paint } from './text.ts';
import { explainedTraffic } from './measured.ts';
import { certaintyMark, routerHead, routersText } from './routers.ts';

const sharesOf = ({ inZonePercent, boundPercent, maxUtilizationPercent }: LoopReport): string[] => [
  ...(inZonePercent === undefined ? [] : [`in zone ${inZonePercent} % of the demand`]),
  ...(boundPercent === undefined ? [] : [`at most ${boundPercent} % could be`]),
  ...(maxUtilizationPercent === undefined ? [] : [`busiest endpoint ${maxUtilizationPercent} %`]),
];

const zonesTable = ({ zones }: LoopReport): string =>
  zones.length === 0
    ? ''
    : renderTable(
        ['ZONE', 'DEMAND', 'ENDPOINTS', 'UTILISATION', 'SPILL'],
        zones.map(({ zone, demand, endpoints, utilizationPercent, spillPercent }) => [
          zone,
          demand,
          String(endpoints),
          `${utilizationPercent} %`,
          `${spillPercent} %`,
        ]),
      );

/** `indent`: of every line but the first, which begins with the title. */
const loopText = (loop: LoopReport, columns: number, indent: string, paint: Paint): string => {
  const { mode, targetPercent, conditions, lastChange, inForce } = loop;
  const mark = inForce ? paint.good('✓') : paint.bad('✗');
  const head = [`${mode}, target ${targetPercent} %`, ...sharesOf(loop)].join('; ');
  const states = conditions.map(({ type, status, reason }) => `${type}=${status} (${reason})`).join(', ');
  const lines = [
    ...(states === '' ? [] : [states]),
    ...(lastChange === undefined
      ? []
      : [`Last change ${lastChange.time}, ${lastChange.reason}: ${lastChange.message}`]),
  ];
  return [
    `${paint.strong('LOOP')}       ${mark} ${head}\n`,
    indented(zonesTable(loop), indent),
    ...lines.map((line) => wrapText(clean(line), columns, indent)),
  ].join('');
};

interface ExplanationStyle {
  readonly color: boolean;
  /** Every Node by itself, and all causes in full. */
  readonly wide: boolean;
  /** Characters a line. */
  readonly columns: number;
}

const HUNDRED = 100;
const INDENT = '           ';

const dash = (text: string): string => (text === '' ? '-' : text);

/** By the measured demand, where the plan in force knows it; undefined where nothing spills. */
const spillText = ({ effective, loop }: Explanation): string | undefined => {
  if (loop?.inForce !== true) return undefined;
  const stays = loop.inZonePercent ?? Math.round((effective.inZoneShare ?? 0) * HUNDRED);
  if (stays >= HUNDRED) return undefined;
  return `${stays} % of connections stay in their zone; ${HUNDRED - stays} % spill as planned`;
};

/** What stays of the connections; where nothing can be predicted, why not. */
const shareText = ({ inZoneShare, noShare }: Explanation['effective']): string =>
  inZoneShare === null
    ? `no share can be predicted (${noShare})`
    : `${percentText(inZoneShare)} of connections stay in their zone`;

const ROUNDING = 0.005;

/** Every zone keeps to its hints, and those lend endpoints across zones. */
const lends = ({ effective, loop }: Explanation): boolean =>
  effective.effective &&
  loop?.inForce !== true &&
  effective.inZoneShare !== null &&
  effective.inZoneShare < 1 - ROUNDING;

/** Some of its served zones do, beside others that are not served. */
const lendsSome = ({ effective: { unserved }, loop, used }: Explanation): boolean =>
  loop?.inForce !== true &&
  used.some(({ zone, mode, inZone }) => mode !== '' && (inZone ?? 1) < 1 && !unserved.includes(zone));

const keptText = (report: Explanation): string => {
  const share = spillText(report) ?? shareText(report.effective);
  return lends(report) ? `${share}, as the hints direct` : share;
};

/** What is missing for an answer. */
const unknownText = ({ effective, routers }: Explanation): string =>
  `${routers.some(({ certainty }) => certainty === 'unknown') ? 'the data plane of some Nodes cannot be determined; ' : ''}${shareText(effective)}`;

const failingText = ({ failing }: Explanation['effective']): string =>
  failing.length === 0 ? '' : `; those of clients in ${failing.join(', ')} fail`;

const entersText = ({ scope: { enters } }: Explanation): string =>
  enters === '' ? '' : `; traffic from outside enters ${enters}`;

/** The tick stands alone only where nothing is known to go around the cluster IP, and what would show it was read. */
const scopedText = (report: Explanation, alone: string): string => {
  const { around, unseen } = report.scope;
  const more = around.length > 2 ? [`${around.length - 2} more do, or may`] : [];
  const limits = [
    ...around
      .slice(0, 2)
      .map(({ client, object, possible }) => `${client} (${object}) ${possible ? 'may go' : 'goes'} around it`),
    ...more,
    ...(unseen.length === 0 ? [] : [`who else reaches its Pods was not seen (${unseen.join(', ')})`]),
  ];
  const kept = keptText(report);
  const enters = entersText(report);
  if (limits.length === 0 && enters === '') return `${alone}${kept}`;
  return clean(`${[`through its cluster IP ${kept}`, ...limits].join('; ')}${enters}`);
};

const verdictLine = (report: Explanation, paint: Paint): string => {
  const { verdict, effective } = report;
  switch (verdict) {
    case 'Effective':
      return paint.good(`✓ ${scopedText(report, 'effective: ')}`);
    case 'Assumed':
      return paint.strong(`~ effective if ${assumedText(report)}, which is assumed: ${scopedText(report, '')}`);
    case 'Unknown':
      return paint.strong(`? not known: ${unknownText(report)}`);
    case 'NotWanted':
      return paint.bad(
        `✗ not wanted: the Service has no recognised topology setting; ${shareText(effective)}${entersText(report)}`,
      );
    case 'Ineffective':
      return paint.bad(`✗ ineffective: ${shareText(effective)}${failingText(effective)}${entersText(report)}`);
  }
};

/** `kube-proxy routes`, of the groups that are assumed. */
const assumedText = ({ routers }: Explanation): string => {
  const titles = new Set(routers.filter(({ certainty }) => certainty === 'assumed').map(({ title }) => title));
  return `${[...titles].join(' and ')} routes`;
};

const mark = (good: boolean, paint: Paint): string => (good ? paint.good('✓') : paint.bad('✗'));

const wantedText = ({ wanted }: Explanation, paint: Paint): string => {
  const { strategy, by } = wanted;
  const text = strategy === undefined ? clean(by) : `${strategy}, by ${clean(by)}`;
  return `${paint.strong('WANTED')}     ${mark(wanted.wanted, paint)} ${by === '' ? 'no' : text}\n`;
};

const givenText = ({ given, loop }: Explanation, paint: Paint): string => {
  const lines = given.map(({ addressType, ready, hinted }) =>
    ready === 0
      ? `${mark(false, paint)} ${addressType}: no ready endpoint\n`
      : `${mark(hinted === (loop?.spreadOnPurpose === true ? 0 : ready), paint)} ${addressType}: ${hinted} of ${ready} ready endpoints carry a zone hint\n`,
  );
  const rows = given.flatMap(({ addressType, zones }) =>
    Object.entries(zones).map(([zone, { endpoints, hinted }]) => [
      addressType,
      zone === '' ? '(none)' : zone,
      String(endpoints),
      String(hinted),
    ]),
  );
  const table = rows.length === 0 ? '' : indented(renderTable(['FAMILY', 'ZONE', 'ENDPOINTS', 'HINTS'], rows), INDENT);
  return `${paint.strong('GIVEN')}      ${lines.join(INDENT)}${table}`;
};

const usedRow = (row: UsedReport, nodes: string, dual: boolean): string[] => {
  const { zone, addressType, port, version, mode, endpoints, inZone, reason } = row;
  return [
    zone === '' ? '(none)' : zone,
    nodes,
    ...(dual ? [addressType] : []),
    dash(port),
    version,
    dash(mode),
    String(endpoints),
    percentText(inZone),
    reason,
  ];
};

/** Nodes that are treated alike are one row, unless every Node is asked for. */
const usedRows = (used: readonly UsedReport[], wide: boolean, dual: boolean): string[][] => {
  if (wide) return used.map((row) => usedRow(row, row.node, dual));
  const groups = new Map<string, { row: UsedReport; nodes: number }>();
  for (const row of used) {
    const key = JSON.stringify({ ...row, node: '' });
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { row, nodes: 1 });
    else group.nodes += 1;
  }
  return [...groups.values()]
    .map(({ row, nodes }) => usedRow(row, String(nodes), dual))
    .sort((a, b) => ((a[0] ?? '') < (b[0] ?? '') ? -1 : 1));
};

const usedText = ({ used, loop }: Explanation, { wide }: ExplanationStyle, paint: Paint): string => {
  const filtered = used.filter(({ mode }) => mode !== '').length;
  const unknown = used.filter(({ reason }) => reason === 'RouterUnknown').length;
  const good = filtered === (loop?.spreadOnPurpose === true ? 0 : used.length);
  const kept = `${filtered} of ${used.length} routes follow hints`;
  const line =
    unknown === 0
      ? `${mark(good, paint)} ${kept}\n`
      : `${certaintyMark('unknown', paint)} ${unknown < used.length ? `${kept}, ` : ''}${unknown} not known: the data plane cannot be determined\n`;
  const none = `${mark(false, paint)} no route: no ready Node is known\n`;
  if (used.length === 0) return `${paint.strong('USED')}       ${none}`;
  const dual = new Set(used.map(({ addressType }) => addressType)).size > 1;
  const about = ['ZONE', wide ? 'NODE' : 'NODES', ...(dual ? ['FAMILY'] : []), 'PORT'];
  const headers = [...about, 'VERSION', 'MODE', 'ENDPOINTS', 'IN ZONE', 'RULE'];
  return `${paint.strong('USED')}       ${line}${indented(renderTable(headers, usedRows(used, wide, dual)), INDENT)}`;
};

const effectiveText = (report: Explanation, paint: Paint): string => {
  const { effective, loop } = report;
  const { clientZones, unserved } = effective;
  const title = paint.strong('EFFECTIVE');
  if (clientZones.length === 0) return `${title}  ${mark(false, paint)} no client zone is known\n`;
  const served = clientZones.length - unserved.length;
  const zoneless = effective.effective || unserved.length > 0 || !report.used.some(({ zone }) => zone === '');
  const left = unserved.length > 0 ? `; not ${unserved.join(', ')}` : zoneless ? '' : ', but Nodes without zone do not';
  const planned = loop?.inForce === true && effective.effective;
  const what = planned
    ? 'have their traffic as planned'
    : lends(report) || lendsSome(report)
      ? 'follow their hints, which lend endpoints to other zones'
      : 'keep their traffic';
  if (report.verdict === 'Unknown') {
    const rest = served === 0 ? '' : `${served} of ${clientZones.length} client zones ${what}; `;
    return `${title}  ${certaintyMark('unknown', paint)} ${rest}not known of ${unserved.join(', ')}\n`;
  }
  const sure = effective.effective && report.certainty !== 'seen' ? certaintyMark(report.certainty, paint) : undefined;
  return `${title}  ${sure ?? mark(effective.effective, paint)} ${served} of ${clientZones.length} client zones ${what}${left}\n`;
};

/** Clients to whom all of the above does not apply. */
const bypassesText = ({ bypasses }: Explanation, columns: number, paint: Paint): string => {
  const lines = bypasses.flatMap(({ client, evidence, decides, setting }) => [
    wrapText(clean(`! ${client} (${evidence.object}): ${decides}`), columns, INDENT),
    ...(setting === '' ? [] : [wrapText(clean(`→ ${setting}`), columns, `${INDENT}  `)]),
  ]);
  return lines.join('').replace(INDENT, `${paint.strong('BYPASSED')}   `);
};

const causeText = ({ reason, evidence, remedy, fix = [] }: Cause, columns: number, paint: Paint): string =>
  [
    `  ${paint.strong(reason)}\n`,
    evidenceText(evidence, remedy, columns),
    // Not wrapped: they are copied.
    ...fix.map((command) => `      ${clean(command)}\n`),
  ].join('');

const causesText = ({ causes, verdict }: Explanation, columns: number, paint: Paint): string => {
  const [first, ...others] = causes;
  if (first === undefined) return '';
  const title = verdict === 'Effective' || verdict === 'Assumed' ? 'To look at' : 'First cause';
  const rest = others.map((each) => causeText(each, columns, paint)).join('');
  const more = rest === '' ? '' : `\n${paint.strong('Also')}\n${rest}`;
  return `\n${paint.strong(title)}\n${causeText(first, columns, paint)}${more}`;
};

/** `measured`: its traffic, where that was measured. */
export const renderExplanation = (
  report: Explanation,
  style: ExplanationStyle,
  measured?: ExplainedTraffic,
): string => {
  const paint = paintFor(style.color);
  const columns = Math.max(style.columns, 60);
  const head = `Service ${report.namespace}/${report.name} (Kubernetes ${report.kubernetesVersion}, ${routerHead(report)})`;
  const spread =
    report.spread === ''
      ? ''
      : wrapText(clean(report.spread), columns, INDENT).replace(INDENT, `${paint.strong('SPREAD')}     `);
  const unseen = unseenText(report.unseen, columns, paint);
  return [
    `${paint.strong(head)}\n${verdictLine(report, paint)}\n\n`,
    routersText(report, { title: 'ROUTER', indent: INDENT, columns, paint }),
    wantedText(report, paint),
    givenText(report, paint),
    usedText(report, style, paint),
    effectiveText(report, paint),
    measured === undefined ? '' : explainedTraffic(measured, { indent: INDENT, columns, paint }),
    bypassesText(report, columns, paint),
    report.loop === undefined ? '' : loopText(report.loop, columns, INDENT, paint),
    spread,
    causesText(report, columns, paint),
    unseen,
  ].join('');
};
