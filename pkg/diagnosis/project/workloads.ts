// Pods, the workloads that own them and what scales those, reduced to where Pods may run and how many there may be.
import { type Fields, byText, defined } from '../../apis/values.ts';
import type { ObjectMeta, StringMap } from '../../apis/meta.ts';
import { LABEL_ZONE } from '../../apis/names.ts';
import { milliFromNano, nanoOf } from '../../apis/quantity.ts';
import { matchesSelector } from '../../routing/types.ts';
import { type Metadata, fieldsIn, imageIn, listIn, pickTexts, stringsIn, textIn, textsIn, wholeIn } from './fields.ts';
import { marksIn, writersIn } from '../owner.ts';
import { configMapsIn, namesIn } from './names.ts';
import { selectorOf, selectorsOf } from './routers.ts';

/** Sum of the containers' CPU requests in millicores; undefined where one has none. */
const requestOf = (object: Fields): number | undefined => {
  const requests = listIn(object, 'spec.containers').map((each) => nanoOf(fieldsIn(each, 'resources.requests')['cpu']));
  const known = requests.filter((request) => request !== undefined);
  if (known.length === 0 || known.length < requests.length) return undefined;
  return known.reduce((sum, request) => sum + milliFromNano(request), 0);
};

/** Sidecars by the name of their container. */
const SIDECARS: Readonly<Record<string, 'istio' | 'istio-grpc' | 'linkerd' | 'kuma' | 'consul' | 'sidecar'>> = {
  'istio-proxy': 'istio',
  'linkerd-proxy': 'linkerd',
  'kuma-sidecar': 'kuma',
  'kuma-gateway': 'kuma',
  'consul-dataplane': 'consul',
  'consul-connect-envoy-sidecar': 'consul',
  'envoy-sidecar': 'consul',
};

/** Annotations by which Istio, Linkerd, Kuma, Consul, OSM and App Mesh leave ports or ranges of what a Pod calls to its own connections. */
const LEAVES_PORTS = /(?:exclude|skip)-?outbound-?(?:ports|ipranges)|outbound-port-exclusion|egressignoredports/i;

/** Whose sidecar it carries, with its image. It may be an init container that goes on running; Istio's alone is a gateway, whose routes are read. */
const meshOf = (object: Fields, { annotations = {} }: ObjectMeta) => {
  const containers = listIn(object, 'spec.containers');
  const isGateway = containers.length === 1 && textIn(containers[0], 'name') === 'istio-proxy';
  const inits = listIn(object, 'spec.initContainers');
  const named = [...(isGateway ? [] : containers), ...inits];
  // Of any other mesh: an init container redirects connections to one beside the application.
  const redirects = inits.some((each) => textsIn(each, 'securityContext.capabilities.add').includes('NET_ADMIN'));
  const beside = redirects && containers.length > 1 ? containers : [];
  const nameIn = (own: Fields): string => textIn(own, 'name');
  const found =
    named.find((own) => SIDECARS[nameIn(own)]) ?? beside.find((own) => /envoy|proxy|mesh/.test(nameIn(own)));
  const consul = annotations['consul.hashicorp.com/connect-inject-status'] === 'injected' ? 'consul' : undefined;
  const isGrpc = annotations['inject.istio.io/templates']?.split(',').includes('grpc-agent') === true;
  const { 'traffic.sidecar.istio.io/includeOutboundIPRanges': taken } = annotations;
  const left = [
    ...Object.entries(annotations).flatMap(([key, ports]) => (LEAVES_PORTS.test(key) ? ports.split(',') : [])),
    ...(taken?.split(',') ?? []).map((range) => `!${range.trim()}`),
  ];
  return defined({
    mesh: isGrpc ? 'istio-grpc' : (consul ?? (found && (SIDECARS[nameIn(found)] ?? 'sidecar'))),
    meshImage: found && imageIn(found),
    /** The ztunnel of its Node takes what it sends. */
    ambient: annotations['ambient.istio.io/redirection'] === 'enabled' || undefined,
    /** Ports, or `from-to`, and ranges of addresses that its sidecar does not see, or, with `!`, that alone it does. */
    leftPorts: left.length === 0 ? undefined : left,
  });
};

/** The custom resource that makes it, as `CloneSet web`; undefined where one of Kubernetes' own kinds does. */
export const makerOf = (object: Fields): string | undefined => {
  const [owner] = writersIn(object).ownerReferences ?? [];
  return owner === undefined || /^(?:apps|batch)\//.test(owner.apiVersion) || owner.kind === 'Node'
    ? undefined
    : `${owner.kind} ${owner.name}`;
};

export const releaseOf = ({ 'meta.helm.sh/release-name': name }: StringMap) => name && `Helm release ${name}`;

/** Scheduler's messages are shorter; others might be made to be slow to read. */
const MOST_SAID = 4_096;

/** What the scheduler has against each Node. */
const unplacedOf = (object: Fields): string | undefined => {
  const own = listIn(object, 'status.conditions').find(({ reason }) => reason === 'Unschedulable');
  return /available: (.+?)\.(?:\s|$)/.exec(textIn(own, 'message').slice(0, MOST_SAID))?.[1];
};

/** Why a container of it does not run, as the kubelet says. */
const waitsFor = (object: Fields): string | undefined =>
  ['initContainer', 'container']
    .flatMap((which) => listIn(object, `status.${which}Statuses`))
    .map((own) => pickTexts(fieldsIn(own, 'state.waiting'), 'reason', 'message'))
    .map(({ reason, message }) => `${reason}${message && ': '}${message.slice(0, MOST_SAID)}`)
    .find((text) => !/^(?:|PodInitializing|ContainerCreating)$/.test(text));

/** A Pod as far as it shows where clients and endpoints run. */
export type PodSummary = Readonly<NonNullable<ReturnType<typeof podOf>>>;

/** Undefined for one that has ended: it sends and answers nothing. */
export const podOf = (object: Fields, metadata: Metadata) => {
  if (/^(?:Succeeded|Failed)$/.test(textIn(object, 'status.phase'))) return undefined;
  const { namespace = '', name, labels = {} } = metadata;
  const volumes = listIn(object, 'spec.volumes').map((each) => textIn(each, 'persistentVolumeClaim.claimName'));
  const claims = volumes.filter((claim) => claim !== '');
  const conditions = listIn(object, 'status.conditions');
  return {
    namespace,
    name,
    labels,
    /** `nodeName` is empty where it is not scheduled. */
    ...pickTexts(object, 'spec.nodeName', 'status.phase', 'metadata.creationTimestamp'),
    ready: conditions.some(({ type, status }) => type === 'Ready' && status === 'True'),
    serviceAccount: textIn(object, 'spec.serviceAccountName') || 'default',
    ...defined({ requestMilliCpu: requestOf(object), madeBy: makerOf(object), unplaced: unplacedOf(object) }),
    ...defined({ claims: claims.length > 0 ? claims : undefined, waits: waitsFor(object) }),
    ...defined({ inHost: ifTrue(fieldsIn(object, 'spec')['hostNetwork'] === true) }),
    ports: listIn(object, 'spec.containers').flatMap((own) => listIn(own, 'ports').map((port) => textIn(port, 'name'))),
    ...defined({ refused: ifTrue(conditions.some(({ reason }) => reason === 'LoadBalancerNegTimeout')) }),
    ...meshOf(object, metadata),
  };
};

/** Flags that are not set are left out. */
const ifTrue = (flag: boolean): boolean | undefined => flag || undefined;

export type SpreadConstraint = Readonly<ReturnType<typeof constraintOf>>;

const constraintOf = (item: Fields, podLabels: StringMap) => ({
  topologyKey: textIn(item, 'topologyKey'),
  whenUnsatisfiable: textIn(item, 'whenUnsatisfiable') || 'DoNotSchedule',
  maxSkew: wholeIn(item, 'maxSkew') ?? 1,
  /** It matches the Pods that it stands on. None without a selector; `matchLabelKeys` only narrows it to Pods like this one. */
  selectsOwn: item['labelSelector'] !== undefined && matchesSelector(selectorOf(item['labelSelector']), podLabels),
  ...defined({
    selector: item['labelSelector'] === undefined ? undefined : selectorOf(item['labelSelector']),
    /** Pods of another template do not count. */
    byRevision: ifTrue(textsIn(item, 'matchLabelKeys').includes('pod-template-hash')),
    /** Nodes whose taints keep the Pods away are no domain. */
    honorsTaints: ifTrue(textIn(item, 'nodeTaintsPolicy') === 'Honor'),
    minDomains: wholeIn(item, 'minDomains'),
  }),
});

/** Zones that a required node affinity allows. Terms are alternatives: one that names no zones allows all, which is undefined. */
const affinityZones = (terms: ReturnType<typeof selectorsOf>): string[] | undefined => {
  const isZone = /^(?:topology|failure-domain\.beta)\.kubernetes\.io\/zone$/;
  const named = terms.map(({ matchExpressions = [] }) =>
    matchExpressions.find(({ key, operator }) => isZone.test(key) && operator === 'In'),
  );
  const zones = named.flatMap((expression) => expression?.values ?? []);
  return zones.length === 0 || named.includes(undefined) ? undefined : zones;
};

/** Topology keys of terms, required or preferred, that select the workload's own Pods. */
const ownKeys = (podSpec: Fields, path: string, podLabels: StringMap): string[] =>
  listIn(podSpec, `affinity.${path}DuringSchedulingIgnoredDuringExecution`)
    .map((term): Fields => ({ ...term, ...fieldsIn(term, 'podAffinityTerm') }))
    .filter(({ labelSelector: own }) => own !== undefined && matchesSelector(selectorOf(own), podLabels))
    .map((term) => textIn(term, 'topologyKey'));

const drawnBy = (podSpec: Fields, podLabels: StringMap): 'requires' | 'prefers' | 'follows' | undefined => {
  const isDrawn = (how: string): boolean => ownKeys(podSpec, `podAffinity.${how}`, podLabels).includes(LABEL_ZONE);
  if (isDrawn('required')) return 'requires';
  const terms = listIn(podSpec, 'affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution');
  if (terms.some(({ topologyKey }) => topologyKey === LABEL_ZONE)) return 'follows';
  return isDrawn('preferred') ? 'prefers' : undefined;
};

const hasVolumes = (object: Fields, podSpec: Fields): boolean =>
  listIn(object, 'spec.volumeClaimTemplates').length > 0 ||
  listIn(podSpec, 'volumes').some((volume) => volume['persistentVolumeClaim'] !== undefined);

/** A new template does not replace its Pods by itself, or not all of them. */
const isHeld = (object: Fields): boolean =>
  fieldsIn(object, 'spec')['paused'] === true ||
  textIn(object, 'spec.updateStrategy.type') === 'OnDelete' ||
  (wholeIn(object, 'spec.updateStrategy.rollingUpdate.partition') ?? 0) > 0;

/** Arguments and variables by which a proxy looks at hints or zones, or uses cluster IPs, or an autoscaler balances zones. */
const STEERS =
  /^(?:--?(?:enable-topology-aware-routing|balance-similar-node-groups|(?:enable-)?leader-elect(?:ion)?|providers\.\w+\.nativelbbydefault|ext-endpoint-zone-weights)(?:=true)?|--?serverstransport\.maxidleconnsperhost=-1|--?(?:secure-port|storage-adv-addr|kubernetes-topology-zone|pool-member-type|node-label-selector|balancing-ignore-label)[=\n].+|--?routes-urls[=\n]\S+\/routes\/.+|keda_http_direct_pod_routing=false|direct_functions=true|kgateway_node_zone=.+)$/gim;

/** A Deployment, StatefulSet or ReplicaSet: who decides where Pods run and how many there are. */
export type Workload = Readonly<ReturnType<typeof workloadOf>>;

export const workloadOf = (object: Fields, metadata: Metadata) => {
  const { namespace = '', name } = metadata;
  const podLabels = stringsIn(object, 'spec.template.metadata.labels');
  const podSpec = fieldsIn(object, 'spec.template.spec');
  const selected = stringsIn(podSpec, 'nodeSelector')[LABEL_ZONE];
  const terms = selectorsOf(podSpec);
  const apart = ownKeys(podSpec, 'podAntiAffinity.required', podLabels);
  const isApart = apart.length + ownKeys(podSpec, 'podAntiAffinity.preferred', podLabels).length > 0;
  const repels = JSON.stringify(fieldsIn(podSpec, 'affinity.podAntiAffinity'));
  const args = listIn(podSpec, 'containers').flatMap((container) => [
    ...['command', 'args'].flatMap((key) => textsIn(container, key)),
    ...listIn(container, 'env').map((item) => `${textIn(item, 'name')}=${textIn(item, 'value')}`),
  ]);
  // An empty key with Exists tolerates everything.
  const tolerations = listIn(podSpec, 'tolerations').map((item) => ({
    ...pickTexts(item, 'key', 'value', 'effect'),
    operator: textIn(item, 'operator') || 'Equal',
  }));
  const [updated = 0, all = 0] = [wholeIn(object, 'status.updatedReplicas'), wholeIn(object, 'status.replicas')];
  return {
    kind: textIn(object, 'kind') || 'Deployment',
    namespace,
    name,
    replicas: wholeIn(object, 'spec.replicas') ?? 1,
    podLabels,
    serviceAccount: textIn(podSpec, 'serviceAccountName') || 'default',
    images: listIn(podSpec, 'containers').map(imageIn),
    ports: listIn(podSpec, 'containers').flatMap((own) => listIn(own, 'ports').map((port) => port['containerPort'])),
    configMaps: configMapsIn(podSpec),
    spread: listIn(podSpec, 'topologySpreadConstraints').map((item) => constraintOf(item, podLabels)),
    zoneAntiAffinity: repels.includes(LABEL_ZONE),
    ...defined({
      ...namesIn(podSpec),
      /** It has podAntiAffinity, of which no term selects its own Pods (sapcc/helm-charts#2252). */
      apartInVain: ifTrue(repels.includes('topologyKey') && !isApart),
      /** It counts Nodes. */
      apartByNode: ifTrue(repels.includes('kubernetes.io/hostname')),
      /** Alternatives by which Nodes are selected. */
      nodeTerms: terms.length === 0 ? undefined : terms,
      allowedZones: selected === undefined ? affinityZones(terms) : [selected],
      tolerations: tolerations.length === 0 ? undefined : tolerations,
      steering: args.join('\n').match(STEERS)?.join(' '),
      /** Of the present template, where a roll-out is under way. */
      updatedReplicas: updated < all && textIn(object, 'kind') !== 'ReplicaSet' ? updated : undefined,
      /** Keys by which required anti-affinity keeps its Pods apart. */
      apart: apart.length === 0 ? undefined : apart,
      /** What podAffinity does to bring its Pods together in one zone, or to those of others. */
      drawn: drawnBy(podSpec, podLabels),
      requestMilliCpu: requestOf(fieldsIn(object, 'spec.template')),
      marks: marksIn(object, metadata),
      volumes: ifTrue(hasVolumes(object, podSpec)),
      held: ifTrue(isHeld(object)),
    }),
  };
};

/** A HorizontalPodAutoscaler, VerticalPodAutoscaler or KEDA ScaledObject. */
export type Autoscaler = Readonly<ReturnType<typeof autoscalerOf>>;

export const autoscalerOf = (object: Fields, { namespace = '', name }: Metadata) => {
  const { kind, updateMode } = pickTexts(object, 'kind', 'spec.updatePolicy.updateMode');
  const target = fieldsIn(object, kind === 'VerticalPodAutoscaler' ? 'spec.targetRef' : 'spec.scaleTargetRef');
  return {
    kind,
    namespace,
    name,
    targetKind: textIn(target, 'kind') || 'Deployment',
    targetName: textIn(target, 'name'),
    // None where it does not change their number.
    ...defined({ maxReplicas: wholeIn(object, 'spec.maxReplicas') ?? wholeIn(object, 'spec.maxReplicaCount') }),
    /** It only recommends. */
    off: updateMode === 'Off' || updateMode === 'Initial',
  };
};

/** A ServiceAccount as a user, and the groups that it is in (kubernetes, pkg/registry/rbac/validation/rule.go). */
const ACCOUNT_USER = /^system:serviceaccount:([^:]+):([^:]+)$/;
const ACCOUNT_GROUP = /^system:(?:authenticated|serviceaccounts(?::([^:]+))?)$/;

const ENDPOINTS = { EndpointSlices: ['discovery.k8s.io', 'endpointslices'], Endpoints: ['', 'endpoints'] } as const;

/** What an elected leader writes beside what it only reads. */
const OWN_STATE = /^(?:events|leases|configmaps)$/;

/** A ClusterRole or Role that allows to watch endpoints, or a Role for Pods and Services. */
export type ClusterRole = Readonly<NonNullable<ReturnType<typeof clusterRoleOf>>>;

/** Undefined where it does not. */
export const clusterRoleOf = (object: Fields, { namespace = '', name }: Metadata) => {
  const has = (rule: Fields, path: string, ...any: readonly string[]): boolean =>
    textsIn(rule, path).some((value) => value === '*' || any.includes(value));
  // With names, as for the locks of older leader elections, only those objects are seen.
  const rules = listIn(object, 'rules').filter((rule) => textsIn(rule, 'resourceNames').length === 0);
  const by = (...verbs: readonly string[]) => rules.filter((rule) => has(rule, 'verbs', ...verbs));
  const watchesOf = (readable: readonly Fields[]) =>
    Object.entries(ENDPOINTS).flatMap(([kind, [group, resource]]) => {
      const own = readable.filter((rule) => has(rule, 'apiGroups', group) && has(rule, 'resources', resource));
      const isOfGroup = (rule: Fields) => group !== '' && textsIn(rule, 'apiGroups').includes(group);
      return own.map((rule) => ({ kind, named: isOfGroup(rule) || textsIn(rule, 'resources').includes(resource) }));
    });
  const watches = watchesOf(by('list', 'watch'));
  const reads = new Set(by('list', 'watch').flatMap((rule) => textsIn(rule, 'resources')));
  // Libraries that choose among the Pods of a Service need no endpoints (line/armeria#6661, for which Nodes are read as well), and some ask for those of one Service only.
  const all = [...reads].sort(byText).join() === 'nodes,pods,services';
  const pods = all || (namespace !== '' && reads.has('pods')) ? [{ kind: 'Pods', named: true }] : [];
  const inside = [...pods, ...(namespace === '' ? [] : watchesOf(by('get')))];
  const [first = inside[0]] = watches;
  if (first === undefined) return undefined;
  /** `everything`: it names no endpoints, as that of administrators. */
  const writing = listIn(object, 'rules').filter((rule) => has(rule, 'verbs', 'create', 'update', 'patch'));
  const writes = writing.some((rule) =>
    watches.length === 0
      ? !textsIn(rule, 'resources').every((own) => OWN_STATE.test(own))
      : has(rule, 'resources', 'endpoints', 'endpointslices') && has(rule, 'apiGroups', '', 'discovery.k8s.io'),
  );
  return {
    /** Empty: a ClusterRole. */
    namespace,
    name,
    /** It writes endpoints as well, as who elects a leader by them. */
    writes,
    watches: watches.find(({ named }) => named)?.kind ?? first.kind,
    /** Only for what names the Service, or labels of its Pods (ThreeMammals/Ocelot#1134, vllm-project/production-stack). */
    ifNamed: watches.length === 0 && !(reads.has('pods') && reads.has('services')),
    everything: !first.named && !watches.some(({ named }) => named),
    /** It is for clients that look Services up, and nothing else (zeromicro/go-zero#988). */
    lookups: !name.startsWith('system:') && [...reads].every((own) => all || /^(endpoint\w+|services|pods)$/.test(own)),
  };
};

export type ClusterRoleBinding = Readonly<NonNullable<ReturnType<typeof clusterRoleBindingOf>>>;

/** Undefined where it is for others only. */
export const clusterRoleBindingOf = (object: Fields, { namespace: within = '', name }: Metadata) => {
  /** `namespace/name`; `namespace/*` where all of a namespace are meant, a star and a star where all are. */
  const accounts = listIn(object, 'subjects').flatMap((subject) => {
    const { kind, namespace, name: own } = pickTexts(subject, 'kind', 'namespace', 'name');
    if (kind === 'ServiceAccount') return [`${namespace || within}/${own}`];
    const [found, of = '*', account = '*'] = (kind === 'User' ? ACCOUNT_USER : ACCOUNT_GROUP).exec(own) ?? [];
    return found === undefined ? [] : [`${of}/${account}`];
  });
  if (accounts.length === 0) return undefined;
  const { kind, name: role } = pickTexts(fieldsIn(object, 'roleRef'), 'kind', 'name');
  /** `namespace`: where it holds, empty everywhere; `role`: `namespace/name` of a Role, `/name` of a ClusterRole. */
  return { namespace: within, name, role: `${kind === 'Role' ? within : ''}/${role}`, accounts };
};
