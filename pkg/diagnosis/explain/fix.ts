// The commands that fix a cause, or show what has to be fixed, for this Service, this version and these data planes. Where the owner of a
// Service would undo a command, a line says what to set there instead.
import {
  ANNOTATION_TOPOLOGY_AWARE_HINTS,
  ANNOTATION_TOPOLOGY_MODE,
  GROUP,
  LABEL_SERVICE_NAME,
  LABEL_STRATEGY,
  LABEL_ZONE,
} from '../../apis/names.ts';
import { zoneOfNode } from '../../apis/core.ts';
import { nameOf } from '../../apis/values.ts';
import { isMadeByDruid } from '../../routing/etcd-clients.ts';
import { domainPrefixedMode } from '../../routing/plan.ts';
import { atLeast } from '../../routing/version.ts';
import { type Proxy, distributionOf } from '../../upstream/index.ts';
import { readsPreferCloseOnly } from '../../upstream/proxy/hint-rule.ts';
import { itemsOf } from '../snapshot.ts';
import { evacuatedZones, isBarred } from './spread.ts';
import { workingCounts } from './given.ts';
import type { Facts } from './facts.ts';
import type { CauseReason } from './reasons.ts';

/** Commands in their order. `{service}`, `{slices}`, `{name}` and `{namespace}` stand for those of the Service. */
type Fix = (facts: Facts) => readonly string[];

/** The first that has a command. */
const firstOf =
  (...fixes: readonly (Fix | string)[]): Fix =>
  (facts) =>
    fixes.map((fix) => (typeof fix === 'string' ? [fix] : fix(facts))).find((commands) => commands.length > 0) ?? [];

const patch = (spec: object): string => `kubectl patch {service} --type merge -p '${JSON.stringify({ spec })}'`;

/** Data planes of this kind look at hints of annotated Services only. */
const needsAnnotation = (proxy: Proxy, minor: number): boolean => {
  if (proxy.kind === 'kube-proxy') return minor < 31;
  if (proxy.kind === 'cilium') return proxy.ciliumVersion !== undefined && proxy.ciliumVersion.minor < 16;
  return proxy.kind === 'ruled' && typeof proxy.rule.optIn === 'object';
};

/** By what a Service asks so that the control plane and all data planes here understand it. */
const settingsFor = ({ version, options, index: { groups, routers } }: Facts) => {
  // Once for Nodes that are alike: thousands of Services ask.
  const routings = groups.flatMap((nodes) => nodes.slice(0, 1)).map((node) => routers.of(node).routing);
  const onlyClose = routings.some(
    ({ proxy }) =>
      proxy.kind === 'cilium' && proxy.ciliumVersion !== undefined && readsPreferCloseOnly(proxy.ciliumVersion),
  );
  const values = onlyClose ? ['PreferClose'] : ['PreferSameZone', 'PreferClose'];
  const needing = routings.filter((own) => needsAnnotation(own.proxy, own.version.minor));
  const insists = needing.some(({ proxy, version: { minor } }) => proxy.kind !== 'kube-proxy' || minor < 27);
  const field = values.find((value) => distributionOf(value, version, options.gates) !== undefined);
  return {
    /** The value that the control plane and all who read the field know; undefined: it has no such field. */
    field,
    /** Some data plane looks at hints of annotated Services only. */
    annotated: needing.length > 0,
    /**
     * A value beside the field: kube-proxy 1.27 to 1.30 takes any (categorizeEndpoints), and the control plane leaves one of a domain of its
     * own alone, where `Auto` would beat the field. Undefined where something insists on `Auto`, or there is no field.
     */
    beside: insists || field === undefined ? undefined : domainPrefixedMode('same-zone'),
    /** The value of `spec.trafficDistribution` that everything here reads; undefined: none does. */
    distribution: needing.length > 0 ? undefined : field,
  };
};

const presentAnnotation = ({ service }: Facts): string | undefined =>
  [ANNOTATION_TOPOLOGY_AWARE_HINTS, ANNOTATION_TOPOLOGY_MODE].find(
    (key) => service.metadata?.annotations?.[key] !== undefined,
  );

const annotationKey = ({ version }: Facts): string =>
  atLeast(version, 27) ? ANNOTATION_TOPOLOGY_MODE : ANNOTATION_TOPOLOGY_AWARE_HINTS;

const setAnnotation = (facts: Facts, value: string): string =>
  `kubectl annotate {service} --overwrite ${annotationKey(facts)}=${value}`;

/** The annotation for data planes that want one; where the field asks already, by a value that leaves it in force. */
const annotate: Fix = (facts) => {
  const { service, version, options } = facts;
  const isFieldRead = distributionOf(service.spec?.trafficDistribution, version, options.gates) !== undefined;
  const auto = atLeast(version, 27) ? 'Auto' : 'auto';
  return [setAnnotation(facts, (isFieldRead ? settingsFor(facts).beside : undefined) ?? auto)];
};

/** The field, the annotation that older proxies want beside it, and none that is in its way; undefined where the field does not help. */
const askByField = (facts: Facts): string[] | undefined => {
  const { field, annotated, beside } = settingsFor(facts);
  if (field === undefined || (annotated && beside === undefined)) return undefined;
  const key = presentAnnotation(facts);
  const unset = key === undefined ? [] : [`kubectl annotate {service} ${key}-`];
  const set = facts.service.spec?.trafficDistribution === field ? [] : [patch({ trafficDistribution: field })];
  return [...(beside !== undefined && annotated ? [setAnnotation(facts, beside)] : unset), ...set];
};

/** Asks with a setting that every version recognises. */
const ask: Fix = (facts) => askByField(facts) ?? annotate(facts);

/** The field instead of the CPU heuristic, where something here reads it. */
const useField: Fix = (facts) => askByField(facts) ?? [];

/** Helm values by chart that were read in its templates. */
const CHART_VALUES: Readonly<Record<string, string>> = {
  coredns: 'service.trafficDistribution (chart from 1.35.0)',
  'ingress-nginx': 'controller.service.trafficDistribution',
  istiod: 'trafficDistribution (chart from 1.27)',
};

/** Names that the DNS add-on's Service has had. */
const DNS_ADD_ON: ReadonlySet<string> = new Set(['coredns', 'kube-dns']);

/** First minor that serves `v1`, KEP-3962. */
const MUTATING_POLICIES_SINCE = 36;

const ownerNote = (facts: Facts): string | undefined => {
  const { labels = {}, annotations = {} } = facts.service.metadata ?? {};
  const { distribution } = settingsFor(facts);
  const addOn = labels['eks.amazonaws.com/component'];
  if (addOn !== undefined) {
    return DNS_ADD_ON.has(addOn)
      ? `# EKS owns it: aws eks update-addon --cluster-name <cluster> --addon-name coredns --configuration-values '{"annotationTopologyMode":"Auto"}'`
      : '# EKS owns it: an update of the add-on may undo the command, unless its configuration has a value for it (aws eks describe-addon-configuration)';
  }
  if (labels['addonmanager.kubernetes.io/mode'] === 'Reconcile') {
    const policy = atLeast(facts.version, MUTATING_POLICIES_SINCE) ? 'a MutatingAdmissionPolicy or ' : '';
    return `# the add-on manager rewrites it: use ${policy}a Kyverno rule on Services instead (Kyverno has to be installed)`;
  }
  const flux = labels['kustomize.toolkit.fluxcd.io/name'];
  if (flux !== undefined) return `# Flux owns it: the same change under spec.patches of Kustomization ${flux}`;
  if (annotations['argocd.argoproj.io/tracking-id'] !== undefined) {
    const key = (presentAnnotation(facts) ?? annotationKey(facts)).replaceAll('/', '~1');
    const pointer = distribution === undefined ? `/metadata/annotations/${key}` : '/spec/trafficDistribution';
    return `# Argo CD owns it: change the source, or ignoreDifferences jsonPointers: [${pointer}] with syncOptions: [RespectIgnoreDifferences=true]`;
  }
  if (labels['app.kubernetes.io/managed-by'] !== 'Helm') return undefined;
  const value = CHART_VALUES[(labels['helm.sh/chart'] ?? '').replace(/-v?\d.*$/, '')];
  return value === undefined || distribution === undefined
    ? '# Helm owns it: set it in the values of the chart where it has one, or in a post-renderer; an upgrade may undo the command'
    : `# Helm owns it: value ${value}: ${distribution}`;
};

type Workload = Facts['workloads'][number];

const workloadRef = ({ kind, name }: Workload): string => `${kind.toLowerCase()} ${name} -n {namespace}`;

/** A HorizontalPodAutoscaler would undo another number of replicas. */
const scaleTo = (replicas: number, workloads: readonly Workload[], { autoscalers }: Facts): string[] =>
  workloads.map((workload) => {
    const own = autoscalers.find(
      ({ kind, targetKind, targetName }) =>
        kind === 'HorizontalPodAutoscaler' && targetKind === workload.kind && targetName === workload.name,
    );
    return own === undefined
      ? `kubectl scale ${workloadRef(workload)} --replicas=${replicas}`
      : `kubectl patch hpa ${own.name} -n {namespace} --type merge -p '{"spec":{"minReplicas":${replicas}}}'`;
  });

const scaleUnseen = (replicas: number): string[] => [
  `kubectl scale <what runs its Pods, e.g. deployment web> -n {namespace} --replicas=${replicas}`,
];

/** One for each zone with clients, where there are fewer. */
const scale: Fix = (facts) => {
  const { workloads, endpoints, clientZones } = facts;
  const few = workloads.filter(({ replicas }) => replicas < clientZones.length);
  if (few.length > 0) return scaleTo(clientZones.length, few, facts);
  return workloads.length === 0 && endpoints.length < clientZones.length ? scaleUnseen(clientZones.length) : [];
};

/** Another number of endpoints that the CPU heuristic can share out, the next above. */
const scaleToShare: Fix = (facts) => {
  const { shares, families, endpoints, workloads } = facts;
  const count = families[0]?.endpoints.length ?? endpoints.length;
  const more = shares.kind === 'unknown' ? undefined : workingCounts(shares.ratios, count).find((n) => n > count);
  if (more === undefined) return [];
  return workloads.length === 0 ? scaleUnseen(more) : scaleTo(more, workloads, facts);
};

const spreadOut: Fix = ({ workloads, service }) =>
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

/** Where Nodes keep the Pods away, a constraint would leave them pending. */
const BARRED_NOTE =
  '# Nodes keep the Pods away: give the Pods a toleration or other affinity, or add Nodes that take them';

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
  const [unlabelled] = nodes.filter((node) => zoneOfNode(node) === '');
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

/** Every cause but those where nothing is wrong, and where nothing helps. */
const FIXES: Partial<Readonly<Record<CauseReason, Fix | readonly string[]>>> = {
  ExternalName: [patch({ type: 'ClusterIP', externalName: null, selector: { '<label>': '<of its Pods>' } })],
  Headless: firstOf(
    exposeBeside,
    'kubectl get {service} -o yaml   # without a selector its author has to write a second Service',
  ),
  // The webhook leaves endpoints without zone alone.
  NoSelector: ({ endpoints }) =>
    endpoints.every(({ zone }) => zone === '')
      ? []
      : [`kubectl label {slices} ${LABEL_STRATEGY}=same-zone   # needs endpointslice-webhook`],
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
  NoReadyEndpoints: showPods,
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
  CiliumServiceTopologyOff: [
    'helm upgrade cilium cilium/cilium -n kube-system --reuse-values --set loadBalancer.serviceTopology=true',
    'kubectl -n kube-system rollout restart daemonset/cilium',
  ],
  CiliumExternalTrafficPolicyLocal: [patch({ externalTrafficPolicy: 'Cluster' })],
  LinkerdSlicesOff: [
    'helm upgrade linkerd-control-plane linkerd/linkerd-control-plane -n linkerd --reuse-values --set enableEndpointSlices=true',
  ],
  SingleEndpoint: firstOf(scale, showPods),
  PodsNotSpread: firstOf((facts) => (isBarred(facts) ? [BARRED_NOTE] : scaleAndSpread(facts)), showPods),
  HintedForOtherZone: firstOf(useField, SHOW_SLICES),
  UnevenLoad: firstOf(spreadOut, 'kubectl topology simulate {namespace}/{name}'),
  NoGrowth: growth,
  PublishedNotReady: [patch({ publishNotReadyAddresses: false })],
  Evacuated: (facts) => evacuatedZones(facts).map((zone) => `kubectl topology return ${zone}`),
  NoNodes: [SNAPSHOT],
  ProxyMissedItsZone: ['kubectl rollout restart daemonset kube-proxy -n kube-system'],
};

const CHANGES_SERVICE = /^kubectl (?:patch|annotate) (?:\{service\}|service) /;

/** Its `etcdcomponents` webhook denies all other users the update. */
const DRUID_NOTE =
  '# etcd-druid owns it and denies the change: switch topologyAwareRouting on in the Seed or Garden instead';

export const fixOf = (reason: CauseReason, facts: Facts): readonly string[] => {
  const fix = FIXES[reason] ?? [];
  const found = typeof fix === 'function' ? fix(facts) : fix;
  const others = found.filter((command) => !CHANGES_SERVICE.test(command));
  const commands = ((): readonly string[] => {
    if (others.length === found.length) return found;
    return isMadeByDruid(facts.service) ? [...others, DRUID_NOTE] : [...found, ownerNote(facts) ?? []].flat();
  })();
  const { namespace, name } = facts.ref;
  return commands.map((command) =>
    command
      .replaceAll('{service}', `service ${name} -n ${namespace}`)
      .replaceAll('{slices}', `endpointslices -n ${namespace} -l ${LABEL_SERVICE_NAME}=${name}`)
      .replaceAll('{namespace}', namespace)
      .replaceAll('{name}', name),
  );
};
