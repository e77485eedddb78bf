// One screen that explains a Service: wanted, given, used, effective, its closed loop, and the causes with their remedies.
import type { ExplainedTraffic } from '../diagnosis/audit/audit.ts';
import { isEffectiveInPart } from '../diagnosis/audit/service.ts';
import type { Explanation } from '../diagnosis/explain/explain.ts';
import type { MeasuredPast } from '../diagnosis/measured.ts';
import type { Cause } from '../diagnosis/explain/reasons.ts';
import { percentText } from './figures.ts';
import { type Column, type Screen, type Style, clean, indented, screenFor, tableOf, zoneText } from './text.ts';
import { loopText } from './loop.ts';
import { explainedTraffic, measuredAlso, metersText } from './measured.ts';
import { certaintyMark, routerHead, routersText } from './routers.ts';

type UsedReport = Explanation['used'][number];

const INDENT = ' '.repeat(11);

/** By the measured demand, where the plan in force knows it; undefined where nothing spills. */
const spillText = ({ effective, loop }: Explanation): string | undefined => {
  const planned = loop?.inZonePercent ?? Math.round((effective.inZoneShare ?? 0) * 100);
  const stays = loop?.inForce === true ? planned : 100;
  return stays >= 100 ? undefined : `${stays} % of connections stay in their zone; ${100 - stays} % spill as planned`;
};

/** What all clients that are seen go through in place of the cluster IP. */
const wayOf = ({ scope: { around } }: Pick<Explanation, 'scope'>) =>
  around.find((own) => own.client !== 'headless' && own.all === true && !own.possible && own.byHints !== true);

/** No client of the cluster IP is seen. */
const isUnseen = ({ scope }: Pick<Explanation, 'scope'>): boolean => scope.foreign || wayOf({ scope }) !== undefined;

/** What stays of the connections; where nothing can be predicted, why not. */
const shareText = ({ effective, used, given, scope }: Explanation, through = ''): string => {
  const { inZoneShare, noShare, failing, failingInPart, downZones } = effective;
  const down = downZones.length === 0 ? '' : `; no Node of ${downZones.join(', ')} is ready`;
  if (effective.effective && effective.clientZones.length === 0) return 'connections stay on their Node';
  if (inZoneShare === null) return `no share can be predicted (${noShare})${down}`;
  const arrive = failing.length + failingInPart.length > 0 || used.some(({ endpoints }) => endpoints === 0);
  // What has no zone counts as crossing, and may not.
  const zones = [...used.map(({ zone }) => zone), ...given.flatMap((family) => Object.keys(family.zones))];
  return `${zones.includes('') ? 'at least ' : ''}${percentText(inZoneShare)} of connections${through}${arrive ? ' that arrive' : ''} ${isUnseen({ scope }) ? 'would stay' : 'stay'} in their zone${down}`;
};

/** Zones that are served keep to their hints, and some of these lend endpoints across zones. */
const lends = ({ effective: { unserved }, loop, used }: Explanation): boolean =>
  loop?.inForce !== true &&
  used.some(({ zone, mode, inZone }) => mode !== '' && (inZone ?? 1) < 1 && !unserved.includes(zone));

const failingText = ({ failing, failingInPart }: Explanation['effective']): string => {
  const all = failing.length === 0 ? '' : `; those of clients in ${failing.join(', ')} fail`;
  return failingInPart.length === 0 ? all : `${all}; some of those of clients in ${failingInPart.join(', ')} fail`;
};

const phrases = (texts: readonly string[]): string => texts.filter((text) => text !== '').join('; ');

const entersText = ({ scope: { enters } }: Explanation): string =>
  enters === '' ? '' : `traffic from outside enters ${enters}`;

/** What meters saw go past the cluster IP, with where they would see it; empty where nothing was measured. */
const pastText = (past: MeasuredPast | undefined): string => {
  if (past === undefined) return '';
  const { connections, crossing, share } = past;
  const over = metersText(past);
  if (share === null) return `no connection was measured, through it or past it (${over})`;
  if (connections === 0) return `nothing measured past it (${over})`;
  const crosses = crossing === 0 ? 'none of them' : `${percentText(crossing / connections)} of these`;
  return `measured: ${percentText(share)} of its connections go around it, ${crosses} to another zone (${over})`;
};

/** Who else goes around the cluster IP, or may, and what was measured of it. */
const aroundTexts = (report: Explanation): string[] => {
  const others = report.scope.around.filter((each) => each !== wayOf(report));
  return [
    pastText(report.scope.past),
    ...others.slice(0, 2).map(({ client, object, possible, watches, byHints, keeps, behind }) => {
      if (behind === true) return `from its Pods requests ${possible ? 'may ' : ''}go on to others (${object})`;
      if (client === 'kube-apiserver') return `${client} (${object}) calls it and keeps its connections`;
      const why = watches === undefined ? '' : `watches ${watches} and `;
      const how = byHints === true ? ', by the same hints' : keeps === true && !possible ? ' and keeps to zones' : '';
      return `${client} (${object}) ${why}${possible ? 'may go' : 'goes'} around it${how}`;
    }),
    ...(others.length > 2 ? [`${others.length - 2} more do, or may`] : []),
  ];
};

/** Causes that neither a tick nor a missing setting is to hide, some only the latter; the first cause stands first. */
const LIMITS: readonly (readonly [Cause['reason'], string, of?: Explanation['verdict']])[] = [
  ['SingleEndpoint', 'it has one ready endpoint (SingleEndpoint)', 'NotWanted'],
  ['PodsNotSpread', 'its Pods are not spread over zones (PodsNotSpread)', 'NotWanted'],
  ['PodsWaiting', 'Pods of it wait for a Node (PodsWaiting)'],
  ['PortOfSomePods', 'not all of its Pods are seen to have its port (PortOfSomePods)'],
  ['PublishedNotReady', 'not all of its Pods are ready (PublishedNotReady)', 'NotWanted'],
  ['SlicesBehind', 'its slices are not up to date (SlicesBehind)'],
  ['NodeIgnored', 'not on their own Node, as asked'],
  ['UnevenLoad', 'its endpoints get uneven shares (UnevenLoad)'],
  ['StickyClients', 'clients may keep to one endpoint (StickyClients)'],
];

/** Clients of API servers keep to one endpoint everywhere: below the tick, not beside it. */
const limitTexts = ({ causes, name, verdict }: Explanation): string[] =>
  LIMITS.flatMap(([cause, text, of = verdict]) => {
    const isTheirs = cause === 'StickyClients' && name.endsWith('apiserver');
    return of === verdict && causes.some(({ reason }) => reason === cause) && !isTheirs ? [text] : [];
  });

/** Nothing is known to go around the cluster IP, and what would show it was read. */
const isAlone = ({ scope: { around, unseen, past, enters } }: Explanation): boolean =>
  enters === '' && around.length + unseen.length === 0 && (past === undefined || past.settled);

const scopedText = (report: Explanation, alone: string): string => {
  const { unseen } = report.scope;
  const share = `${spillText(report) ?? shareText(report)}${lends(report) ? ', as the hints direct' : ''}`;
  const kept = `${isAlone(report) ? alone : 'through its cluster IP '}${share}${failingText(report.effective)}`;
  const who = unseen.length === 0 ? '' : `who else reaches its Pods was not seen (${unseen.join(', ')})`;
  const own = [kept, ...limitTexts(report), ...aroundTexts(report), who];
  return clean(phrases(report.scope.foreign ? [entersText(report), ...own] : [...own, entersText(report)]));
};

/** What crosses is of connections through the cluster IP: who goes around it is named here as well, first where no other client is seen. */
const missedText = (report: Explanation, verdict: string): string => {
  const { effective, scope } = report;
  const around = effective.inZoneShare === null ? [] : aroundTexts(report);
  const others = scope.foreign ? [entersText(report), ...around] : [...around, entersText(report)];
  const whose = isUnseen(report) ? `of ${scope.foreign ? 'clients inside' : 'others'}, of which none is seen, ` : '';
  const [among = '', all] = [scope.seenShare, effective.inZoneShare].map(percentText);
  const theirs = among === all ? '' : `, and of theirs ${among}`;
  const isAll = scope.seenIn.length === 0 || whose !== '';
  const seen = isAll ? '' : `; clients seen are in ${scope.seenIn.join(', ')} only${theirs}`;
  const through = phrases(others) === '' || whose !== '' ? '' : ' through its cluster IP';
  const share = shareText(report, isAll || theirs === '' ? through : `${through} from all Nodes`);
  const said = [`${verdict}${whose}${share}${seen}${failingText(effective)}`, ...limitTexts(report)];
  const first = LIMITS.find(([reason, text]) => reason === report.causes[0]?.reason && said.includes(text))?.[1];
  const own = phrases([...new Set([first ?? '', ...said])]);
  // What clients learn from members decides, whatever is asked for.
  const learned = scope.around.filter(({ client }) => client === 'members' || client === 'headless-service');
  const isLed = scope.foreign || learned.some(({ possible, behind }) => !possible && behind !== true);
  return clean(phrases(isLed ? [...others, own] : [own, ...others]));
};

/** A setting that this version does not act on is there, and named. */
const unwantedText = ({ wanted: { by }, causes, kubernetesVersion, effective }: Explanation): string => {
  if (by !== '') return `not recognised: ${clean(by)} does nothing here`;
  const has = (...codes: Cause['reason'][]): boolean => causes.some(({ reason }) => codes.includes(reason));
  if (has('PolicyIgnored')) return 'not every Node reads internalTrafficPolicy Local';
  if (has('ApiServer', 'ExternalName', 'Headless', 'NoSelector')) return 'no setting of this Service makes zones count';
  if (has('NoEndpoints') && effective.noShare !== '') return effective.noShare;
  const isOld = Number(kubernetesVersion.split('.')[1]) < 21;
  return `not wanted: ${isOld ? 'before Kubernetes 1.21 there are no hints to ask for' : 'the Service has no recognised topology setting'}`;
};

const unseenText = ({ routers }: Explanation): string =>
  routers.some(({ certainty }) => certainty === 'unknown') ? 'the data plane of some Nodes cannot be determined; ' : '';

/** Of connections through the cluster IP. */
const throughLine = (report: Explanation): readonly [paint: 'good' | 'bad' | 'strong', mark: string, text: string] => {
  switch (report.verdict) {
    case 'Effective':
      if (isEffectiveInPart(report) || wayOf(report) || report.scope.enters + failingText(report.effective) !== '')
        return ['strong', '!', scopedText(report, '')];
      return ['good', '✓', scopedText(report, 'effective: ')];
    case 'Assumed':
      return ['strong', '~', `${assumedText(report)}, which is assumed: ${scopedText(report, '')}`];
    case 'Unknown':
      return ['strong', '?', `not known: ${unseenText(report)}${shareText(report)}`];
    case 'NotWanted':
      return ['bad', '✗', missedText(report, `${unwantedText(report)}; `)];
    case 'Ineffective':
      return ['bad', '✗', missedText(report, 'ineffective: ')];
  }
};

/** All clients that are seen keep to their zone by what they go through, and each of their zones has endpoints. */
const isKeptAround = (report: Explanation): boolean =>
  wayOf(report)?.keeps === true &&
  report.effective.clientZones.every((zone) => report.given.some(({ zones }) => (zones[zone]?.endpoints ?? 0) > 0));

/** What decides for all clients that are seen stands first. */
const verdictLine = (report: Explanation, screen: Screen): string => {
  const [paint, mark, text] = throughLine(report);
  const way = wayOf(report);
  if (way === undefined || (way.client !== 'kuma' && report.causes[0]?.reason === 'NoEndpoints'))
    return screen[paint](`${mark} ${text}`);
  const how = way.keeps === true ? 'keeps to zones' : (way.how ?? 'is not seen to keep to zones');
  const through = `all clients seen go through ${way.client} (${way.object}), which ${how}; ${text}`;
  return isKeptAround(report) ? screen.good(`✓ ${through}`) : screen[paint](`${mark} ${through}`);
};

/** `effective if kube-proxy routes`, of the groups that are assumed; what enters from outside is none of it. */
const assumedText = ({ routers, scope }: Explanation): string => {
  const assumed = routers.filter(({ certainty }) => certainty === 'assumed');
  return `${scope.enters === '' && scope.around.length + scope.unseen.length === 0 ? 'effective ' : ''}if ${[...new Set(assumed.map(({ title }) => title))].join(' and ')} routes`;
};

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
  const kept = `${filtered} of ${used.length} routes follow hints${wayOf(report) ? ' (no client seen takes the cluster IP)' : ''}`;
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
      : `${wayOf(report) ? 'would ' : ''}keep ${(effective.effective && !isAlone(report)) || wayOf(report) ? 'what goes through the cluster IP' : 'their traffic'}`;
  if (report.verdict === 'Unknown') {
    const rest = served === 0 ? '' : `${served} of ${clientZones.length} client zones ${what}; `;
    const of = unserved.length === 0 ? 'endpoints of other clusters' : unserved.join(', ');
    return line(`${certaintyMark('unknown', screen)} ${rest}not known of ${of}`);
  }
  const sure = effective.effective && report.certainty !== 'seen' ? certaintyMark(report.certainty, screen) : undefined;
  const sign = throughLine(report)[1] === '!' && !isKeptAround(report) ? screen.strong('!') : (sure ?? mark(good));
  return line(`${sign} ${served} of ${clientZones.length} client zones ${what}${left}`);
};

/** Clients to whom all of the above does not apply. */
const bypassesText = ({ bypasses }: Explanation, { under, wrap }: Screen): string => {
  const lines = bypasses.flatMap(({ client, evidence, decides, setting }) => [
    wrap(`! ${client} (${evidence.object}): ${decides}`, INDENT),
    ...(setting === '' ? [] : [wrap(`→ ${setting}`, `${INDENT}  `)]),
  ]);
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
  const isGood = verdict === 'Effective' || verdict === 'Assumed' || isKeptAround(report);
  const rest = others.map((each) => causeText(each, screen)).join('');
  const more = rest === '' ? '' : `\n${screen.strong('Also')}\n${rest}`;
  return `\n${screen.strong(isGood ? 'To look at' : 'First cause')}\n${causeText(first, screen)}${more}`;
};

export const renderExplanation = (report: Explanation, style: Style, measured?: ExplainedTraffic): string => {
  const screen = screenFor(style);
  const { spread, loop } = report;
  const head = `Service ${report.namespace}/${report.name} (Kubernetes ${report.kubernetesVersion}, ${routerHead(report)})`;
  return [
    `${screen.strong(head)}\n${verdictLine(report, screen)}${measured === undefined ? '' : measuredAlso(measured)}\n\n`,
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
