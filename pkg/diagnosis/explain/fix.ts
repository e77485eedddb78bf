// The commands that fix a cause, or show what has to be fixed, for this Service, this version and these data planes.
// Commands that make a Service ask for routing by zone, with the value that this version and these data planes read.
// Where the owner of a Service would undo a command: what to set there instead.
import {
  ANNOTATION_TOPOLOGY_AWARE_HINTS,
  ANNOTATION_TOPOLOGY_MODE,
  GROUP,
  LABEL_SERVICE_NAME,
  LABEL_STRATEGY,
  LABEL_ZONE,
} from '../../apis/names.ts';
import { zoneOfNode } from '../../apis/core.ts';
import { isMadeByDruid } from '../../routing/etcd-clients.ts';
import { domainPrefixedMode } from '../../routing/plan.ts';
import { atLeast } from '../../routing/version.ts';
import { type Proxy, distributionOf } from '../../upstream/index.ts';
import { readsPreferCloseOnly } from '../../upstream/proxy/hint-rule.ts';
import { itemsOf } from '../snapshot.ts';
import { evacuatedZones, isBarred } from './spread.ts';
import { workingCounts } from './given.ts';
import type { Facts } from './facts.ts';
import type { CauseReason } from './types.ts';

/** Data planes of this kind look at hints of annotated Services only. */
const needsAnnotation = (proxy: Proxy, minor: number): boolean => {
  if (proxy.kind === 'kube-proxy') return minor < 31;
  if (proxy.kind === 'cilium') return proxy.ciliumVersion !== undefined && proxy.ciliumVersion.minor < 16;
  return proxy.kind === 'ruled' && typeof proxy.rule.optIn === 'object';
};

type RoutedFacts = Pick<Facts, 'version' | 'index' | 'options'>;

/** Once for Nodes that are alike: thousands of Services ask. */
const routingsOf = ({ index: { groups, routers } }: RoutedFacts) =>
  groups.flatMap((nodes) => nodes.slice(0, 1)).map((node) => routers.of(node).routing);

/** Some data plane looks at hints of annotated Services only. */
const someNeedAnnotation = (facts: RoutedFacts): boolean =>
  routingsOf(facts).some(({ proxy, version }) => needsAnnotation(proxy, version.minor));

/** The value that the control plane and all who read the field know; undefined: it has no such field. */
const fieldFor = (facts: RoutedFacts): string | undefined => {
  const onlyClose = routingsOf(facts).some(
    ({ proxy }) =>
      proxy.kind === 'cilium' && proxy.ciliumVersion !== undefined && readsPreferCloseOnly(proxy.ciliumVersion),
  );
  const wanted = onlyClose ? ['PreferClose'] : ['PreferSameZone', 'PreferClose'];
  return wanted.find((value) => distributionOf(value, facts.version, facts.options.gates) !== undefined);
};

/** The value of `spec.trafficDistribution` that everything here reads; undefined: none does. */
const distributionFor = (facts: RoutedFacts): string | undefined =>
  someNeedAnnotation(facts) ? undefined : fieldFor(facts);

/**
 * A value beside the field: kube-proxy 1.27 to 1.30 takes any (categorizeEndpoints), and the control plane leaves one of a domain of its
 * own alone, where `Auto` would beat the field. Undefined where something insists on `Auto`, or there is no field.
 */
const annotationBesideField = (facts: Facts): string | undefined => {
  const insists = routingsOf(facts).some(
    ({ proxy, version: { minor } }) => needsAnnotation(proxy, minor) && (proxy.kind !== 'kube-proxy' || minor < 27),
  );
  return insists || fieldFor(facts) === undefined ? undefined : domainPrefixedMode('same-zone');
};

const target = ({ ref }: Facts): string => `service ${ref.name} -n ${ref.namespace}`;

const presentAnnotation = ({ service }: Facts): string | undefined =>
  [ANNOTATION_TOPOLOGY_AWARE_HINTS, ANNOTATION_TOPOLOGY_MODE].find(
    (key) => service.metadata?.annotations?.[key] !== undefined,
  );

/** Changes fields of its spec. */
const patchServiceCommand = (facts: Facts, spec: object): string =>
  `kubectl patch ${target(facts)} --type merge -p '${JSON.stringify({ spec })}'`;

const annotationKey = ({ version }: Facts): string =>
  atLeast(version, 27) ? ANNOTATION_TOPOLOGY_MODE : ANNOTATION_TOPOLOGY_AWARE_HINTS;

const setAnnotation = (facts: Facts, value: string): string =>
  `kubectl annotate ${target(facts)} --overwrite ${annotationKey(facts)}=${value}`;

const isFieldRead = ({ service, version, options }: Facts): boolean =>
  distributionOf(service.spec?.trafficDistribution, version, options.gates) !== undefined;

/** The annotation for data planes that want one; where the field asks already, by a value that leaves it in force. */
const annotate = (facts: Facts): string => {
  const auto = atLeast(facts.version, 27) ? 'Auto' : 'auto';
  return setAnnotation(facts, (isFieldRead(facts) ? annotationBesideField(facts) : undefined) ?? auto);
};

const setField = (facts: Facts, value: string): string[] =>
  facts.service.spec?.trafficDistribution === value ? [] : [patchServiceCommand(facts, { trafficDistribution: value })];

/** The field, and the annotation that older proxies want beside it; undefined where the field does not help. */
const askByField = (facts: Facts): string[] | undefined => {
  const value = fieldFor(facts);
  const beside = annotationBesideField(facts);
  if (value === undefined) return undefined;
  if (someNeedAnnotation(facts)) {
    return beside === undefined ? undefined : [setAnnotation(facts, beside), ...setField(facts, value)];
  }
  const key = presentAnnotation(facts);
  return [...(key === undefined ? [] : [`kubectl annotate ${target(facts)} ${key}-`]), ...setField(facts, value)];
};

/** Asks with a setting that every version recognises; an annotation in the way of the field is removed. */
const ask = (facts: Facts): string[] => askByField(facts) ?? [annotate(facts)];

/** The field instead of the CPU heuristic, where something here reads it. */
const useField = (facts: Facts): string[] => askByField(facts) ?? [];

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

/** What the commands change, as JSON pointer. */
const pointerOf = (facts: Facts): string => {
  const key = presentAnnotation(facts) ?? annotationKey(facts);
  return distributionFor(facts) === undefined
    ? `/metadata/annotations/${key.replaceAll('/', '~1')}`
    : '/spec/trafficDistribution';
};

/** Who rewrites the Service, and how to change it there; undefined where nothing shows an owner. */
const ownerNote = (facts: Facts): string | undefined => {
  const { labels = {}, annotations = {} } = facts.service.metadata ?? {};
  const value = distributionFor(facts);
  const addOn = labels['eks.amazonaws.com/component'];
  if (addOn !== undefined && !DNS_ADD_ON.has(addOn)) {
    return '# EKS owns it: an update of the add-on may undo the command, unless its configuration has a value for it (aws eks describe-addon-configuration)';
  }
  if (addOn !== undefined) {
    return `# EKS owns it: aws eks update-addon --cluster-name <cluster> --addon-name coredns --configuration-values '{"annotationTopologyMode":"Auto"}'`;
  }
  if (labels['addonmanager.kubernetes.io/mode'] === 'Reconcile') {
    const policy = atLeast(facts.version, MUTATING_POLICIES_SINCE) ? 'a MutatingAdmissionPolicy or ' : '';
    return `# the add-on manager rewrites it: use ${policy}a Kyverno rule on Services instead (Kyverno has to be installed)`;
  }
  if (labels['kustomize.toolkit.fluxcd.io/name'] !== undefined) {
    return `# Flux owns it: the same change under spec.patches of Kustomization ${labels['kustomize.toolkit.fluxcd.io/name'] ?? ''}`;
  }
  if (annotations['argocd.argoproj.io/tracking-id'] !== undefined) {
    return `# Argo CD owns it: change the source, or ignoreDifferences jsonPointers: [${pointerOf(facts)}] with syncOptions: [RespectIgnoreDifferences=true]`;
  }
  if (labels['app.kubernetes.io/managed-by'] !== 'Helm') return undefined;
  const chart = (labels['helm.sh/chart'] ?? '').replace(/-v?\d.*$/, '');
  const known = CHART_VALUES[chart];
  return known === undefined || value === undefined
    ? '# Helm owns it: set it in the values of the chart where it has one, or in a post-renderer; an upgrade may undo the command'
    : `# Helm owns it: value ${known}: ${value}`;
};

const unlabelled = ({ nodes }: Facts): string[] =>
  nodes
    .filter((node) => zoneOfNode(node) === '')
    .slice(0, 1)
    .map(({ metadata }) => `kubectl label node ${metadata?.name ?? ''} ${LABEL_ZONE}=<zone of the Node>`);

/** What runs the Pods, where it could not be seen. */
const SOME_WORKLOAD = '<what runs its Pods, e.g. deployment web>';

/** A HorizontalPodAutoscaler would undo another number of replicas. */
const scaleTo = ({ workloads, autoscalers, ref }: Facts, replicas: number): string[] => {
  if (workloads.length === 0) return [`kubectl scale ${SOME_WORKLOAD} -n ${ref.namespace} --replicas=${replicas}`];
  return workloads.map(({ kind, name }) => {
    const own = autoscalers.find(
      (each) => each.kind === 'HorizontalPodAutoscaler' && each.targetKind === kind && each.targetName === name,
    );
    return own === undefined
      ? `kubectl scale ${kind.toLowerCase()} ${name} -n ${ref.namespace} --replicas=${replicas}`
      : `kubectl patch hpa ${own.name} -n ${ref.namespace} --type merge -p '{"spec":{"minReplicas":${replicas}}}'`;
  });
};

/** One for each zone with clients, where there are fewer. */
const scale = (facts: Facts): string[] => {
  const few = facts.workloads.filter(({ replicas }) => replicas < facts.clientZones.length);
  const unseen = facts.workloads.length === 0 && facts.endpoints.length < facts.clientZones.length;
  return few.length > 0 || unseen ? scaleTo({ ...facts, workloads: few }, facts.clientZones.length) : [];
};

/** Where Nodes keep the Pods away, a constraint would leave them pending. */
const BARRED_NOTE =
  '# Nodes keep the Pods away: give the Pods a toleration or other affinity, or add Nodes that take them';

const spreadOut = (facts: Facts): string[] =>
  facts.workloads
    .filter(
      ({ spread, kind }) => spread.every(({ topologyKey }) => topologyKey !== LABEL_ZONE) && kind !== 'ReplicaSet',
    )
    .map(({ kind, name }) => {
      const selector = { matchLabels: facts.service.spec?.selector ?? {} };
      const constraint = {
        maxSkew: 1,
        topologyKey: LABEL_ZONE,
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: selector,
      };
      const patch = { spec: { template: { spec: { topologySpreadConstraints: [constraint] } } } };
      // Strategic: constraints on other keys stay.
      return `kubectl patch ${kind.toLowerCase()} ${name} -n ${facts.ref.namespace} -p '${JSON.stringify(patch)}'`;
    });

const CILIUM_TOPOLOGY = [
  'helm upgrade cilium cilium/cilium -n kube-system --reuse-values --set loadBalancer.serviceTopology=true',
  'kubectl -n kube-system rollout restart daemonset/cilium',
];

type Fix = (facts: Facts) => readonly string[];

/** The first that has a command. */
const firstOf =
  (...fixes: readonly Fix[]): Fix =>
  (facts) =>
    fixes.map((fix) => fix(facts)).find((commands) => commands.length > 0) ?? [];

const selectorText = ({ service }: Facts): string =>
  Object.entries(service.spec?.selector ?? {})
    .map(([key, value]) => `${key}=${value}`)
    .join(',');

const showPods: Fix = (facts) => [`kubectl get pods -n ${facts.ref.namespace} -l '${selectorText(facts)}' -o wide`];
const showLabels: Fix = ({ ref }) => [`kubectl get pods -n ${ref.namespace} --show-labels`];

const ownSlices = ({ ref }: Facts): string => `endpointslices -n ${ref.namespace} -l ${LABEL_SERVICE_NAME}=${ref.name}`;

/** Who writes them, and when they did. */
const showSlices: Fix = (facts) => [`kubectl get ${ownSlices(facts)} -o yaml --show-managed-fields`];

/** Any write makes who hints look again. */
const AGAIN = `${GROUP}/look-again="$(date +%s)"`;

const touchService: Fix = (facts) => [`kubectl annotate ${target(facts)} --overwrite ${AGAIN}`];

const touchSlices: Fix = (facts) => [`kubectl annotate ${ownSlices(facts)} --overwrite ${AGAIN}`];

/** Another number of endpoints that the CPU heuristic can share out, the next above. */
const scaleToShare: Fix = (facts) => {
  const { shares, families, endpoints } = facts;
  const count = families[0]?.endpoints.length ?? endpoints.length;
  const more = shares.kind === 'unknown' ? undefined : workingCounts(shares.ratios, count).find((n) => n > count);
  return more === undefined ? [] : scaleTo(facts, more);
};

const installChart = 'helm upgrade --install topology-aware-routing charts/gardener-extension-topology-aware-routing';
const inNamespace = '-n topology-aware-routing --create-namespace';

/** A second Service: the cluster IP of one cannot be changed. */
const exposeBeside: Fix = (facts) => {
  const { ref, service } = facts;
  if (Object.keys(service.spec?.selector ?? {}).length === 0) return [];
  const name = `${ref.name}-by-zone`;
  const value = distributionFor(facts);
  const field = { ...facts, ref: { ...ref, name } };
  return [
    `kubectl expose ${target(facts)} --name=${name}`,
    ...(value === undefined ? [] : [patchServiceCommand(field, { trafficDistribution: value })]),
  ];
};

const WEBHOOK_PODS = 'app.kubernetes.io/component=endpointslice-webhook';
/** Pods of the component that writes the slices. */
const webhookPods = ({ snapshot }: Facts, verb: string): string[] => {
  const namespaces = itemsOf(snapshot.webhooks).flatMap(({ slices, service }) =>
    slices && service !== undefined ? [service.namespace] : [],
  );
  return [...new Set(namespaces)].map((namespace) => `kubectl ${verb} -n ${namespace} -l ${WEBHOOK_PODS}`);
};

const growth: Fix = ({ workloads, ref, version, clientZones }) =>
  workloads
    .filter(({ replicas }) => replicas > 0)
    .map(({ kind, name, replicas }) => {
      // --cpu-percent is deprecated since kubectl 1.34, and --cpu unknown before.
      const cpu = atLeast(version, 34) ? '--cpu=80%' : '--cpu-percent=80';
      const min = Math.max(replicas, clientZones.length);
      return `kubectl autoscale ${kind.toLowerCase()} ${name} -n ${ref.namespace} --min=${min} --max=${min * 2} ${cpu}`;
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
    const edit = `kubectl edit ${kind.toLowerCase()} ${name} -n ${namespace}`;
    return [
      `${edit}   # featureGates: TopologyAwareHints: true`,
      `kubectl rollout restart daemonset -n ${namespace} -l k8s-app=kube-proxy`,
    ];
  });
};

const showPolicy: Fix = ({ ref }) => [`kubectl describe flowpolicy ${ref.name} -n ${ref.namespace}`];
const serveAll: Fix = (facts) => [patchServiceCommand(facts, { internalTrafficPolicy: 'Cluster' })];
const labelled: Fix = (facts) =>
  unlabelled(facts).length > 0 ? unlabelled(facts) : facts.nodes.length === 0 ? NODES_TOO : showSlices(facts);
const NODES_TOO = ['kubectl topology snapshot > cluster.json'];

/** Every cause but those where nothing is wrong, and where nothing helps. */
const FIXES: Partial<Readonly<Record<CauseReason, Fix>>> = {
  ExternalName: (facts) => [
    patchServiceCommand(facts, { type: 'ClusterIP', externalName: null, selector: { '<label>': '<of its Pods>' } }),
  ],
  Headless: firstOf(exposeBeside, (facts) => [
    `kubectl get ${target(facts)} -o yaml   # without a selector its author has to write a second Service`,
  ]),
  // The webhook leaves endpoints without zone alone.
  NoSelector: (facts) =>
    facts.endpoints.every(({ zone }) => zone === '')
      ? []
      : [`kubectl label ${ownSlices(facts)} ${LABEL_STRATEGY}=same-zone   # needs endpointslice-webhook`],
  NotRequested: ask,
  AnnotationRemoved: ask,
  AnnotationNotRecognized: ask,
  AnnotationKeyNotRead: ask,
  AnnotationWins: useField,
  TrafficDistributionNotRecognized: ask,
  HintsControllerGateOff: () => [
    '# --feature-gates of kube-apiserver, kube-controller-manager and kube-proxy: TopologyAwareHints=true',
  ],
  CiliumNotOptedIn: ask,
  RouterNotOptedIn: (facts) => [annotate(facts)],
  ProxyNeedsAnnotation: (facts) => [annotate(facts)],
  InsufficientNodeInformation: useField,
  ControlPlaneNodes: firstOf(useField, () => ['kubectl get nodes -L node-role.kubernetes.io/control-plane']),
  OverloadThreshold: firstOf(useField, scaleToShare),
  TooFewEndpoints: firstOf(useField, scale, scaleToShare),
  HintsLost: firstOf(useField, touchService),
  HintsNotWritten: (facts) => [
    'kubectl logs -n kube-system -l component=kube-controller-manager --tail=-1 | grep -i endpointslice',
    ...touchService(facts),
  ],
  EndpointWithoutHint: showSlices,
  NodeNotHinted: showSlices,
  NodeWithoutCpu: firstOf(useField, () => [
    'kubectl get nodes -o custom-columns=NAME:.metadata.name,CPU:.status.allocatable.cpu',
  ]),
  NodeWithoutZone: labelled,
  ClientNodeWithoutZone: labelled,
  EndpointWithoutZone: labelled,
  WebhookMissing: firstOf(useField, () => [`${installChart} ${inNamespace}`]),
  WebhookWithoutEndpoint: (facts) => webhookPods(facts, 'describe pods'),
  WebhookCertificateExpired: (facts) => webhookPods(facts, 'rollout restart deployment'),
  WebhookDoesNotSelect: ({ ref }) => [
    `${installChart} -n topology-aware-routing --reuse-values --set-json 'endpointsliceWebhook.includedNamespaces=["${ref.namespace}"]'`,
  ],
  WebhookSkipped: touchSlices,
  FlowPolicyMissing: () => ['kubectl get leases -A | grep flow-controller'],
  ObserveOnly: ({ ref }) => [
    `kubectl patch flowpolicy ${ref.name} -n ${ref.namespace} --type merge -p '{"spec":{"mode":"Enforce"}}'`,
  ],
  LoadNotObserved: showPolicy,
  PlanNotInForce: showPolicy,
  PlanSpread: showPolicy,
  NoEndpoints: showLabels,
  NoReadyEndpoints: showPods,
  TerminatingEndpoints: showPods,
  NoLocalEndpoints: serveAll,
  InternalTrafficPolicyLocal: serveAll,
  NotProxied: (facts) => [`kubectl label ${target(facts)} service.kubernetes.io/service-proxy-name-`],
  HintsGateOff: switchGateOn,
  RouterUnknown: ({ ref }) => [
    ...NODES_TOO,
    `kubectl topology explain ${ref.namespace}/${ref.name} -f cluster.json --proxy=<kube-proxy, cilium or linkerd>`,
  ],
  UnreadyForZone: showPods,
  UnusedWithoutHint: showSlices,
  TerminatingForZone: (facts) => [...scale(facts), ...spreadOut(facts)],
  NoBackendForZone: (facts) => [...scale(facts), ...spreadOut(facts)],
  CiliumServiceTopologyOff: () => CILIUM_TOPOLOGY,
  CiliumExternalTrafficPolicyLocal: (facts) => [patchServiceCommand(facts, { externalTrafficPolicy: 'Cluster' })],
  LinkerdSlicesOff: () => [
    'helm upgrade linkerd-control-plane linkerd/linkerd-control-plane -n linkerd --reuse-values --set enableEndpointSlices=true',
  ],
  SingleEndpoint: firstOf(scale, showPods),
  PodsNotSpread: (facts) =>
    isBarred(facts) ? [BARRED_NOTE] : firstOf((own) => [...scale(own), ...spreadOut(own)], showPods)(facts),
  HintedForOtherZone: firstOf(useField, showSlices),
  UnevenLoad: firstOf(spreadOut, ({ ref }) => [`kubectl topology simulate ${ref.namespace}/${ref.name}`]),
  NoGrowth: growth,
  PublishedNotReady: (facts) => [patchServiceCommand(facts, { publishNotReadyAddresses: false })],
  Evacuated: (facts) => evacuatedZones(facts).map((zone) => `kubectl topology return ${zone}`),
  NoNodes: () => NODES_TOO,
  ProxyMissedItsZone: () => ['kubectl rollout restart daemonset kube-proxy -n kube-system'],
};

const CHANGES_SERVICE = /^kubectl (?:patch|annotate) service /;

/** Its `etcdcomponents` webhook denies all other users the update. */
const DRUID_NOTE =
  '# etcd-druid owns it and denies the change: switch topologyAwareRouting on in the Seed or Garden instead';

/** Commands in their order; empty where no command mends the cause. */
export const fixOf = (reason: CauseReason, facts: Facts): readonly string[] => {
  const commands = FIXES[reason]?.(facts) ?? [];
  if (isMadeByDruid(facts.service) && commands.some((command) => CHANGES_SERVICE.test(command))) {
    return [...commands.filter((command) => !CHANGES_SERVICE.test(command)), DRUID_NOTE];
  }
  const note = commands.some((command) => CHANGES_SERVICE.test(command)) ? ownerNote(facts) : undefined;
  return note === undefined ? commands : [...commands, note];
};
