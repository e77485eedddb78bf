// Explains one Service: is routing by zone wanted, given, used and effective; and if not, the first cause and its remedy.
import type { Service } from '../../apis/core.ts';
import { byText, countBy, defined, sumBy } from '../../apis/values.ts';
import { formatVersion } from '../../routing/version.ts';
import { type Route, type Traffic, inZoneShare } from '../../upstream/index.ts';
import { selects, unseenWatchers } from '../bypasses/watchers.ts';
import { leastCertain, routersReport } from '../routers/routers.ts';
import { type ClusterSnapshot, EVIDENCE, unseenOf } from '../snapshot.ts';
import { OF_HINTS, unlikeOf } from './ask.ts';
import { entryOf, isCalledInside } from './entry.ts';
import type { ExplainOptions, Facts } from './facts.ts';
import { factsOf, isFailing, isVain, meanInZoneShare, unpredictable } from './facts.ts';
import { fixOf } from './fix.ts';
import { shutOut } from './local.ts';
import { evacuatedZones } from './loop.ts';
import { findCauses, way } from './order.ts';
import { type Cause, listed } from './reasons.ts';
import { type Judge, tryChanges } from './remedy.ts';
import { type SnapshotIndex, indexSnapshot } from './snapshot-index.ts';
import { spreadText } from './spread.ts';
import { usedReport } from './used.ts';
import { isUnlisted } from './waiting.ts';
import { wantedReport } from './wanted.ts';

/** `NotWanted`: not asked for; `Ineffective`: asked, without (full) effect; `Assumed`: effective if the router is as assumed; `Unknown`: who routes on some Node is not known, and nothing else is wrong. */
export type Verdict = 'Effective' | 'Assumed' | 'Unknown' | 'NotWanted' | 'Ineffective';

const givenReport = ({ families }: Facts) =>
  families.map(({ family: addressType, endpoints }) => {
    const names = new Set(endpoints.flatMap(({ zone, forZones }) => [zone, ...forZones]));
    const counts = (name: string) => ({
      endpoints: endpoints.filter(({ zone }) => zone === name).length,
      hinted: endpoints.filter(({ forZones }) => forZones.includes(name)).length,
    });
    return {
      addressType,
      ready: endpoints.length,
      hinted: endpoints.filter(({ forZones }) => forZones.length > 0).length,
      zones: Object.fromEntries([...names].sort(byText).map((name) => [name, counts(name)])),
    };
  });

const isKept = ({ mode, used, zone }: Route): boolean =>
  mode !== '' || (used.length > 0 && used.every((endpoint) => endpoint.zone === zone));

const whyNoShare = (facts: Facts): string => {
  const { service, nodes, routes, endpoints, noZones } = facts;
  if (service.spec?.type === 'ExternalName') return 'it is a DNS name';
  if (service.spec?.clusterIP === 'None') return 'headless: its clients choose among addresses from DNS';
  if (nodes.length === 0) return 'no ready Node is known';
  if (isUnlisted(facts)) return 'no EndpointSlice is among these objects';
  const isCut = facts.bypasses.some(({ client, adds }) => client === 'cilium-clustermesh' && adds === undefined);
  if (endpoints.length === 0) return isCut ? 'Cilium leaves other clusters out: calls fail' : 'no endpoint is ready';
  if (routes.every(({ reason }) => reason === 'RouterUnknown')) return 'the data plane is not known';
  const at = [...new Set(endpoints.flatMap(({ nodeName }) => facts.index.zoneOf.get(nodeName) || []))].sort(byText);
  if (endpoints.every(({ zone }) => zone === ''))
    return `no endpoint has a zone${at.length === 0 ? '' : `, though their Nodes are in ${listed(at)}`}`;
  if (routes.every((route) => isFailing({ endpoints }, route))) return 'every connection fails';
  if (noZones[0]) return `Nodes of zone ${listed(noZones.map((zone) => `"${zone}"`))} may be in any zone of the region`;
  return unpredictable(facts) ?? 'no proxy of the cluster routes it';
};

const effectiveReport = (facts: Facts) => {
  const { routes, clientZones, noZones } = facts;
  const spread = facts.loop?.spreadOnPurpose === true;
  // Where no Pod is, hints can only lend what crosses; an evacuation means it.
  const isLent = ({ used, zone }: Route): boolean =>
    used.every((endpoint) => endpoint.zone !== zone) && evacuatedZones(facts).length === 0;
  const isServed = (route: Route): boolean =>
    (isKept(route) && !isLent(route) && !isFailing(facts, route)) || (spread && route.reason === 'NoHints');
  const of = (zone: string): Route[] => routes.filter((route) => route.zone === zone);
  const unserved = clientZones.filter((zone) => noZones.includes(zone) || !of(zone).every(isServed));
  const isLosing = (route: Route): boolean => isFailing(facts, route) || route.used.some(isVain);
  const failing = clientZones.filter((zone) => of(zone).every((route) => isFailing(facts, route)));
  const zoneless = routes.some(({ zone }) => zone === '');
  const share = meanInZoneShare(facts);
  const unknown = routes.some(({ reason }) => reason === 'RouterUnknown');
  // Every Node has an endpoint of its own and uses no other.
  const stays = routes.length > 0 && routes.every(({ mode }) => mode === 'PreferSameNode');
  return {
    effective: stays || (clientZones.length > 0 && unserved.length === 0 && !zoneless && !unknown),
    clientZones,
    /** Client zones whose traffic is not kept inside, by any family or port, or that are no zones. */
    unserved,
    /** Zones whose connections fail, although an endpoint is ready: all of them, or those of some Nodes, ports or endpoints. */
    failing,
    failingInPart: clientZones.filter((zone) => !failing.includes(zone) && of(zone).some(isLosing)),
    /** Predicted fraction of connections that stay in their zone, of every family and port, clients by the CPU of the Nodes of each zone; null where there is nothing to predict: no Node, no endpoint with a zone, no router that is known. */
    inZoneShare: share,
    /** Zones none of whose Nodes is ready. */
    downZones: facts.index.downZones,
    noShare: share === null ? whyNoShare(facts) : '',
  };
};

/** What the verdict covers: connections through the cluster IP, by the routers seen. */
const scopeOf = (facts: Facts, wanted: boolean) => {
  const { name, snapshot, bypasses, clientZones, service, index, past, callers, callerPods } = facts;
  const [entry, named] = [entryOf(facts), index.bypasses.byService.get(name) ?? []];
  const ways = named.filter(({ entry: { kind } }) => kind !== 'TargetGroupBinding'); // those are its load balancer's
  const isIn = countBy(callerPods, ({ pod }) => index.zoneOf.get(pod.nodeName) ?? '');
  const seenIn = clientZones.every((zone) => isIn.has(zone)) || isIn.has('') ? [] : [...isIn.keys()].sort(byText);
  const ofSeen = (traffic: Traffic): number =>
    sumBy([...isIn], ([zone, count]) => {
      const own = [...traffic.matrix].filter(([from]) => from === zone);
      return (count * inZoneShare({ ...traffic, matrix: new Map(own) })) / callerPods.length;
    });
  const isCalled =
    callers.some(({ runner }) => !selects(service, runner)) || bypasses.length + (entry?.doors ?? 0) < ways.length;
  const isBalanced = entry !== undefined && (service.spec?.type === 'LoadBalancer' || entry.doors > 0);
  const isOwn = !wanted && bypasses.every(({ client }) => client === 'kube-apiserver');
  const isMeant = isOwn && (ways.length > 0 || entry?.policy === 'Local');
  const foreign = !isCalled && past === undefined && (isBalanced || isMeant);
  const isShut = entry !== undefined && isCalledInside(facts) && shutOut(facts).length > 0;
  // A gateway in a zone without endpoints crosses from there (gardener/gardener#6997).
  const isServed = [...index.workerZones].every((zone) => facts.endpoints.some((own) => own.zone === zone));
  const unseen = clientZones.length === 1 ? [] : unseenWatchers(snapshot, service, index.bypasses.watchers);
  const suspected = [...bypasses, ...facts.referrers];
  return {
    through: 'clusterIP' as const,
    // What each flag means stands in Client and Found.
    around: suspected.map(({ client, evidence, possible, unsure, byHints, all, keeps, onNode, ...seen }) => ({
      client,
      object: evidence.object,
      possible: possible || unsure === true,
      ...(seen.firstContact && { firstContact: true }),
      ...(seen.names && { names: true }),
      ...defined({ byHints: byHints || undefined, all: all || undefined, behind: seen.behind, how: seen.how }),
      ...defined({ watches: seen.watches, onNode, keeps: (keeps && (onNode || isServed)) || undefined }),
    })),
    /** With clients in one zone nothing crosses, whatever bypasses the cluster IP. What nothing went past needs no more to be read, but for load balancers. */
    unseen: past?.settled === true ? unseen.filter((what) => what === 'ingresses') : unseen,
    /** Only where meters measured it: connections a second past the Service, to the addresses of its endpoints. */
    ...defined({ past }),
    /** Zones of the clients that are seen to name it, where these are not all; empty: none is seen, or all zones have some. */
    seenIn,
    /** Of their connections, the predicted fraction that stays in the zone, where one is known: `inZoneShare` counts every Node. */
    seenShare: seenIn.length === 0 ? null : meanInZoneShare(facts, ofSeen),
    /** By which Node traffic from outside enters, and whether Pods that are seen to use its address may fail; empty where none does. */
    enters: `${entry?.enters ?? ''}${isShut ? '; Pods that use its address may fail' : ''}`,
    /** It is entered by a load balancer (by node ports as well) or under the policy Local, or called by the API server, and no other client is seen. */
    foreign,
  };
};

/** What is found out about a Service, before it is rendered. `index`: share it between diagnoses of one snapshot. */
export const diagnose = (
  snapshot: ClusterSnapshot,
  service: Service,
  options: ExplainOptions,
  index: SnapshotIndex = indexSnapshot(snapshot, options),
) => {
  const facts = factsOf(snapshot, service, options, index);
  const wanted = wantedReport(facts);
  const effective = effectiveReport(facts);
  const certainty = leastCertain(index.answers.map((answer) => answer.certainty));
  const verdict = ((): Verdict => {
    // Under an evacuation every Service has hints, also one that asks for none.
    if (!wanted.wanted && evacuatedZones(facts).length > 0) return 'NotWanted';
    if (wanted.wanted && facts.bypasses.some(({ fails }) => fails)) return 'Ineffective';
    if (effective.effective && unpredictable(facts)) return 'Unknown';
    if (effective.effective) return certainty === 'seen' ? 'Effective' : 'Assumed';
    if (!wanted.wanted) return 'NotWanted';
    // Hints may be right or wrong: whom they would serve is not known.
    if (facts.nodes.length === 0 || isUnlisted(facts)) return 'Unknown';
    const { unserved } = effective;
    if (unserved.length > 0 && unserved.every((zone) => facts.noZones.includes(zone))) return 'Unknown';
    // Every Node whose router is known keeps to hints; of the others nothing can be said.
    const isKeptOrUnknown = (route: Route): boolean => route.reason === 'RouterUnknown' || isKept(route);
    return certainty === 'unknown' && facts.isHinted && facts.routes.every(isKeptOrUnknown) ? 'Unknown' : 'Ineffective';
  })();
  const causes = findCauses(facts, effective.effective);
  return { facts, verdict, scope: scopeOf(facts, wanted.wanted), wanted, given: givenReport(facts), effective, causes };
};

export type Diagnosis = ReturnType<typeof diagnose>;

/** The cause with the lines that help: a change is tried, and the Service judged again. */
export const withFix = (each: Cause, before: Diagnosis): Cause => {
  const { facts, scope } = before;
  // Hints would give all of the tailnet to endpoints in the zone of its proxy.
  const isOfProxy = scope.foreign && way(facts)?.picks === 'tailnet';
  if (OF_HINTS.test(each.reason) && (isOfProxy || unlikeOf(facts) !== undefined)) return each;
  const judge: Judge = (service, index) => diagnose(facts.snapshot, service, facts.options, index);
  const fix = each.fix ?? fixOf(each.reason, facts, (own) => tryChanges(each.reason, own, before, judge));
  return fix.length === 0 ? each : { ...each, fix };
};

export const explain = (snapshot: ClusterSnapshot, service: Service, options: ExplainOptions) => {
  const diagnosis = diagnose(snapshot, service, options);
  const { facts, causes, ...said } = diagnosis;
  return {
    ...facts.ref,
    kubernetesVersion: formatVersion(facts.version),
    ...routersReport(facts.nodes, facts.index.routers),
    ...said,
    used: usedReport(facts),
    /** Only where its FlowPolicy was seen. */
    ...defined({ loop: facts.loop }),
    bypasses: [...facts.bypasses, ...facts.referrers],
    /** By which constraint its Pods are spread over zones; empty where that could not be seen. */
    spread: spreadText(facts),
    causes: causes.map((each) => withFix(each, diagnosis)),
    // Only who asks for a plan misses its FlowPolicy.
    unseen: unseenOf(snapshot, facts.planned === undefined ? EVIDENCE : [...EVIDENCE, 'flowPolicies']),
  };
};

export type Explanation = ReturnType<typeof explain>;
