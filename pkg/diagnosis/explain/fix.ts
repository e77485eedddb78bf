// The commands that fix a cause, or show what has to be fixed, for this Service, this version and these data planes. Where the owner of a
// Service would undo a command, a line says what to set there instead.
import { GROUP, LABEL_PROXY_NAME, LABEL_SERVICE_NAME, LABEL_STRATEGY, LABEL_ZONE } from '../../apis/names.ts';
import { zoneOfNode } from '../../apis/core.ts';
import { nameOf } from '../../apis/values.ts';
import { atLeast } from '../../routing/version.ts';
import { itemsOf } from '../snapshot.ts';
import { DRUID_NOTE, type Fix, annotate, ask, askingNote, patchSpec, setKeys, settingsFor, useField } from './ask.ts';
import { type Change, type Step, commandOf, isChange } from './remedy.ts';
import { ownerNote } from '../owner.ts';
import { evacuatedZones, isBarred } from './spread.ts';
import { workingCounts } from './given.ts';
import type { Facts } from './facts.ts';
import type { CauseReason } from './reasons.ts';
import { sourceClusters } from './wanted.ts';

/** Of several, the first whose changes help, or that has none. */
const firstOf = (...fixes: readonly (Fix | string)[]): readonly Fix[] =>
  fixes.map((fix) => (typeof fix === 'string' ? () => [fix] : fix));

type Workload = Facts['workloads'][number];

/** A HorizontalPodAutoscaler would undo another number of replicas. */
const scaleTo = (replicas: number, few: readonly Workload[], { workloads, autoscalers }: Facts): Step[] => {
  if (workloads.length === 0) return [`# scale what runs its Pods (it was not seen) to ${replicas} replicas`];
  return few.map((workload) => {
    const own = autoscalers.find(
      ({ kind, targetKind, targetName }) =>
        kind === 'HorizontalPodAutoscaler' && targetKind === workload.kind && targetName === workload.name,
    );
    return own === undefined
      ? patchSpec({ replicas }, workload.kind.toLowerCase(), workload.name)
      : patchSpec({ minReplicas: replicas }, 'hpa', own.name);
  });
};

/** One for each zone with clients, where there are fewer. */
const scale = (facts: Facts): Step[] => {
  const { workloads, endpoints, clientZones: zones } = facts;
  const few = workloads.filter(({ replicas }) => replicas < zones.length);
  return workloads.length > 0 || endpoints.length < zones.length ? scaleTo(zones.length, few, facts) : [];
};

/** Another number of endpoints that the CPU heuristic can share out, the next above. */
const scaleToShare: Fix = (facts) => {
  const { shares, families, endpoints, workloads } = facts;
  const count = families[0]?.endpoints.length ?? endpoints.length;
  const more = shares.kind === 'unknown' ? undefined : workingCounts(shares.ratios, count).find((n) => n > count);
  return more === undefined ? [] : scaleTo(more, workloads, facts);
};

const spreadOut = ({ workloads, service }: Facts): Step[] =>
  workloads
    .filter(
      ({ spread, kind }) => kind !== 'ReplicaSet' && spread.every(({ topologyKey }) => topologyKey !== LABEL_ZONE),
    )
    .map((workload) => {
      const constraint = {
        maxSkew: 1,
        topologyKey: LABEL_ZONE,
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchLabels: service.spec?.selector ?? {} },
      };
      const spec = { template: { spec: { topologySpreadConstraints: [constraint] } } };
      return patchSpec(spec, workload.kind.toLowerCase(), workload.name);
    });

const scaleAndSpread: Fix = (facts) => [...scale(facts), ...spreadOut(facts)];

const showPods: Fix = ({ service }) => {
  const selector = Object.entries(service.spec?.selector ?? {}).map(([key, value]) => `${key}=${value}`);
  return [`kubectl get pods -n {namespace} -l '${selector.join(',')}' -o wide`];
};

/** Who writes them, and when they did. */
const SHOW_SLICES = 'kubectl get {slices} -o yaml --show-managed-fields';
const SHOW_POLICY = 'kubectl describe flowpolicy {name} -n {namespace}';
/** Any write makes who hints look again. */
const AGAIN = { [`${GROUP}/look-again`]: '"$(date +%s)"' };
const TOUCH_SERVICE = setKeys('annotations', AGAIN);
const SNAPSHOT = 'kubectl topology snapshot > cluster.json';

const labelNode: Fix = ({ nodes }) => {
  const unlabelled = nodes.find((node) => zoneOfNode(node) === '');
  if (unlabelled !== undefined) return [`# kubectl label node ${nameOf(unlabelled)} ${LABEL_ZONE}=<its zone>`];
  return [nodes.length === 0 ? SNAPSHOT : SHOW_SLICES];
};

const installChart = 'helm upgrade --install topology-aware-routing charts/gardener-extension-topology-aware-routing';

/** A second Service: the cluster IP of one cannot be changed. */
const exposeBeside: Fix = (facts) => {
  if (Object.keys(facts.service.spec?.selector ?? {}).length === 0) return [];
  const { distribution } = settingsFor(facts);
  const name = '{name}-by-zone';
  const field = distribution === undefined ? '' : `, with spec.trafficDistribution ${distribution}`;
  return [`# a second Service beside it: kubectl expose service {name} -n {namespace} --name=${name}${field}`];
};

const webhookPods =
  (verb: string): Fix =>
  ({ snapshot }) => {
    const namespaces = itemsOf(snapshot.webhooks).flatMap(({ slices, service }) =>
      slices && service !== undefined ? [service.namespace] : [],
    );
    const label = 'app.kubernetes.io/component=endpointslice-webhook';
    return [...new Set(namespaces)].map((namespace) => `${verb} -n ${namespace} -l ${label}`);
  };

const growth: Fix = ({ workloads, version, clientZones }) =>
  workloads
    .filter(({ replicas }) => replicas > 0)
    .map((workload) => {
      // --cpu-percent is deprecated since kubectl 1.34, and --cpu unknown before.
      const cpu = atLeast(version, 34) ? '--cpu=80%' : '--cpu-percent=80';
      const min = Math.max(workload.replicas, clientZones.length);
      const object = `${workload.kind.toLowerCase()} ${workload.name} -n {namespace}`;
      return `# if its Pods have CPU requests: kubectl autoscale ${object} --min=${min} --max=${min * 2} ${cpu}`;
    });

/** Where the gate is set; what is static lies in a file of the Node. */
const switchGateOn: Fix = ({ routes, index }) => {
  const off = routes.filter(({ reason }) => reason === 'HintsGateOff').flatMap(({ nodes }) => nodes);
  const places = off.flatMap((node) =>
    index.routers.of(node).evidence.filter(({ field }) => /feature-?gates/i.test(field)),
  );
  const objects = [...new Set(places.map(({ object }) => object))];
  if (objects.length === 0) return ['# --feature-gates of kube-proxy: TopologyAwareHints=true'];
  return objects.flatMap((object) => {
    const [, kind = '', namespace = '', name = ''] = /^(\S+) ([^/]+)\/(.+)$/.exec(object) ?? [];
    if (kind === 'Pod')
      return [`# ${object}, in its manifest or its DaemonSet: TopologyAwareHints=true in --feature-gates`];
    return [
      `# ${kind} ${namespace}/${name}: featureGates TopologyAwareHints: true, then restart kube-proxy on every Node`,
    ];
  });
};

const serveAll = [patchSpec({ internalTrafficPolicy: 'Cluster' })];

const CILIUM_TOPOLOGY_ON = [
  '# helm upgrade cilium cilium/cilium -n kube-system --reuse-values --set loadBalancer.serviceTopology=true',
  '# kubectl -n kube-system rollout restart daemonset/cilium',
];

/** Every cause but those where nothing is wrong, and where nothing helps. */
const FIXES: Partial<Readonly<Record<CauseReason, Fix | readonly Step[] | readonly Fix[]>>> = {
  ExternalName: [
    '# if its Pods are in this cluster: type ClusterIP and a selector of their labels, without externalName',
  ],
  Headless: firstOf(
    exposeBeside,
    'kubectl get service {name} -n {namespace} -o yaml   # without a selector its author has to write a second Service',
  ),
  // The webhook leaves endpoints without zone alone, and an importer writes its labels back.
  NoSelector: firstOf(
    (facts) => (sourceClusters(facts).length > 0 ? [SHOW_SLICES] : []),
    () => [setKeys('labels', { [LABEL_STRATEGY]: 'same-zone' }, 'endpointslices')],
    `# with the endpointslice-webhook, and zones on all endpoints: label ${LABEL_STRATEGY}=same-zone on its slices`,
  ),
  NotRequested: ask,
  AnnotationRemoved: ask,
  AnnotationNotRecognized: ask,
  AnnotationKeyNotRead: ask,
  AnnotationWins: useField,
  TrafficDistributionNotRecognized: ask,
  HintsControllerGateOff: [
    '# --feature-gates of kube-apiserver, kube-controller-manager and kube-proxy: TopologyAwareHints=true',
  ],
  CiliumNotOptedIn: ask,
  RouterNotOptedIn: annotate,
  ProxyNeedsAnnotation: annotate,
  InsufficientNodeInformation: useField,
  ControlPlaneNodes: firstOf(useField, 'kubectl get nodes -L node-role.kubernetes.io/control-plane'),
  OverloadThreshold: firstOf(useField, scaleToShare),
  TooFewEndpoints: firstOf(useField, scale, scaleToShare),
  HintsLost: firstOf(useField, () => [TOUCH_SERVICE]),
  HintsNotWritten: [
    'kubectl logs -n kube-system -l component=kube-controller-manager --tail=-1 | grep -i endpointslice',
    TOUCH_SERVICE,
  ],
  EndpointWithoutHint: [SHOW_SLICES],
  NodeNotHinted: [SHOW_SLICES],
  NodeWithoutCpu: firstOf(
    useField,
    'kubectl get nodes -o custom-columns=NAME:.metadata.name,CPU:.status.allocatable.cpu',
  ),
  NodeWithoutZone: labelNode,
  ClientNodeWithoutZone: labelNode,
  EndpointWithoutZone: labelNode,
  WebhookMissing: firstOf(useField, `# ${installChart} -n topology-aware-routing --create-namespace`),
  WebhookWithoutEndpoint: webhookPods('kubectl describe pods'),
  WebhookCertificateExpired: webhookPods('# if its authority is built in: kubectl rollout restart deployment'),
  WebhookDoesNotSelect: [
    `# ${installChart} -n topology-aware-routing --reuse-values --set-json 'endpointsliceWebhook.includedNamespaces=["{namespace}"]'`,
  ],
  WebhookSkipped: [setKeys('annotations', AGAIN, 'endpointslices')],
  FlowPolicyMissing: ['kubectl get leases -A | grep flow-controller'],
  ObserveOnly: [
    `# to follow the plan: kubectl patch flowpolicy {name} -n {namespace} --type merge -p '{"spec":{"mode":"Enforce"}}'`,
  ],
  LoadNotObserved: [SHOW_POLICY],
  PlanNotInForce: [SHOW_POLICY],
  PlanSpread: [SHOW_POLICY],
  NoEndpoints: ['kubectl get pods -n {namespace} --show-labels'],
  NoReadyEndpoints: (facts) => (facts.families.some(({ drained }) => drained.length > 0) ? [] : showPods(facts)),
  TerminatingEndpoints: showPods,
  NoLocalEndpoints: serveAll,
  InternalTrafficPolicyLocal: serveAll,
  NotProxied: [setKeys('labels', { [LABEL_PROXY_NAME]: null })],
  HintsGateOff: switchGateOn,
  RouterUnknown: [
    SNAPSHOT,
    'kubectl topology explain {namespace}/{name} -f cluster.json --proxy=<kube-proxy, cilium or linkerd>',
  ],
  UnreadyForZone: showPods,
  UnusedWithoutHint: [SHOW_SLICES],
  TerminatingForZone: firstOf(scaleAndSpread, showPods),
  NoBackendForZone: firstOf(scaleAndSpread, showPods),
  CiliumServiceTopologyOff: ({ nodes }) =>
    nodes.some(({ metadata }) => metadata?.labels?.['kubernetes.azure.com/cluster'] !== undefined)
      ? [
          '# where AKS installed Cilium (network dataplane cilium), it writes cilium-config back and has no such setting',
          `# where you did: ${CILIUM_TOPOLOGY_ON.map((line) => line.slice(2)).join('; ')}`,
        ]
      : CILIUM_TOPOLOGY_ON,
  CiliumExternalTrafficPolicyLocal: [patchSpec({ externalTrafficPolicy: 'Cluster' })],
  LinkerdSlicesOff: [
    '# helm upgrade linkerd-control-plane linkerd/linkerd-control-plane -n linkerd --reuse-values --set enableEndpointSlices=true',
  ],
  SingleEndpoint: firstOf(scale, showPods),
  PodsNotSpread: firstOf(
    scaleAndSpread,
    (facts) =>
      isBarred(facts)
        ? ['# Nodes keep the Pods away: give the Pods a toleration or other affinity, or add Nodes that take them']
        : [],
    showPods,
  ),
  PortOfSomePods: ['kubectl get {slices}'],
  HintedForOtherZone: firstOf(useField, SHOW_SLICES),
  UnevenLoad: firstOf(spreadOut, 'kubectl topology simulate {namespace}/{name}'),
  NoGrowth: growth,
  PublishedNotReady: [patchSpec({ publishNotReadyAddresses: false })],
  Evacuated: (facts) => evacuatedZones(facts).map((zone) => `kubectl topology return ${zone}`),
  NoNodes: [SNAPSHOT],
  ProxyMissedItsZone: [
    '# where the log of kube-proxy says so: kubectl rollout restart daemonset kube-proxy -n kube-system',
  ],
};

const isFixes = (fixes: readonly (Step | Fix)[]): fixes is readonly Fix[] => typeof fixes[0] === 'function';

/** The steps whose changes help, all together; of several the first that are any. */
const provenSteps = (reason: CauseReason, facts: Facts, helps: (changes: readonly Change[]) => boolean) => {
  const fix = FIXES[reason] ?? [];
  const tries: readonly Fix[] = typeof fix === 'function' ? [fix] : isFixes(fix) ? fix : [() => fix];
  for (const attempt of tries) {
    const steps = attempt(facts) ?? [];
    const changes = steps.filter(isChange);
    if (steps.length > 0 && (changes.length === 0 || helps(changes))) return steps;
  }
  return [];
};

/** Who would undo a change of a workload. */
const workloadNotes = (changes: readonly Change[], { workloads, version }: Facts): string[] =>
  workloads.flatMap(({ kind, name, marks }) => {
    const own = changes.find((change) => change.kind === kind.toLowerCase() && change.name === name);
    if (own === undefined || marks === undefined) return [];
    const spreads = own.patch.spec?.['template'] !== undefined;
    const pointer = spreads ? '/spec/template/spec/topologySpreadConstraints' : '/spec/replicas';
    return ownerNote(marks, { pointer }, version) ?? [];
  });

/** The lines of a cause. `helps`: whether it is gone after the changes, and nothing worse. */
export const fixOf = (
  reason: CauseReason,
  facts: Facts,
  helps: (changes: readonly Change[]) => boolean,
): readonly string[] => {
  const { namespace, name } = facts.ref;
  const found = provenSteps(reason, facts, helps);
  const others = found.filter((step) => !isChange(step) || step.kind !== 'service');
  const note = others.length < found.length ? askingNote(facts) : undefined;
  const notes = new Set([...(note === undefined ? [] : [note]), ...workloadNotes(found.filter(isChange), facts)]);
  const steps = [...(note === DRUID_NOTE ? others : found), ...notes];
  return steps.map((step) =>
    (isChange(step) ? commandOf(step) : step)
      .replaceAll('{slices}', `endpointslices -n ${namespace} -l ${LABEL_SERVICE_NAME}=${name}`)
      .replaceAll('{namespace}', namespace)
      .replaceAll('{name}', name),
  );
};
