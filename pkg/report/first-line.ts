// The first line of an explanation: what is wrong and where, or what stays, and who else reaches the Service.
import { isEffectiveInPart } from '../diagnosis/audit/service.ts';
import { isKeptAround, wayOf } from '../diagnosis/explain/around.ts';
import type { Explanation } from '../diagnosis/explain/explain.ts';
import type { MeasuredPast } from '../diagnosis/measured.ts';
import type { Cause } from '../diagnosis/explain/reasons.ts';
import { percentText } from './figures.ts';
import { clean } from './text.ts';
import { metersText } from './measured.ts';

/** By the measured demand, where the plan in force knows it; undefined where nothing spills. */
const spillText = ({ effective, loop }: Explanation): string | undefined => {
  const planned = loop?.inZonePercent ?? Math.round((effective.inZoneShare ?? 0) * 100);
  const stays = loop?.inForce === true ? planned : 100;
  return stays >= 100 ? undefined : `${stays} % of connections stay in their zone; ${100 - stays} % spill as planned`;
};

/** No client of the cluster IP is seen. */
const isUnseen = ({ scope }: Pick<Explanation, 'scope'>): boolean => scope.foreign || wayOf(scope.around) !== undefined;

const downText = ({ effective: { downZones } }: Explanation): string =>
  downZones.length === 0 ? '' : `; no Node of ${downZones.join(', ')} is ready`;

/** What stays of the connections; where nothing can be predicted, why not. */
const shareText = (report: Explanation, through = '', why = ''): string => {
  const { effective, used, given } = report;
  const { inZoneShare, noShare, failing, failingInPart } = effective;
  const down = downText(report);
  if (effective.effective && effective.clientZones.length === 0) return 'connections stay on their Node';
  if (inZoneShare === null) return `no share can be predicted (${noShare})${down}`;
  const arrive = failing.length + failingInPart.length > 0 || used.some(({ endpoints }) => endpoints === 0);
  // What has no zone counts as crossing, and may not.
  const zones = [...used.map(({ zone }) => zone), ...given.flatMap((family) => Object.keys(family.zones))];
  return `${zones.includes('') ? 'at least ' : ''}${percentText(inZoneShare)} of connections${through}${arrive ? ' that arrive' : ''} ${isUnseen(report) ? 'would stay' : 'stay'} in their zone${why}${down}`;
};

/** Zones that are served keep to their hints, and some of these lend endpoints across zones. */
export const lends = ({ effective: { unserved }, loop, used }: Explanation): boolean =>
  loop?.inForce !== true &&
  used.some(({ zone, mode, inZone }) => mode !== '' && (inZone ?? 1) < 1 && !unserved.includes(zone));

const phrases = (texts: readonly string[]): string => texts.filter((text) => text !== '').join('; ');

const failingText = ({ effective: { failing, failingInPart } }: Explanation): string =>
  phrases([
    failing.length === 0 ? '' : `connections of clients in ${failing.join(', ')} fail`,
    failingInPart.length === 0 ? '' : `some connections of clients in ${failingInPart.join(', ')} fail`,
  ]);

const entersText = ({ scope: { enters } }: Explanation): string => enters && `traffic from outside enters ${enters}`;

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

/** What decides for all clients that are seen; empty where these take the cluster IP. */
const wayText = (report: Explanation): string => {
  const way = wayOf(report.scope.around);
  if (way === undefined || (way.client !== 'kuma' && report.causes[0]?.reason === 'NoEndpoints')) return '';
  const how = (way.keeps && !way.onNode ? 'keeps to zones' : way.how) ?? 'is not seen to keep to zones';
  return `all clients seen go through ${way.client} (${way.object}), which ${how}`;
};

/** Who else goes around the cluster IP, or may, and what was measured of it. */
const aroundTexts = (report: Explanation, it = 'it'): string[] => {
  const others = report.scope.around.filter((each) => each !== wayOf(report.scope.around));
  return [
    pastText(report.scope.past),
    ...others.slice(0, 2).map(({ client, object, possible, watches, names, byHints, keeps, behind }) => {
      if (names) return `${object} (${client}) names it, and what acts on that may go around ${it}`;
      if (behind === true) return `from its Pods requests ${possible ? 'may ' : ''}go on to others (${object})`;
      if (client === 'kube-apiserver') return `${client} (${object}) calls it and keeps its connections`;
      const why = watches === undefined ? '' : `watches ${watches} and `;
      const goes = possible ? 'may go' : client === 'members' ? 'go' : 'goes';
      const how = byHints === true ? ', by the same hints' : keeps === true && !possible ? ' and keeps to zones' : '';
      return `${client} (${object}) ${why}${goes} around ${it}${how}`;
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
    return of === verdict && causes.some(({ reason, says }) => reason === cause && !says) && !isTheirs ? [text] : [];
  });

/** Nothing is known to go around the cluster IP, and what would show it was read. */
export const isAlone = ({ scope: { around, unseen, past, enters } }: Explanation): boolean =>
  enters === '' && around.length + unseen.length === 0 && (past === undefined || past.settled);

const scopedText = (report: Explanation, alone: string): string => {
  const { unseen } = report.scope;
  const kept = `${isAlone(report) ? alone : 'through its cluster IP '}${spillText(report) ?? shareText(report)}${lends(report) ? ', as the hints direct' : ''}`;
  const who = unseen.length === 0 ? '' : `who else reaches its Pods was not seen (${unseen.join(', ')})`;
  const faults = [report.causes[0]?.says ?? '', failingText(report)];
  const own = [...faults, kept, ...limitTexts(report), ...aroundTexts(report), who];
  const enters = entersText(report);
  return clean(phrases(report.scope.foreign ? [enters, ...own] : [...own, enters]));
};

const hasCause = ({ causes }: Explanation, ...codes: Cause['reason'][]): boolean =>
  causes.some(({ reason }) => codes.includes(reason));

/** What is wrong: nothing answers, nothing that a setting could change, or nothing asks in words that count; with the share, but not of clients of whom none is seen. */
const wrongText = (report: Explanation, share: string, why: string): string => {
  const { effective, given, kubernetesVersion, verdict } = report;
  const { by } = report.wanted;
  const isDown = hasCause(report, 'NoEndpoints', 'NoReadyEndpoints');
  const isFixed = hasCause(report, 'ApiServer', 'ExternalName', 'Headless', 'NoSelector');
  const fixed = isFixed ? 'no setting of this Service makes zones count' : '';
  const isEmpty = isDown && isFixed && given.every(({ ready }) => ready === 0);
  if (effective.noShare !== '' && (isDown || isFixed))
    return `${phrases([isEmpty ? 'no endpoint is ready' : '', effective.noShare, isDown ? '' : fixed])}${downText(report)}`;
  const fails = effective.inZoneShare === null ? '' : failingText(report);
  const also = isUnseen(report) ? '' : share;
  if (verdict === 'Ineffective') return phrases([fails, also === '' ? `ineffective${why}` : `ineffective: ${also}`]);
  const isOld = Number(kubernetesVersion.split('.')[1]) < 21;
  const unset = `not wanted: ${isOld ? 'before Kubernetes 1.21 there are no hints to ask for' : 'the Service has no recognised topology setting'}`;
  const ignored = hasCause(report, 'PolicyIgnored')
    ? 'not every Node reads internalTrafficPolicy Local'
    : fixed || unset;
  // A setting that this version does not act on is there, and named.
  return phrases([fails, by === '' ? ignored : `not recognised: ${clean(by)} does nothing here`, also]);
};

/** What crosses is of connections through the cluster IP, and of none where no such client is seen: who goes around it is named here as well, and first where it decides. */
const missedText = (report: Explanation): string => {
  const { causes, effective, scope, verdict } = report;
  const [cause, isIneffective] = [causes[0]?.reason, verdict === 'Ineffective'];
  // What clients learn from members decides, whatever is asked for.
  const learned = scope.around.filter(({ client }) => client === 'members' || client === 'headless-service');
  const isLed = scope.foreign || learned.some(({ possible, behind }) => !possible && behind !== true);
  const around = effective.inZoneShare === null ? [] : aroundTexts(report, isLed ? 'its cluster IP' : 'it');
  const isPast = scope.foreign && !scope.around.some(({ firstContact }) => firstContact);
  const others = isPast ? [entersText(report), ...around] : [...around, entersText(report)];
  const limits = limitTexts(report);
  const first = causes[0]?.says ?? LIMITS.find(([own, text]) => own === cause && limits.includes(text))?.[1] ?? '';
  const why = isIneffective && first === '' ? ` (${cause})` : '';
  const [among = '', all] = [scope.seenShare, effective.inZoneShare].map(percentText);
  const theirs = among === all ? '' : `, and of theirs ${among}`;
  const isAll = scope.seenIn.length === 0 || effective.inZoneShare === null;
  const seen = isAll ? '' : `; clients seen are in ${scope.seenIn.join(', ')} only${theirs}`;
  const through = phrases(others) === '' ? '' : ' through its cluster IP';
  const share = `${shareText(report, isAll || theirs === '' ? through : `${through} from all Nodes`, why)}${seen}`;
  const own = [wrongText(report, share, why), ...limits];
  return clean(phrases([...new Set([first, wayText(report), ...(isLed ? [...others, ...own] : [...own, ...others])])]));
};

/** Of connections through the cluster IP; what decides for all clients that are seen stands before it. */
export const firstLineOf = (
  report: Explanation,
): readonly [paint: 'good' | 'bad' | 'strong', mark: string, text: string] => {
  const { verdict, scope, routers } = report;
  const way = clean(wayText(report));
  const led = (text: string): string => phrases([way, text]);
  if (way !== '' && isKeptAround(scope)) return ['good', '✓', led(scopedText(report, ''))];
  if (way !== '' && wayOf(scope.around)?.onNode === true) return ['strong', '!', led(scopedText(report, ''))];
  if (verdict === 'NotWanted' || verdict === 'Ineffective') return ['bad', '✗', missedText(report)];
  if (verdict === 'Unknown') {
    const isUnclear = routers.some(({ certainty }) => certainty === 'unknown');
    const why = isUnclear ? 'the data plane of some Nodes cannot be determined; ' : '';
    return ['strong', '?', led(`not known: ${why}${shareText(report)}`)];
  }
  if (verdict === 'Assumed') {
    // What enters from outside is none of it.
    const does = scope.enters === '' && scope.around.length + scope.unseen.length === 0 ? 'effective ' : '';
    const titles = routers.flatMap(({ certainty, title }) => (certainty === 'assumed' ? title : []));
    const by = [...new Set(titles)].join(' and ');
    return ['strong', '~', led(`${does}if ${by} routes, which is assumed: ${scopedText(report, '')}`)];
  }
  // Load that differs, and Pods or slices that lack something, are no success, whatever stays.
  const isPart =
    hasCause(report, 'PodsWaiting', 'PortOfSomePods', 'SlicesBehind', 'NodeIgnored', 'UnevenLoad') ||
    isEffectiveInPart(report) ||
    `${scope.enters}${failingText(report)}${way}` !== '';
  return isPart ? ['strong', '!', led(scopedText(report, ''))] : ['good', '✓', scopedText(report, 'effective: ')];
};
