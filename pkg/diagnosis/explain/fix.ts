// The commands that fix a cause, or show what has to be fixed, for this Service, this version and these data planes. Where the owner of a
// Service would undo a command, a line says what to set there instead.
import { GROUP, LABEL_PROXY_NAME, LABEL_SERVICE_NAME, LABEL_STRATEGY, LABEL_ZONE } from '../../apis/names.ts';
import { type Node, zoneOfNode } from '../../apis/core.ts';
import { nameOf, workloadTitle } from '../../apis/values.ts';
import { atLeast, formatVersion } from '../../routing/version.ts';
import { isControllerSlice } from '../../upstream/index.ts';
import { hasSelector, isManaged } from '../models/lookup.ts';
import { computeTypeOf } from '../routers/nodes.ts';
import { itemsOf } from '../snapshot.ts';
import { type Fix, NEAREST, annotate, ask, askingNote, isTooOld, nearRemedy, settingsFor, useField } from './ask.ts';
import { evacuatedZones } from './loop.ts';
import { type Change, RESTART, type Step, type Tried, commandOf, isChange } from './remedy.ts';
import { asAdvice, fieldsOf, patchSpec, setKeys } from './remedy.ts';
import { type OwnerNote, TEMPLATE, ownerNote } from '../owner.ts';
import { callersOf } from './load.ts';
import { chosenBy, hasFew, isStore, placing } from './spread.ts';
import { waitingFor } from './waiting.ts';
import { type Facts, isAnsweredOnNodes } from './facts.ts';
import { racedNodes } from './snapshot-index.ts';
import { MORE_PODS, SPREADING, both } from './fix-spread.ts';
import { exposeBeside, growth, scaleToShare, showPods, showUnseen, spreadOut, whyNotSpread } from './fix-spread.ts';
import { inOnePlace, isOfGardener } from './given.ts';
import { type CauseReason, LATE_ZONE_VERSIONS } from './reasons.ts';
import { hasUnknown, switchCiliumTopologyOn } from './used.ts';
import { sourceClusters } from './wanted.ts';

/** Who writes them, and when they did. */
const SHOW_SLICES = 'kubectl get {slices} -o yaml --show-managed-fields';
const SHOW_POLICY = 'kubectl describe flowpolicy {name} -n {namespace}';
/** Any write makes who hints look again. */
const AGAIN = { [`${GROUP}/look-again`]: '"$(date +%s)"' };
/** A command, and no change that an owner would write back. */
const TOUCH = commandOf(setKeys('annotations', AGAIN));
const SNAPSHOT = 'kubectl topology snapshot > cluster.json';
const NAME_IT = '# kubectl topology explain {namespace}/{name} -f cluster.json --proxy=<kube-proxy, cilium or linkerd>';
const MEASURE_IT = '# with traffic-meters on its Nodes: kubectl topology explain {namespace}/{name} --measured';
const SIMULATE = 'kubectl topology simulate {namespace}/{name}';
const UNSTICK = `# if no session has to stay: ${commandOf(patchSpec({ sessionAffinity: 'None', sessionAffinityConfig: null }))}`;
const TO_CLOSE = commandOf(patchSpec({ trafficDistribution: 'PreferClose' }));
const MOST_NODES = 10;

/** A zone by another label: the older one, or that of a storage driver. */
const zoneElsewhere = ({ metadata }: Node): readonly [key: string, zone: string] =>
  Object.entries(metadata?.labels ?? {}).find(([key, zone]) => key.endsWith('/zone') && zone !== '') ?? ['', ''];

/** An invented zone is in no command. */
const LABEL_KUBELET = `# where no cloud-controller-manager does it (kubeadm, k3s, kind): --node-labels=${LABEL_ZONE}=<zone> of each kubelet as its Node is added, or kubectl label node`;

const TAKE_OFF = '# in one place take the annotation off: it does nothing but TopologyAwareHintsDisabled events';
const WRITE_AGAIN = `# endpoints get the zone of their Node when they are written next: then ${TOUCH}`;
/** awsdocs/amazon-eks-user-guide#906, #994 */
const HYBRID = '# hybrid Nodes are in no zone of AWS: give those of one place their own, and run one of its Pods there';
const RESTART_LATE = `# then restart kube-proxy there: that of ${LATE_ZONE_VERSIONS} reads the zone when it starts, and no more`;

const labelNode: Fix = (facts) => {
  const { nodes, index, endpoints } = facts;
  if (inOnePlace(nodes)) return [];
  const unlabelled = nodes.filter((node) => zoneOfNode(node) === '');
  if (unlabelled.length === 0) return facts.slices.every(isControllerSlice) ? [TOUCH] : [SHOW_SLICES];
  const names = unlabelled.length > MOST_NODES ? ['<those of a zone>'] : unlabelled.map(nameOf).sort();
  const vain = unlabelled.length === nodes.length && facts.wish.mode === 'proportional';
  const older = [...Map.groupBy(unlabelled, (node) => zoneElsewhere(node).join('='))];
  const isKnown = older.every(([shown]) => shown !== '=');
  const label = isKnown
    ? older.map(
        ([shown, own]) =>
          `# as their label ${shown} says: kubectl label node ${own.map(nameOf).sort().join(' ')} ${LABEL_ZONE}=${shown.replace(/^.*=/, '')}`,
      )
    : names.map((name) => `# kubectl label node ${name} ${LABEL_ZONE}=<its zone>`);
  return [
    ...(vain ? [TAKE_OFF, askingNote(facts)?.line ?? []].flat() : []),
    ...(unlabelled.length === nodes.length && !isKnown ? [LABEL_KUBELET] : label),
    ...(unlabelled.some((node) => computeTypeOf(node) === 'hybrid') ? [HYBRID] : []),
    ...(endpoints.some(({ zone }) => zone === '') ? [WRITE_AGAIN] : []),
    ...(racedNodes({ readyNodes: unlabelled, routers: index.routers }).length > 0 ? [RESTART_LATE] : []),
  ];
};

const installChart = 'helm upgrade --install topology-aware-routing charts/gardener-extension-topology-aware-routing';

const webhookPods =
  (verb: string): Fix =>
  ({ snapshot }) => {
    const namespaces = itemsOf(snapshot.webhooks).flatMap((own) => (own.slices && own.service?.namespace) || []);
    const label = 'app.kubernetes.io/component=endpointslice-webhook';
    return [...new Set(namespaces)].map((namespace) => `${verb} -n ${namespace} -l ${label}`);
  };

const GATES = '# if you run the control plane: --feature-gates of kube-apiserver, kube-controller-manager, kube-proxy:';
const gatesOfAll = ({ nodes }: Pick<Facts, 'nodes'>) =>
  nodes.some(isManaged) ? [] : [`${GATES} TopologyAwareHints=true`];

/** Where the gate is set; what is static lies in a file of the Node. */
const switchGateOn: Fix = ({ routes, index, version, nodes: all }) => {
  const off = routes.filter(({ reason }) => reason === 'HintsGateOff').flatMap(({ nodes }) => nodes);
  const places = off.flatMap((node) => index.routers.of(node).evidence);
  const objects = [...new Set(places.flatMap(({ field, object }) => (/feature-?gates/i.test(field) ? object : [])))];
  // One that lags behind has the gate on by default once it does not.
  const update = `# update kube-proxy to ${formatVersion(version)}, the version of the cluster (on EKS its add-on, unless you manage the DaemonSet yourself)`;
  if (objects.length === 0) return atLeast(version, 24) ? [update] : gatesOfAll({ nodes: all });
  return objects.map(
    (object) =>
      `# ${object}${object.startsWith('Pod ') ? ' (its manifest or DaemonSet)' : ''}: feature gate TopologyAwareHints=true, then restart kube-proxy on every Node`,
  );
};

/** Where Nodes can be preferred, they still are. */
const serveAll: Fix = (facts) => {
  if (facts.takenBy || facts.service.spec?.internalTrafficPolicy !== 'Local') return [];
  const isFree = facts.service.spec?.trafficDistribution === undefined && facts.wish.mode === 'none';
  // Who reads the newer name of a zone reads that of a Node too.
  const isRead = settingsFor(facts).distribution?.startsWith('PreferSame');
  return [patchSpec({ internalTrafficPolicy: 'Cluster', ...(isFree && isRead && { trafficDistribution: NEAREST }) })];
};

const ofSeed: Fix = (facts) =>
  isOfGardener(facts)
    ? [
        `# in the garden: kubectl patch seed <its Seed> --type=merge -p '{"spec":{"settings":{"topologyAwareRouting":{"enabled":true}}}}'`,
      ]
    : undefined;

type Ways = Fix | readonly (Step | Fix)[];
const alike = (ways: Ways, ...reasons: readonly CauseReason[]): Partial<Record<CauseReason, Ways>> =>
  Object.fromEntries(reasons.map((reason) => [reason, ways]));

/** Every cause but those where nothing is wrong, and where nothing helps. Of a list that begins with steps all belong together; of another the first entry whose changes help, or that has none. */
const FIXES: Partial<Readonly<Record<CauseReason, Ways>>> = {
  ...alike(useField, 'AnnotationWins', 'InsufficientNodeInformation', 'ControlPlaneNodes', 'NodeWithoutCpu'),
  ...alike(ask, 'AnnotationRemoved', 'CiliumNotOptedIn'),
  ...alike(annotate, 'RouterNotOptedIn', 'ProxyNeedsAnnotation'),
  ...alike(labelNode, 'ClientNodeWithoutZone', 'EndpointWithoutZone'),
  ...alike(showPods, 'NoReadyEndpoints', 'TerminatingEndpoints', 'UnreadyForZone', 'ZoneNotHinted'),
  ...alike([SHOW_SLICES], 'EndpointWithoutHint', 'NodeNotHinted', 'UnusedWithoutHint'),
  ...alike([SHOW_POLICY], 'LoadNotObserved', 'PlanNotInForce', 'PlanSpread'),
  ...alike(MORE_PODS, 'SingleEndpoint', 'PodsNotSpread'),
  Headless: exposeBeside,
  // The webhook leaves endpoints without zone alone, and an importer writes its labels back.
  NoSelector: [
    (facts) =>
      sourceClusters(facts).length > 0 || facts.endpoints.every((own) => own.zone === '' || own.forZones.length > 0)
        ? [SHOW_SLICES]
        : [],
    () => [setKeys('labels', { [LABEL_STRATEGY]: 'same-zone' }, 'EndpointSlice')],
    `# with the endpointslice-webhook, and zones on all endpoints: label ${LABEL_STRATEGY}=same-zone on its slices`,
  ],
  HintsControllerGateOff: gatesOfAll,
  OverloadThreshold: [ofSeed, useField, scaleToShare, both(scaleToShare, spreadOut), whyNotSpread],
  TooFewEndpoints: [ofSeed, useField, ...SPREADING, scaleToShare, both(scaleToShare, spreadOut)],
  HintsLost: [useField, () => [TOUCH]],
  HintsNotWritten: [
    'kubectl logs -n kube-system -l component=kube-controller-manager --tail=-1 | grep -i endpointslice',
    TOUCH,
  ],
  SlicesBehind: [TOUCH],
  NodesInOneZone: (facts) => [TAKE_OFF, askingNote(facts)?.line ?? []].flat(),
  NodeWithoutZone: [both(labelNode, useField), labelNode],
  WebhookMissing: [useField, `# ${installChart} -n topology-aware-routing --create-namespace`],
  WebhookWithoutEndpoint: webhookPods('kubectl describe pods'),
  WebhookCertificateExpired: webhookPods('# if its authority is built in: kubectl rollout restart deployment'),
  WebhookDoesNotSelect: [
    `# ${installChart} -n topology-aware-routing --reuse-values --set-json 'endpointsliceWebhook.includedNamespaces=["{namespace}"]'`,
  ],
  WebhookSkipped: [setKeys('annotations', AGAIN, 'EndpointSlice')],
  FlowPolicyMissing: ['kubectl get leases -A | grep flow-controller'],
  ObserveOnly: [
    `# to follow the plan: kubectl patch flowpolicy {name} -n {namespace} --type merge -p '{"spec":{"mode":"Enforce"}}'`,
  ],
  NoEndpoints: (facts) =>
    isAnsweredOnNodes(facts) || !hasSelector(facts.service) || waitingFor(facts).text !== ''
      ? []
      : ['kubectl get pods -n {namespace} --show-labels'],
  NoLocalEndpoints: serveAll,
  // Where every Node has an endpoint, the policy does what it is for.
  InternalTrafficPolicyLocal: (facts) =>
    facts.routes.some(({ reason }) => reason === 'NoLocalEndpoints')
      ? serveAll(facts)
      : serveAll(facts)?.map((step) => `# only if clients may use Pods of other Nodes: ${asAdvice(step).slice(2)}`),
  NotProxied: [`# if no such proxy serves it: ${commandOf(setKeys('labels', { [LABEL_PROXY_NAME]: null }))}`],
  HintsGateOff: switchGateOn,
  // What is named is not known any better with more objects.
  RouterUnknown: (facts) => (hasUnknown(facts) ? [SNAPSHOT, NAME_IT] : [MEASURE_IT]),
  TerminatingForZone: [...SPREADING, showUnseen],
  NoBackendForZone: showUnseen,
  CiliumServiceTopologyOff: switchCiliumTopologyOn,
  CiliumExternalTrafficPolicyLocal: [patchSpec({ externalTrafficPolicy: 'Cluster' })],
  LinkerdSlicesOff: [
    '# helm upgrade linkerd-control-plane linkerd/linkerd-control-plane -n linkerd --reuse-values --set enableEndpointSlices=true',
  ],
  HintedForOtherZone: [useField, SHOW_SLICES],
  UnevenLoad: [
    (facts) => {
      const weights = [...(callersOf(facts)?.zones ?? [])].map(([zone, count]) => `${zone}=${count}`);
      return weights.length === 0 ? [] : [`${SIMULATE} --weights ${weights.join(',')}`];
    },
    spreadOut,
    ({ routes }) => (routes.every(({ mode }) => mode === '') ? [] : [SIMULATE]),
  ],
  StickyClients: (facts) => {
    const note = askingNote(facts, 'sessionAffinity');
    const steps = note?.reverts ? [note.line] : [UNSTICK, note?.line ?? []].flat();
    return facts.service.spec?.sessionAffinity === 'ClientIP' ? steps : [];
  },
  LoadBalancerTraffic: (facts) => (settingsFor(facts).isZonal ? [TO_CLOSE, askingNote(facts)?.line ?? []].flat() : []),
  NoGrowth: growth,
  PublishedNotReady: [patchSpec({ publishNotReadyAddresses: false })],
  Evacuated: (facts) => evacuatedZones(facts).map((zone) => `kubectl topology return ${zone}`),
  NoNodes: [SNAPSHOT],
  ProxyMissedItsZone: ['# where its log says so: kubectl rollout restart daemonset kube-proxy -n kube-system'],
};

const isFix = (fix: Step | Fix): fix is Fix => typeof fix === 'function';

/** The steps whose changes help, all together; of several the first that are any. What would overload an endpoint is advice. */
const provenSteps = (reason: CauseReason, facts: Facts, tryOut: (changes: readonly Change[]) => Tried) => {
  // A wish of which nothing comes is asked in other words.
  const found = isTooOld(reason, facts) ? [] : (FIXES[reason] ?? (reason === facts.wish.reason ? ask : []));
  const fixes = typeof found === 'function' ? [found] : found;
  const tries = fixes.slice(0, 1).every(isFix) ? fixes.map((fix) => [fix]) : [fixes];
  let later: readonly Step[] = [];
  for (const attempt of tries) {
    const steps = attempt.flatMap((each) => (isFix(each) ? (each(facts) ?? []) : [each]));
    const changes = steps.filter(isChange);
    if (steps.length === 0) continue;
    const tried = changes.length === 0 ? 'helps' : tryOut(changes);
    // Lines that show something come after what would help.
    if (tried === 'helps') return changes.length === 0 && later.length > 0 ? later : steps;
    if (tried !== 'useless' && later.length === 0)
      later = [
        `# not before its Pods are where its clients are: one would carry ${tried.overload.toFixed(1)} times an even share`,
        ...steps.map(asAdvice),
      ];
  }
  return later;
};

/** What its members are no object shows. */
const MEMBERS_NOTE: OwnerNote = {
  line: '# only where more members of the StatefulSet serve the same (not a quorum, shards, or replicas of a primary)',
  reverts: true,
};

const noteFor = (change: Change, facts: Facts): OwnerNote | undefined => {
  const { kind, patch } = change;
  if (kind === 'Service') return askingNote(facts, Object.keys(patch.spec ?? {})[0]);
  const own = facts.workloads.find((each) => workloadTitle(each) === workloadTitle(change));
  const spreads = patch.spec?.['template'] !== undefined;
  const otherwise = own?.kind === 'StatefulSet' && !spreads ? MEMBERS_NOTE : undefined;
  // A restart is no change that an owner would write back.
  if (own?.marks === undefined || patch.spec === RESTART) return otherwise;
  const note = ownerNote(own.marks, spreads ? TEMPLATE : { pointer: '/spec/replicas' }, facts.version);
  return note?.reverts === true ? note : (otherwise ?? note);
};

const OF_PODS = /^(?:HintedForOtherZone|PodsNotSpread|SingleEndpoint|TooFewEndpoints|PodsWaiting|ZoneFails\w+)$/;

/** Whose the objects are, where no command is left that would say it. */
const ownersFor = (reason: CauseReason, facts: Facts): readonly string[] => {
  const asking = askingNote(facts, nearRemedy(facts) && 'internalTrafficPolicy');
  // The value was tried, and nothing came of it.
  if (/^(?:NotRequested|OverloadThreshold)$/.test(reason)) return asking && !asking.asks ? [asking.line] : [];
  const isKept = chosenBy(facts) !== '' || isStore(facts.workloads);
  if (!OF_PODS.test(reason) || (reason === 'SingleEndpoint' && isKept)) return [];
  const isBarred = facts.makers.some((own) => placing(facts, own, facts.clientZones).isFirst);
  const place = isBarred ? { pointer: '/spec/template' } : TEMPLATE;
  const placed = hasFew(facts) && reason !== 'PodsNotSpread' ? [] : [place];
  return [...(hasFew(facts) ? [{ pointer: '/spec/replicas' }] : []), ...placed].flatMap((change) =>
    facts.makers.flatMap(({ marks }) => (marks && ownerNote(marks, change, facts.version)?.line) ?? []),
  );
};

/** The lines of a cause. `tryOut`: whether it is gone after the changes, and nothing worse. What an owner writes back is advice, and so is what was tried with it. */
export const fixOf = (reason: CauseReason, facts: Facts, tryOut: (changes: readonly Change[]) => Tried) => {
  const { namespace, name } = facts.ref;
  // What asks for zones is no part of it where traffic comes from outside.
  const isOutside = facts.service.spec?.externalTrafficPolicy === 'Local' && OF_PODS.test(reason);
  const proven = provenSteps(reason, facts, tryOut).filter(
    (step) => !(isOutside && isChange(step) && step.kind === 'Service'),
  );
  const steps = proven.map((step) => {
    const note = isChange(step) ? noteFor(step, facts) : undefined;
    return { step, note, advice: note?.reverts === true && note !== MEMBERS_NOTE ? fieldsOf(step) : asAdvice(step) };
  });
  // Of what is denied nothing is left to do there.
  const isReverted = steps.some(({ note }) => note?.reverts === true);
  const isHere = isReverted && steps.every(({ note }) => note?.way === undefined);
  const reverted = isHere ? steps.filter(({ step }) => isChange(step)) : [];
  const kept = steps.map(({ step }) => step).filter((step) => !isReverted || !isChange(step));
  const isSaid = steps.some(({ step }) => isChange(step)) && reason !== 'OverloadThreshold';
  const more = isSaid ? [] : ownersFor(reason, facts);
  const notes = new Set([...steps.flatMap(({ note }) => note?.line ?? []), ...more]);
  return [...kept, ...notes, ...reverted.map(({ advice }) => advice)].map((step) =>
    (isChange(step) ? commandOf(step) : step)
      .replaceAll('{slices}', `endpointslices -n ${namespace} -l ${LABEL_SERVICE_NAME}=${name}`)
      .replaceAll('{namespace}', namespace)
      .replaceAll('{name}', name),
  );
};
