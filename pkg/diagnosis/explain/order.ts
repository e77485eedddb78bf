// In which order causes of a Service stand, and which are not said beside others. Each is a row: of ORDER, or of UNSAID.
import { zoneOfNode } from '../../apis/core.ts';
import { keptIn } from '../../apis/values.ts';
import { isEnabled } from '../../upstream/index.ts';
import { BY_SCRAPE } from '../bypasses/programs.ts';
import { aroundCauses, wayOf, wayPast } from './around.ts';
import { OF_HINTS, TOO_OLD, isOnEveryNode, isTooOld, unlikeOf } from './ask.ts';
import { entryOf, isCalledInside, isGateway, localEntryCauses, outsideCauses } from './entry.ts';
import { type Facts, isAnsweredOnNodes } from './facts.ts';
import { behindCauses, givenCauses, inOnePlace } from './given.ts';
import { balanceCauses, keptCauses, prerequisiteCauses, singleCauses } from './load.ts';
import { shutOut } from './local.ts';
import { evacuationCauses, loopCauses, withLoop } from './loop.ts';
import { type Cause, type CauseReason, type Stage, firstOfEach } from './reasons.ts';
import { zoneConstraint } from './scheduler.ts';
import { chosenBy, hasFew, inOneZone, isStore, placing, spreadCauses } from './spread.ts';
import { blindCauses, stickyCauses } from './sticky.ts';
import { crossingCauses, failingCauses, nodeCauses, strayCauses, updateOf, usedCauses } from './used.ts';
import { edgeRequest, kindCauses, requestCauses, wantedReport } from './wanted.ts';
import { idlePods, waitingFor } from './waiting.ts';

type Find = (facts: Facts) => readonly Cause[];
type When = (facts: Facts) => unknown;

/** Found once for a Service, however many rows ask. */
const once = <T>(find: (facts: Facts) => T): ((facts: Facts) => T) => {
  const known = new WeakMap<Facts, T>();
  return (facts) => keptIn(known, facts, () => find(facts));
};
const has = (causes: readonly Cause[], reason: CauseReason): boolean => causes.some((each) => each.reason === reason);

// What the Service is and has.
const isWanted = once((facts) => wantedReport(facts).wanted);
const kind = once(kindCauses);
const isHeadless: When = (facts) => has(kind(facts), 'Headless');
/** By proxies, which never look at hints of a headless Service or one with the policy Local. */
const isRouted: When = (facts) => kind(facts).every(({ stage }) => stage === 'given');
/** Its clients choose among Pods that may run anywhere, in whatever way they do (kyma-project/kyma#15085). */
const isFree: When = (facts) => isHeadless(facts) && facts.makers.every((own) => own.allowedZones === undefined);
/** No family has a second endpoint. */
const isAlone: When = ({ families }) => families.every(({ endpoints }) => endpoints.length < 2);
const isLocal: When = ({ service: { spec } }) => spec?.externalTrafficPolicy === 'Local';
const isDrained: When = ({ families }) => families.some(({ drained }) => drained.length > 0);
const isZoneless: When = ({ wish, nodes }) => wish.reason === 'NotRequested' && !nodes.some(zoneOfNode);
/** It asks an agent of an edge platform. */
const isEdge = once((facts) => !isWanted(facts) && edgeRequest(facts) !== undefined);
const canAsk: When = ({ version, options }) => isEnabled('TopologyAwareHints', version, options.gates);
/** No setting of it helps, so that none has to be made. */
const isDeaf: When = (facts) =>
  facts.routes.length > 0 &&
  facts.routes.every(({ reason }) => reason === 'HintsIgnored') &&
  updateOf(facts, facts.nodes, 'HintsIgnored') === undefined;
/** Each Pod has something else. */
const isUnlike = once(unlikeOf);
/** Each client asks all Pods, or one on its own Node: more of them keep nothing near. */
const isScraped: When = (facts) => wayPast(facts)?.decides === BY_SCRAPE || wayPast(facts)?.onNode;
const around: Find = (facts) => aroundCauses(facts, isWanted(facts));
const isKeptByGateway: When = ({ bypasses }) => bypasses.some(({ passes, keeps }) => passes && keeps);

// What its Pods are, and what it asks for.
const waiting = once((facts) => waitingFor(facts).causes);
const asked = once((facts) =>
  requestCauses(facts).filter(({ reason }) => reason !== 'AnnotationNotRecognized' || !loopCauses(facts)[0]),
);
/** Where Pods run, if that is what decides. */
const lying = once((facts) => {
  // percona/k8spsmdb-docs#79
  const isUneven = isFree(facts) && (inOneZone(facts) || facts.endpoints.length >= facts.clientZones.length);
  const isMeant = (isRouted(facts) || isUneven || isDrained(facts)) && !isScraped(facts);
  return isMeant && behindCauses(facts).length === 0 ? spreadCauses(facts) : [];
});
/** With one endpoint, what nothing asks for counts once there are more. */
const isEarly: When = (facts) => has(lying(facts), 'SingleEndpoint') && has(asked(facts), 'NotRequested');
/** An election picks it, or others wait. */
const isOne: When = (facts) => isAlone(facts) && (chosenBy(facts) !== '' || waiting(facts).length > 0);
const spread = once((facts) => {
  const isMeant = isOne(facts) || isStore(facts.workloads) || idlePods(facts, facts.clientZones)?.isStandby;
  const then = isTooOld('NotRequested', facts) ? TOO_OLD : asked(facts)[0]?.remedy;
  if (!isEarly(facts) || isMeant || isDeaf(facts) || wayPast(facts)) return lying(facts);
  return lying(facts).map((each) => ({ ...each, remedy: `${each.remedy} Then: ${then}` }));
});
/** A zone stays empty although there are Pods enough, or some wait: that comes before what nothing asks for. */
const isUnmet = once((facts) => {
  const isShort = waiting(facts).length > 0 || !hasFew(facts);
  const isPlaced = facts.endpoints.every(({ zone }) => zone !== '');
  return isShort && isPlaced && facts.wish.reason === 'NotRequested' && spread(facts).length > 0;
});
/** In one zone nothing has to be asked for, nor of the one Pod that an election picks. */
const isPointless: When = (facts) => {
  const { nodes, notServing, endpoints } = facts;
  const isLoss = notServing.length > 0 && endpoints.length - notServing.length < 2;
  const isNone = singleCauses(facts).length > 0 || isEarly(facts) || isLoss || isOne(facts);
  return inOnePlace(nodes) || (!isWanted(facts) && isNone);
};
const isAskable: When = (facts) =>
  !kind(facts).some(({ stage }) => stage === 'wanted') &&
  !(isAnsweredOnNodes(facts) || isPointless(facts) || isDeaf(facts));
/** Zones come before what keeps clients, but of API servers: theirs stay everywhere. */
const isLate: When = (facts) => isWanted(facts) || facts.name.endsWith('apiserver') || waiting(facts).length > 0;
/** Clients keep the endpoint that they have, whatever is asked for. */
const isSticky: When = (facts) => !isLate(facts) && !isUnlike(facts) && !inOneZone(facts);
/** The loop measures what is only assumed here; an evacuation lends endpoints and shifts load on purpose. */
const isOnPurpose: When = (facts) => facts.loop?.inForce || evacuationCauses(facts)[0] || strayCauses(facts)[0];

// Of traffic from outside.
export const way = once(entryOf);
const outside = once((facts) => outsideCauses(facts, isWanted(facts)));
const entry = once(localEntryCauses);
/** Pods use the address by which the world reaches it, and do not get there. */
const isShutOut: When = (facts) =>
  isCalledInside(facts) && shutOut(facts, has(entry(facts), 'ZoneFailsHealthCheck'))[0];
/** A zone fails although a constraint is to give each a Pod. */
const isUnspread: When = (facts) =>
  entry(facts)[0]?.reason === 'ZoneFailsHealthCheck' &&
  !way(facts)?.failure &&
  facts.workloads.some((workload) => zoneConstraint(workload) !== undefined);
/** Which Node a node port is asked of is the client's choice, unless a load balancer is seen. */
const isPicked: When = (facts) => way(facts)?.picks === 'client' && !isGateway(facts);
const isNear: When = (facts) => way(facts)?.policy === 'Local' || (facts.nodes.length > 1 && isOnEveryNode(facts));
/** Where nothing adds Pods the second hop comes first: cortexlabs/cortex#2159; else traefik/traefik#9034. */
const isHop: When = (facts) => !facts.autoscalers[0] && outside(facts).some(({ stage }) => stage === 'effective');
/** Its owner keeps Pods out of a zone, and traffic enters from outside. */
const isHeld: When = (facts) =>
  !isWanted(facts) && outside(facts)[0] && facts.makers.some((own) => placing(facts, own).isHeld);

/** No client of a headless Service looks at hints, whether they are there or not. */
const isMoot: When = (facts) => isEdge(facts) || isHeadless(facts);
const given: Find = (facts) => (isMoot(facts) ? [] : withLoop(facts, loopCauses(facts), givenCauses(facts)));
const used = once((facts) => [...usedCauses(facts), ...nodeCauses(facts)]);

/** Where causes stand; those of one code or stage, in one situation. Of each code the first counts: a row above lifts it. */
const ORDER: readonly { say: Find; code?: CauseReason; stage?: Stage; when?: When }[] = [
  { say: used, code: 'NoNodes' },
  { say: evacuationCauses },
  { say: kind, code: 'PolicyIgnored' },
  { say: outside, when: isShutOut },
  // What leaves a zone empty comes before what fails for that.
  { say: spread, when: (facts) => isUnmet(facts) && isUnspread(facts) },
  { say: entry, when: (facts) => isWanted(facts) || !isPicked(facts) },
  { say: failingCauses },
  { say: stickyCauses, stage: 'used', when: isSticky },
  { say: stickyCauses, when: (facts) => isSticky(facts) && !canAsk(facts) && !isHop(facts) && !isNear(facts) },
  { say: strayCauses },
  { say: behindCauses },
  // k8ssandra/k8ssandra#380
  { say: waiting, when: (facts) => !isWanted(facts) || isHeadless(facts) || facts.clientZones.length < 2 },
  // A drain comes first, also for slices that no controller of Kubernetes writes.
  { say: spread, when: (facts) => (inOneZone(facts) && isFree(facts)) || isDrained(facts) },
  { say: kind },
  { say: entry },
  // A release of the data plane that refuses where others use all endpoints.
  { say: used, code: 'NoBackendForZone' },
  // No setting gives clients of other zones anything while there is one endpoint, and no hint before Pods are spread.
  { say: spread, when: (facts) => !isHeld(facts) && (inOneZone(facts) || (isAlone(facts) && !isHop(facts))) },
  { say: spread, when: (facts) => !isHeld(facts) && isUnmet(facts) && !isLocal(facts) && !isHop(facts) },
  { say: around, when: (facts) => wayPast(facts) ?? !(wayOf(facts.bypasses) || isUnlike(facts)) },
  { say: outside, stage: 'effective' },
  { say: spread, when: isUnmet },
  { say: blindCauses },
  // What is to be asked for has no effect without any zone; what holds without zones is what such a cluster asks about.
  { say: outside, when: isZoneless },
  { say: stickyCauses, when: isZoneless },
  { say: asked, when: (facts) => isZoneless(facts) && isNear(facts) },
  { say: given, when: isZoneless },
  { say: stickyCauses, when: (facts) => !isWanted(facts) && isKeptByGateway(facts) },
  { say: stickyCauses, when: (facts) => inOneZone(facts) && !isLate(facts) },
  { say: asked, when: isAskable },
  { say: stickyCauses, when: (facts) => !isLate(facts) },
  { say: given },
  { say: around },
  { say: used, when: (facts) => isRouted(facts) && !isPointless(facts) && !isEdge(facts) },
  { say: spread },
  { say: waiting },
  { say: loopCauses, stage: 'prerequisite' },
  // By which Nodes traffic enters decides what endpoints get; where clients are is assumed.
  { say: outside },
  { say: singleCauses },
  { say: stickyCauses },
  { say: balanceCauses, when: (facts) => isWanted(facts) && !isOnPurpose(facts) },
  { say: keptCauses },
  { say: (facts) => prerequisiteCauses(facts, isWanted(facts)) },
];

const UNASKED = ['ProxyNeedsAnnotation', 'RouterNotOptedIn', 'CiliumNotOptedIn'] as const;
/** Codes that are not said beside others that are found. */
const UNSAID: readonly (readonly [codes: readonly CauseReason[], beside: readonly CauseReason[], when?: When])[] = [
  // Who waits is part of why Pods are not spread.
  [['PodsWaiting'], ['PodsNotSpread', 'SingleEndpoint', 'NoEndpoints']],
  // The annotation is what nothing asks by.
  [UNASKED, ['NotRequested', 'AnnotationKeyNotRead']],
  [['InternalTrafficPolicyLocal'], ['NoLocalEndpoints']],
  [['CiliumServiceTopologyOff'], ['CiliumServiceTopologyOff'], (facts) => isTooOld('NotRequested', facts)],
  [['SingleZone'], ['PodsWaiting', 'ZoneIsNone']],
  [['HintsGateOff'], ['NotRequested', 'HintsControllerGateOff'], (facts) => !canAsk(facts)],
  // AKS has no value for it (MicrosoftDocs/azure-docs#116644).
  [['NotRequested'], ['CiliumServiceTopologyOff'], (facts) => used(facts).some(({ futile }) => futile)],
  [['NotRequested'], ['NoEndpoints'], isAlone],
  [['PodsNotSpread'], ['NotRequested'], (facts) => isUnlike(facts) && hasFew(facts)], // another Pod is no help: milo-os/milo#684
  [['NodesInOneZone'], ['ZoneIsNone']],
  // Hints make nothing of what is in one zone.
  [['HintsLost', 'HintedForOtherZone'], ['PodsNotSpread'], inOneZone],
];

/** Causes in the order in which to look at them; each code once. */
export const findCauses = (facts: Facts, effective: boolean): Cause[] => {
  const rows = ORDER.filter(({ when = () => true }) => when(facts));
  const found = rows.flatMap(({ say, code, stage }) =>
    say(facts).filter((own) => (code ?? own.reason) === own.reason && (stage ?? own.stage) === own.stage),
  );
  const isBeside = (codes: readonly CauseReason[]): boolean => codes.some((code) => has(found, code));
  const unsaid = UNSAID.filter(([, beside, when = () => true]) => when(facts) && isBeside(beside));
  const beside = new Set(unsaid.flatMap(([codes]) => codes));
  const said = [...found, ...crossingCauses(facts, effective)].filter(
    ({ reason }) => !beside.has(reason) && !(wayPast(facts) && OF_HINTS.test(reason)),
  );
  const isPlain = isUnlike(facts) === undefined && !isEdge(facts);
  const isOld = ({ reason }: Cause): boolean => isPlain && isTooOld(reason, facts);
  return firstOfEach(said.map((each) => (isOld(each) ? { ...each, remedy: TOO_OLD } : each)));
};
