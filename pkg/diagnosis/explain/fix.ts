// The commands that fix a cause, or show what has to be fixed, for this Service, this version and these data planes. Where the owner of a
// Service would undo a command, a line says what to set there instead.
import { GROUP, LABEL_SERVICE_NAME, LABEL_STRATEGY, LABEL_ZONE } from '../../apis/names.ts';
import { zoneOfNode } from '../../apis/core.ts';
import { nameOf } from '../../apis/values.ts';
import { atLeast } from '../../routing/version.ts';
import { itemsOf } from '../snapshot.ts';
import { DRUID_NOTE, type Fix, annotate, ask, askingNote, patch, settingsFor, useField } from './ask.ts';
import { ownerNote } from '../owner.ts';
import { evacuatedZones, isBarred } from './spread.ts';
import { workingCounts } from './given.ts';
import type { Facts } from './facts.ts';
import type { CauseReason } from './reasons.ts';
import { sourceClusters } from './wanted.ts';

/** The first that has a command. */
const firstOf =
  (...fixes: readonly (Fix | string)[]): Fix =>
  (facts) =>
    fixes
      .map((fix) => (typeof fix === 'string' ? [fix] : fix(facts)))
      .find((commands) => commands !== undefined && commands.length > 0);

type Workload = Facts['workloads'][number];

const workloadRef = ({ kind, name }: Workload): string => `${kind.toLowerCase()} ${name} -n {namespace}`;

/** A HorizontalPodAutoscaler would undo another number of replicas. */
const scaleTo = (replicas: number, few: readonly Workload[], { workloads, autoscalers }: Facts): string[] => {
  if (workloads.length === 0)
    return [`kubectl scale <what runs its Pods, e.g. deployment web> -n {namespace} --replicas=${replicas}`];
  return few.map((workload) => {
    const own = autoscalers.find(
      ({ kind, targetKind, targetName }) =>
        kind === 'HorizontalPodAutoscaler' && targetKind === workload.kind && targetName === workload.name,
    );
    return own === undefined
      ? `kubectl scale ${workloadRef(workload)} --replicas=${replicas}`
      : `kubectl patch hpa ${own.name} -n {namespace} --type merge -p '{"spec":{"minReplicas":${replicas}}}'`;
  });
};

/** One for each zone with clients, where there are fewer. */
const scale = (facts: Facts): string[] => {
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

const spreadOut = ({ workloads, service }: Facts): string[] =>
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
      // Strategic: constraints on other keys stay.
      return `kubectl patch ${workloadRef(workload)} -p '${JSON.stringify({ spec })}'`;
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
const AGAIN = `--overwrite ${GROUP}/look-again="$(date +%s)"`;
const TOUCH_SERVICE = `kubectl annotate {service} ${AGAIN}`;
const SNAPSHOT = 'kubectl topology snapshot > cluster.json';

const labelNode: Fix = ({ nodes }) => {
  const unlabelled = nodes.find((node) => zoneOfNode(node) === '');
  if (unlabelled !== undefined) return [`kubectl label node ${nameOf(unlabelled)} ${LABEL_ZONE}=<zone of the Node>`];
  return [nodes.length === 0 ? SNAPSHOT : SHOW_SLICES];
};

const installChart = 'helm upgrade --install topology-aware-routing charts/gardener-extension-topology-aware-routing';

/** A second Service: the cluster IP of one cannot be changed. */
const exposeBeside: Fix = (facts) => {
  if (Object.keys(facts.service.spec?.selector ?? {}).length === 0) return [];
  const { distribution } = settingsFor(facts);
  const name = '{name}-by-zone';
  const field = patch({ trafficDistribution: distribution }).replace('{service}', `service ${name} -n {namespace}`);
  return [`kubectl expose {service} --name=${name}`, ...(distribution === undefined ? [] : [field])];
};

const webhookPods =
  (verb: string): Fix =>
  ({ snapshot }) => {
    const namespaces = itemsOf(snapshot.webhooks).flatMap(({ slices, service }) =>
      slices && service !== undefined ? [service.namespace] : [],
    );
    const label = 'app.kubernetes.io/component=endpointslice-webhook';
    return [...new Set(namespaces)].map((namespace) => `kubectl ${verb} -n ${namespace} -l ${label}`);
  };

const growth: Fix = ({ workloads, version, clientZones }) =>
  workloads
    .filter(({ replicas }) => replicas > 0)
    .map((workload) => {
      // --cpu-percent is deprecated since kubectl 1.34, and --cpu unknown before.
      const cpu = atLeast(version, 34) ? '--cpu=80%' : '--cpu-percent=80';
      const min = Math.max(workload.replicas, clientZones.length);
      return `kubectl autoscale ${workloadRef(workload)} --min=${min} --max=${min * 2} ${cpu}`;
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
      `kubectl edit ${kind.toLowerCase()} ${name} -n ${namespace}   # featureGates: TopologyAwareHints: true`,
      `kubectl rollout restart daemonset -n ${namespace} -l k8s-app=kube-proxy`,
    ];
  });
};

const serveAll: Fix = () => [patch({ internalTrafficPolicy: 'Cluster' })];

const CILIUM_TOPOLOGY_ON = [
  'helm upgrade cilium cilium/cilium -n kube-system --reuse-values --set loadBalancer.serviceTopology=true',
  'kubectl -n kube-system rollout restart daemonset/cilium',
];

/** Every cause but those where nothing is wrong, and where nothing helps. */
const FIXES: Partial<Readonly<Record<CauseReason, Fix | readonly string[]>>> = {
  ExternalName: [patch({ type: 'ClusterIP', externalName: null, selector: { '<label>': '<of its Pods>' } })],
  Headless: firstOf(
    exposeBeside,
    'kubectl get {service} -o yaml   # without a selector its author has to write a second Service',
  ),
  // The webhook leaves endpoints without zone alone, and an importer writes its labels back.
  NoSelector: (facts) => {
    if (sourceClusters(facts).length > 0) return [SHOW_SLICES];
    return facts.endpoints.every(({ zone }) => zone === '')
      ? []
      : [`kubectl label {slices} ${LABEL_STRATEGY}=same-zone   # needs endpointslice-webhook`];
  },
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
  HintsLost: firstOf(useField, TOUCH_SERVICE),
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
  WebhookMissing: firstOf(useField, `${installChart} -n topology-aware-routing --create-namespace`),
  WebhookWithoutEndpoint: webhookPods('describe pods'),
  WebhookCertificateExpired: webhookPods('rollout restart deployment'),
  WebhookDoesNotSelect: [
    `${installChart} -n topology-aware-routing --reuse-values --set-json 'endpointsliceWebhook.includedNamespaces=["{namespace}"]'`,
  ],
  WebhookSkipped: [`kubectl annotate {slices} ${AGAIN}`],
  FlowPolicyMissing: ['kubectl get leases -A | grep flow-controller'],
  ObserveOnly: [`kubectl patch flowpolicy {name} -n {namespace} --type merge -p '{"spec":{"mode":"Enforce"}}'`],
  LoadNotObserved: [SHOW_POLICY],
  PlanNotInForce: [SHOW_POLICY],
  PlanSpread: [SHOW_POLICY],
  NoEndpoints: ['kubectl get pods -n {namespace} --show-labels'],
  NoReadyEndpoints: (facts) => (facts.families.some(({ drained }) => drained.length > 0) ? [] : showPods(facts)),
  TerminatingEndpoints: showPods,
  NoLocalEndpoints: serveAll,
  InternalTrafficPolicyLocal: serveAll,
  NotProxied: ['kubectl label {service} service.kubernetes.io/service-proxy-name-'],
  HintsGateOff: switchGateOn,
  RouterUnknown: [
    SNAPSHOT,
    'kubectl topology explain {namespace}/{name} -f cluster.json --proxy=<kube-proxy, cilium or linkerd>',
  ],
  UnreadyForZone: showPods,
  UnusedWithoutHint: [SHOW_SLICES],
  TerminatingForZone: scaleAndSpread,
  NoBackendForZone: scaleAndSpread,
  CiliumServiceTopologyOff: ({ nodes }) =>
    nodes.some(({ metadata }) => metadata?.labels?.['kubernetes.azure.com/cluster'] !== undefined)
      ? [
          '# where AKS installed Cilium (network dataplane cilium), it writes cilium-config back and has no such setting',
          `# where you did: ${CILIUM_TOPOLOGY_ON.join('; ')}`,
        ]
      : CILIUM_TOPOLOGY_ON,
  CiliumExternalTrafficPolicyLocal: [patch({ externalTrafficPolicy: 'Cluster' })],
  LinkerdSlicesOff: [
    'helm upgrade linkerd-control-plane linkerd/linkerd-control-plane -n linkerd --reuse-values --set enableEndpointSlices=true',
  ],
  SingleEndpoint: firstOf(scale, showPods),
  // Where Nodes keep the Pods away, a constraint would leave them pending.
  PodsNotSpread: firstOf(
    (facts) =>
      isBarred(facts)
        ? ['# Nodes keep the Pods away: give the Pods a toleration or other affinity, or add Nodes that take them']
        : scaleAndSpread(facts),
    showPods,
  ),
  PortOfSomePods: ['kubectl get {slices}'],
  HintedForOtherZone: firstOf(useField, SHOW_SLICES),
  UnevenLoad: firstOf(spreadOut, 'kubectl topology simulate {namespace}/{name}'),
  NoGrowth: growth,
  PublishedNotReady: [patch({ publishNotReadyAddresses: false })],
  Evacuated: (facts) => evacuatedZones(facts).map((zone) => `kubectl topology return ${zone}`),
  NoNodes: [SNAPSHOT],
  ProxyMissedItsZone: ['kubectl rollout restart daemonset kube-proxy -n kube-system'],
};

const CHANGES_SERVICE = /^kubectl (?:patch|annotate) (?:\{service\}|service) /;

/** Who would undo a change of a workload. */
const workloadNotes = (commands: readonly string[], { workloads, version }: Facts): string[] =>
  workloads.flatMap((workload) => {
    const own = commands.find(
      (command) => /^kubectl (?:scale|patch) /.test(command) && command.includes(` ${workloadRef(workload)}`),
    );
    if (own === undefined || workload.marks === undefined) return [];
    const pointer = own.includes('topologySpreadConstraints')
      ? '/spec/template/spec/topologySpreadConstraints'
      : '/spec/replicas';
    return ownerNote(workload.marks, { pointer }, version) ?? [];
  });

export const fixOf = (reason: CauseReason, facts: Facts): readonly string[] => {
  const fix = FIXES[reason];
  const found = (typeof fix === 'function' ? fix(facts) : fix) ?? [];
  const others = found.filter((command) => !CHANGES_SERVICE.test(command));
  const note = others.length < found.length ? askingNote(facts) : undefined;
  const notes = new Set([...(note === undefined ? [] : [note]), ...workloadNotes(found, facts)]);
  const { namespace, name } = facts.ref;
  return [...(note === DRUID_NOTE ? others : found), ...notes].map((command) =>
    command
      .replaceAll('{service}', `service ${name} -n ${namespace}`)
      .replaceAll('{slices}', `endpointslices -n ${namespace} -l ${LABEL_SERVICE_NAME}=${name}`)
      .replaceAll('{namespace}', namespace)
      .replaceAll('{name}', name),
  );
};
