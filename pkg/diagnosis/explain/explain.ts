// Explains one Service: is routing by zone wanted, given, used and effective; and if not, the first cause and its remedy.
import { type Service, zoneOfNode } from '../../apis/core.ts';
import { byText, defined } from '../../apis/values.ts';
import { formatVersion } from '../../routing/version.ts';
import { type Route, isEnabled } from '../../upstream/index.ts';
import { leastCertain, routersReport } from '../routers/routers.ts';
import { type ClusterSnapshot, EVIDENCE, unseenOf } from '../snapshot.ts';
import { NODE_PORT, TAILNET } from './balancer.ts';
import { PINNED_REMEDY, SPREAD_IN_ONE, chosenBy, hasFew, inOneZone, isStore } from './spread.ts';
import { spreadCauses, spreadText } from './spread.ts';
import { OF_HINTS, TOO_OLD, elsewhere, isOnEveryNode, isTooOld } from './ask.ts';
import { balanceCauses, keptCauses, prerequisiteCauses } from './load.ts';
import { BY_SCRAPE } from '../bypasses/programs.ts';
import { entryOf, isCalledInside, isGateway, localEntryCauses, outsideCauses } from './entry.ts';
import { factsOf, isAnsweredOnNodes, isFailing, isVain, meanInZoneShare, placedIn, unpredictable } from './facts.ts';
import type { ExplainOptions, Facts } from './facts.ts';
import { type SnapshotIndex, indexSnapshot } from './snapshot-index.ts';
import { fixOf } from './fix.ts';
import { behindCauses, givenCauses, inOnePlace } from './given.ts';
import { shutOut } from './local.ts';
import { evacuatedZones, evacuationCauses, loopCauses, withLoop } from './loop.ts';
import { type Judge, tryChanges } from './remedy.ts';
import { zoneConstraint } from './scheduler.ts';
import { scopeOf } from './scope.ts';
import { blindCauses, stickyCauses } from './sticky.ts';
import { STANDBY, isUnlisted, waitingFor } from './waiting.ts';
import { type Cause, cause, firstOfEach, listed } from './reasons.ts';
import { crossingCauses, failingCauses, nodeCauses, strayCauses, updateOf, usedCauses, usedReport } from './used.ts';
import { edgeRequest, isHinted, kindCauses, requestCauses, wantedReport } from './wanted.ts';

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
  if (noZones.length > 0)
    return `Nodes of zone ${listed(noZones.map((zone) => `"${zone}"`))} may be in any zone of the region`;
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
  const inZoneShare = meanInZoneShare(facts);
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
    inZoneShare,
    /** Zones none of whose Nodes is ready. */
    downZones: facts.index.downZones,
    noShare: inZoneShare === null ? whyNoShare(facts) : '',
  };
};

/** gardener/gardener docs/development/high-availability.md; gardener.cloud/blog/2026/04 on zone awareness */
const PLACED = [
  "Gardener's webhook for high availability keeps the Pods of this namespace",
  'Nothing to do for clients of the same namespace; those of others may cross, but for an Istio ingress gateway in the same zone (Gardener from late 2022 on runs one for each zone of a Seed, unless `spec.settings.loadBalancerServices.zonalIngress.enabled` in that is false: gardener/gardener#6997, #12956). With `spec.settings.zoneSelection` in the Seed newer releases put the control plane of a new Shoot in a zone of its workers. A control plane has Pods in other zones with `spec.controlPlane.highAvailability.failureTolerance.type: zone` in its Shoot only.',
] as const;

const UNASKED = ['ProxyNeedsAnnotation', 'RouterNotOptedIn', 'CiliumNotOptedIn'] as const;
/** kubernetes-sigs/cluster-api-provider-gcp#569 */
const WORKERS = 'Nothing to do for traffic. Pods in other zones need Nodes there (Cluster API: `failureDomain` each).';

/** Causes in the order in which to look at them; each code once. */
const findCauses = (facts: Facts, effective: boolean, wanted: boolean): Cause[] => {
  const { nodes, clientZones, name, wish } = facts;
  const isConstrained = facts.workloads.some((workload) => zoneConstraint(workload) !== undefined);
  const [single, help = isConstrained ? SPREAD_IN_ONE : facts.index.zones.size > 1 ? WORKERS : undefined] =
    placedIn(facts.workloads) === undefined ? ['All ready worker Nodes are'] : PLACED;
  // What is on no Node may be anywhere, as the endpoints of a control plane.
  const placed = facts.endpoints.every((endpoint) => endpoint.zone !== '' || endpoint.nodeName !== '');
  const isSingle = clientZones.length === 1 && placed;
  // In one zone nothing has to be asked for, nor of the one Pod that an election picks.
  const isAlone = facts.families.every(({ endpoints }) => endpoints.length < 2);
  const kind = kindCauses(facts);
  const loop = loopCauses(facts);
  const isEdge = !wanted && edgeRequest(facts) !== undefined;
  // No client of a headless Service looks at hints, whether they are there or not.
  const isHeadless = kind.some(({ reason }) => reason === 'Headless');
  const isMoot = isEdge || isHeadless;
  // In whatever way they choose (kyma-project/kyma#15085).
  const isFree = isHeadless && facts.makers.every((own) => own.allowedZones === undefined);
  const isGathered = isFree && inOneZone(facts);
  const { causes: waiting } = waitingFor(facts);
  const given = isMoot ? [] : withLoop(facts, loop, givenCauses(facts));
  // Clients keep the endpoint that they have, whatever is asked for; those of API servers everywhere.
  const sticky = stickyCauses(facts);
  const isLate = wanted || name.endsWith('apiserver') || waiting.length > 0;
  const canAsk = isEnabled('TopologyAwareHints', facts.version, facts.options.gates);
  const [says, sets, only] = elsewhere(facts);
  const isUnlike = only !== undefined && facts.bypasses.every(({ all }) => !all);
  const isKeptByGateway = facts.bypasses.some(({ passes, keeps }) => passes && keeps);
  const asked = requestCauses(facts).filter(({ reason }) => reason !== 'AnnotationNotRecognized' || loop.length === 0);
  const isZoneless = wish.reason === 'NotRequested' && nodes.every((node) => zoneOfNode(node) === '');
  // Where no setting of a Service helps, none has to be made.
  const isDeaf =
    facts.routes.length > 0 &&
    facts.routes.every(({ reason }) => reason === 'HintsIgnored') &&
    updateOf(facts, nodes, 'HintsIgnored') === undefined;
  const evacuation = evacuationCauses(facts);
  const { type, externalTrafficPolicy: policy } = facts.service.spec ?? {};
  const entry = localEntryCauses(facts);
  const [outside, way] = [outsideCauses(facts, wanted), entryOf(facts)];
  // Where nothing adds Pods the second hop comes first: cortexlabs/cortex#2159; else traefik/traefik#9034.
  const isHop = facts.autoscalers.length === 0 && outside.some(({ stage }) => stage === 'effective');
  const isNow = ({ stage }: Cause): boolean => stage === 'used' || (!canAsk && !isHop);
  const sure = isLate || isUnlike || inOneZone(facts) ? [] : sticky.filter(isNow);
  const isFirst = wanted || type !== 'NodePort' || way?.remedy !== NODE_PORT.remedy || isGateway(facts);
  const isNear = way?.policy === 'Local' || (nodes.length > 1 && isOnEveryNode(facts));
  const isFailed = isConstrained && !isAlone && !way?.failure && entry[0]?.reason === 'ZoneFailsHealthCheck';
  const isZoneOut = entry.some(({ reason }) => reason === 'ZoneFailsHealthCheck');
  // The loop measures what is only assumed here; an evacuation lends endpoints and shifts load on purpose.
  const stray = strayCauses(facts);
  const balance = facts.loop?.inForce === true || evacuation.length + stray.length > 0 ? [] : balanceCauses(facts);
  // Proxies never look at hints of a headless Service or one with the policy Local.
  const isRouted = kind.every(({ stage }) => stage === 'given');
  const behind = behindCauses(facts);
  // A drain comes first, also for slices that no controller of Kubernetes writes.
  const isPaused = facts.families.some(({ drained }) => drained.length > 0);
  const isEach = only !== undefined && facts.bypasses.some(({ decides }) => decides === BY_SCRAPE); // More Pods keep none.
  const isUneven = isFree && facts.endpoints.length >= clientZones.length; // percona/k8spsmdb-docs#79
  const lying =
    (isRouted || isGathered || isUneven || isPaused) && behind.length === 0 && !isEach ? spreadCauses(facts) : [];
  const isChosen = chosenBy(facts) !== '';
  // A zone that stays empty although there are Pods enough, or a constraint that is not met, comes before what nothing asks for.
  const isShort = lying.some(({ stage }) => stage !== 'effective' || waiting.length > 0 || !hasFew(facts));
  const isUnmet =
    !only && wish.reason === 'NotRequested' && isShort && facts.endpoints.every(({ zone }) => zone !== '');
  const [request] = isAlone && lying.some(({ reason }) => reason === 'SingleEndpoint') ? asked : [];
  const isVainRequest = request?.reason === 'NotRequested';
  const isLoss = facts.notServing.length > 0 && facts.endpoints.length - facts.notServing.length < 2;
  const isNone = isSingle || isVainRequest || isLoss || (isAlone && (isChosen || waiting.length > 0));
  const isPointless = inOnePlace(nodes) || (!wanted && isNone);
  // What is asked for counts once there are more.
  const later = isTooOld('NotRequested', facts) ? TOO_OLD : request?.remedy;
  const isOne = isChosen || isStore(facts.workloads) || lying[0]?.remedy === STANDBY;
  const isLater = isVainRequest && !isDeaf && !isOne && waiting.length === 0;
  const spread = lying.map((each) => (isLater ? { ...each, remedy: `${each.remedy} Then: ${later}` } : each));
  const isHeld = !wanted && outside.length > 0 && spread.some(({ remedy }) => remedy === PINNED_REMEDY);
  const found = [
    ...(nodes.length === 0
      ? [cause('used', 'NoNodes', `No ready Node is known: nothing can be said about clients of Service ${name}.`)]
      : []),
    ...evacuation,
    // Which Node a node port is asked of is the client's choice, unless a load balancer is seen: that nothing asks for zones comes first.
    ...kind.filter(({ reason }) => reason === 'PolicyIgnored'),
    ...(!way?.failure && !way?.isStranded && isCalledInside(facts) && shutOut(facts, isZoneOut)[0] ? outside : []),
    // What leaves a zone empty comes before what fails for that.
    ...(isUnmet && isFailed ? spread : []),
    ...(isFirst || way?.failure ? entry : []),
    ...failingCauses(facts),
    ...sure,
    ...stray,
    ...behind,
    // k8ssandra/k8ssandra#380
    ...(isMoot || !wanted ? waiting : []),
    ...(isGathered || isPaused ? [...spread, ...kind] : kind),
    ...(policy === 'Local' ? entry : []),
    // A release of the data plane that refuses where others use all endpoints.
    ...(isRouted ? usedCauses(facts) : []).filter(({ reason }) => reason === 'NoBackendForZone'),
    // No setting gives clients of other zones anything while there is one endpoint, and no hint before Pods are spread.
    ...(!isHeld && (isAlone || inOneZone(facts) || (isUnmet && policy !== 'Local')) ? spread : []),
    ...outside.filter(({ stage }) => stage === 'effective'),
    ...(isUnmet ? spread : []),
    ...blindCauses(facts),
    // What is to be asked for has no effect without any zone; what holds without zones is what such a cluster asks about.
    ...(isZoneless ? [...outside, ...sticky, ...(isNear ? asked : []), ...given] : []),
    ...(!wanted && (isKeptByGateway || (inOneZone(facts) && !isLate)) ? sticky : []),
    ...(kind.some(({ stage }) => stage === 'wanted') || isAnsweredOnNodes(facts) || isPointless || isDeaf ? [] : asked),
    ...(isLate ? [] : sticky),
    ...given,
    ...(isRouted && !isPointless && !isEdge ? [...usedCauses(facts), ...nodeCauses(facts)] : []),
    ...spread,
    ...waiting,
    ...loop.filter(({ stage }) => stage === 'prerequisite'),
    // By which Nodes traffic enters decides what endpoints get; where clients are is assumed.
    ...outside,
    ...(isSingle ? [cause('prerequisite', 'SingleZone', `${single} in ${listed(clientZones)}.`, help)] : []),
    ...(wanted ? [...sticky, ...balance] : []),
    ...keptCauses(facts),
    ...prerequisiteCauses(facts, wanted),
    ...sticky,
    ...crossingCauses(facts, effective),
  ];
  const has = (code: Cause['reason']): boolean => found.some(({ reason }) => reason === code);
  // Hints make nothing of what is in one zone.
  const lent = has('PodsNotSpread') && inOneZone(facts) ? ['HintsLost', 'HintedForOtherZone'] : [];
  const isOfAks = facts.index.bypasses.daemonSets.some(({ containers: [own] }) => own?.image.match(/^mcr\..*cilium/));
  // Who waits is part of why Pods are not spread, the annotation is what nothing asks by, and AKS has no value (MicrosoftDocs/azure-docs#116644).
  const unsaid = new Set([
    (has('PodsNotSpread') || has('SingleEndpoint') || has('NoEndpoints')) && 'PodsWaiting',
    ...(has('NotRequested') || has('AnnotationKeyNotRead') ? UNASKED : []),
    has('NoLocalEndpoints') && 'InternalTrafficPolicyLocal',
    isTooOld('NotRequested', facts) && 'CiliumServiceTopologyOff',
    waiting.length > 0 && 'SingleZone',
    !canAsk && (has('NotRequested') || has('HintsControllerGateOff')) && 'HintsGateOff',
    ((isOfAks && has('CiliumServiceTopologyOff')) || (isAlone && has('NoEndpoints'))) && 'NotRequested',
    ...(has('ZoneIsNone') ? ['NodesInOneZone', 'SingleZone'] : lent),
  ]);
  const said = firstOfEach(found.filter(({ reason }) => !unsaid.has(reason)));
  const [first, ...again] = said.filter(({ reason }) => isTooOld(reason, facts));
  // What goes another way for all clients makes one cause of hints, said with the first.
  const ofHints = said.filter(({ reason }) => OF_HINTS.test(reason));
  // More Pods keep nothing of what all clients that are seen send another way (n8n-io/n8n-hosting#167).
  const isPast = !ofHints[0] && wanted && !isUnlike && facts.bypasses.every(({ all, keeps }) => !all || !keeps);
  const [hint, ...vain] = only && isPast ? said.filter(({ reason }) => reason === 'PodsNotSpread') : ofHints;
  const once = said.filter((each) => !again.includes(each) && !(only && vain.includes(each)));
  return once.map((each) => {
    if (each === first && only === undefined && !isEdge) return { ...each, remedy: `${sets}${TOO_OLD}` };
    const isBehind = facts.bypasses.every((own) => own.behind); // Said first where another Pod is no remedy, or hints are in order.
    const isLeft = wanted && each.reason === 'StickyClients' && facts.bypasses.some((own) => !own.possible);
    const isPassedOn = isBehind && (isLeft || (each.reason === 'SingleEndpoint' && isStore(facts.workloads)));
    if (!isPassedOn && (each !== hint || each.reason === 'NotRequested' || isBehind)) return each;
    const instead = only && isPast ? `${only} ${each.remedy}` : only;
    return { ...each, evidence: `${says}${each.evidence}`, remedy: instead ?? `${sets}${each.remedy}` };
  });
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
    return certainty === 'unknown' && isHinted(facts) && facts.routes.every(isKeptOrUnknown)
      ? 'Unknown'
      : 'Ineffective';
  })();
  const causes = findCauses(facts, effective.effective, wanted.wanted);
  return { facts, verdict, scope: scopeOf(facts, wanted.wanted), wanted, given: givenReport(facts), effective, causes };
};

export type Diagnosis = ReturnType<typeof diagnose>;

/** The cause with the lines that help: a change is tried, and the Service judged again. */
export const withFix = (each: Cause, before: Diagnosis): Cause => {
  const { facts, scope } = before;
  // Hints would give all of the tailnet to endpoints in the zone of its proxy.
  const isOfProxy = scope.foreign && scope.enters === TAILNET.enters;
  if (OF_HINTS.test(each.reason) && (isOfProxy || elsewhere(facts)[2] !== undefined)) return each;
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
    bypasses: facts.bypasses,
    /** By which constraint its Pods are spread over zones; empty where that could not be seen. */
    spread: spreadText(facts),
    causes: causes.map((each) => withFix(each, diagnosis)),
    // Only who asks for a plan misses its FlowPolicy.
    unseen: unseenOf(snapshot, facts.planned === undefined ? EVIDENCE : [...EVIDENCE, 'flowPolicies']),
  };
};

export type Explanation = ReturnType<typeof explain>;
