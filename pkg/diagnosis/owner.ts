// Who owns an object, by the marks that it carries, and where its owner wants a change: another one reverts a patch of the object.
import { ANNOTATION_ORIGIN, LABEL_CONSIDER, TOPOLOGY_ANNOTATIONS } from '../apis/names.ts';
import type { ObjectMeta } from '../apis/meta.ts';
import { type Fields, defined, picked } from '../apis/values.ts';
import type { KubernetesVersion } from '../routing/types.ts';
import { isAuto } from '../routing/slots.ts';
import { isEtcdClient } from '../routing/etcd-clients.ts';
import { atLeast } from '../routing/version.ts';
import { type About, CHART_VALUES, NO_VALUE, TOOLS, operatorField } from './owner-fields.ts';
import { listIn, pickTexts, textIn } from './project/fields.ts';

export type Marks = Omit<ObjectMeta, 'uid' | 'resourceVersion'>;

const HIGHLY_AVAILABLE = 'high-availability-config.resources.gardener.cloud/type';

/** Names of the marks in labels and annotations. */
const MARKS = [
  'app.kubernetes.io/managed-by',
  'app.kubernetes.io/component',
  'helm.sh/chart',
  'helm.toolkit.fluxcd.io/name',
  'eks.amazonaws.com/component',
  'addonmanager.kubernetes.io/mode',
  'olm.owner',
  HIGHLY_AVAILABLE,
  'meta.helm.sh/release-name',
  'argocd.argoproj.io/tracking-id',
  'objectset.rio.cattle.io/owner-gvk',
  'objectset.rio.cattle.io/owner-name',
  'objectset.rio.cattle.io/id',
  'objectset.rio.cattle.io/hash',
  'policies.kyverno.io/last-applied-patches',
  'gatekeeper.sh/mutations',
  ANNOTATION_ORIGIN,
  ...TOPOLOGY_ANNOTATIONS,
  ...Object.keys(TOOLS).map((mark) => mark.replace(/=.*/, '')),
] as const;

/** The controller of an object, else its owners (istio/istio kube-gateway.yaml and Java operators mark none), and who else wrote to it, by name. */
export const writersIn = (object: Fields): Pick<Marks, 'ownerReferences' | 'managedFields'> => {
  const all = listIn(object, 'metadata.ownerReferences');
  const by = Map.groupBy(all, ({ controller }) => controller === true);
  const owners = (by.get(true) ?? all).map((one) => pickTexts(one, 'apiVersion', 'kind', 'name', 'uid'));
  const managers = new Set(listIn(object, 'metadata.managedFields').map((entry) => textIn(entry, 'manager')));
  return defined({
    ownerReferences: owners.length === 0 ? undefined : owners,
    managedFields: managers.size === 0 ? undefined : [...managers].map((manager) => ({ manager })),
  });
};

/** Of a workload, which is kept without its labels and annotations; undefined where nothing says who owns it. */
export const marksIn = (object: Fields, { name, labels, annotations }: ObjectMeta): Marks | undefined => {
  const found = { labels: picked(labels, MARKS), annotations: picked(annotations, MARKS), ...writersIn(object) };
  const some = Object.values(found).some((marks) => Object.keys(marks).length > 0);
  return some ? { ...defined({ name }), ...found } : undefined;
};

export interface Change {
  /** The field, as a JSON pointer. */
  readonly pointer: string;
  /** The value that `spec.trafficDistribution` is to have. */
  readonly distribution?: string | undefined;
}

const questionOf = (marks: Marks, change: Change, version: KubernetesVersion) => {
  const { name = '', namespace = '', labels = {}, annotations = {}, ownerReferences = [], managedFields = [] } = marks;
  const managers = new Set(managedFields.map((entry) => textIn(entry, 'manager')));
  const about = (/^\/spec\/(replicas|template)/.exec(change.pointer)?.[1] ?? 'service') as About;
  const what: About | 'policy' = change.pointer === '/spec/internalTrafficPolicy' ? 'policy' : about;
  return { ...change, name, namespace, labels, annotations, managers, owner: ownerReferences[0], version, about, what };
};

export const TEMPLATE = { pointer: '/spec/template/spec/topologySpreadConstraints' };

type Question = ReturnType<typeof questionOf>;
/** Where this owner wants the change; undefined where nothing marks the object as its own. */
type By = (question: Question) => string | undefined;

/**
 * What of its chart's values it is: by name where that was read, else as most charts name it, which is no rule
 * (grafana-community/helm-charts#70, icoretech/helm#329, treeverse/charts#415) and none for a component, and how to see it. Empty: no chart is named.
 */
const chartValue = ({ labels, annotations, about, what, distribution, pointer, name }: Question) => {
  const [, chart, version = ''] = /^(.+?)-v?(\d+\..*)$/.exec(labels['helm.sh/chart'] ?? labels['chart'] ?? '') ?? [];
  if (chart === undefined) return { text: '' };
  const to = distribution === undefined || about !== 'service' ? '' : `: ${distribution}`;
  const isPlace = pointer === '/spec/template'; // tolerations, affinity: not its constraints
  const value = isPlace ? undefined : CHART_VALUES[chart]?.[what];
  const field = pointer.startsWith('/spec/') ? pointer.slice('/spec/'.length) : 'annotations';
  // Other fields of the Service stand beside it, annotations above the `spec` of Traefik.
  const beside = CHART_VALUES[chart]?.place;
  const other = beside && `${field === 'annotations' ? beside.replace('.spec', '') : beside}.${field}`;
  const known = what === 'service' && to === '' ? other : value;
  if (known !== undefined) return { text: ` (${known}${known === NO_VALUE ? '' : to})`, known };
  const usual = { service: `service.${field}`, replicas: 'replicaCount', template: 'topologySpreadConstraints' }[about];
  const release = annotations['meta.helm.sh/release-name'] ?? name;
  const isMain = [release, chart, `${release}-${chart}`].includes(name);
  const { 'app.kubernetes.io/component': part } = labels;
  const under = part === undefined ? '' : `, under what it has for its component ${part}`;
  const isUsual = !isPlace && (part === undefined ? isMain : about === 'template');
  const guess = isUsual ? `probably ${usual}${to}${under}; ` : '';
  return { text: ` (${guess}see helm show values <repository>/${chart} --version ${version})` };
};

/** Gardener's webhook for high availability places its Pods, and what they talk to in their namespace, by zones of that namespace. */
export const isPlacedByGardener = ({ labels }: Marks = {}): boolean => labels?.[HIGHLY_AVAILABLE] !== undefined;

const IN_SEED = '`spec.settings.topologyAwareRouting.enabled: true` in the Seed';
const IF_ZONAL = 'for Shoots with failure tolerance type zone';
const IN_GARDEN = '`spec.runtimeCluster.settings.topologyAwareRouting.enabled: true` in the Garden';

/** What has clients of a Service of Gardener keep to zones, by its namespace and name: docs/operations/topology_aware_routing.md there. */
const WAYS_OF_GARDENER: readonly (readonly [of: RegExp, way: string])[] = [
  [
    /^kube-system\/kube-dns$/,
    'Switch NodeLocalDNS on: `spec.systemComponents.nodeLocalDNS.enabled: true` in the Shoot. Its cache answers on the Node of the client; settings of Seed and Garden do not count in a Shoot.',
  ],
  [/^(?:garden\/gardener-)?extension-.*admission/, 'Set `service.topologyAwareRouting.enabled: true` of its chart.'],
  // gardener/gardener-extension-networking-cilium#172
  [
    /^extension-/,
    `Set ${IN_SEED}: charts of extensions read it (releases from 2023 on: update an older one), and have the Service ask, on Kubernetes before 1.32 with Gardener's label \`${LABEL_CONSIDER}\`.`,
  ],
  [/^garden\/(?:virtual-garden-|gardener-(?:apiserver|admission-controller)$)/, `Set ${IN_GARDEN}.`],
  [/^garden\//, `Set ${IN_SEED}, or ${IN_GARDEN} where gardener-operator made the Service.`],
  [/^shoot-.*kube-apiserver$/, `Set ${IN_SEED}, ${IF_ZONAL}; with IstioTLSTermination its gateway does it.`],
  [/^shoot-/, `Set ${IN_SEED}, ${IF_ZONAL}.`],
  [/^kube-system\/addons-nginx/, 'Set `spec.addons.nginxIngress.externalTrafficPolicy: Local` in the Shoot.'], // #1701, types_shoot.go
  // docs/operations/seed_settings.md there, "External Traffic Policy", "Zone-Specific Settings"; #14420
  [
    /^virtual-g/,
    'Set `spec.runtimeCluster.settings.loadBalancerServices.externalTrafficPolicy: Local` in the Garden (Gardener from 1.141).',
  ],
  [
    /^istio-ingress/,
    'Set `externalTrafficPolicy: Local` under `spec.settings.loadBalancerServices` of the Seed (under `zones` of it for the gateway of one zone, which newer releases have for control planes of one zone: gardener/gardener#6997): then the Node that is entered passes traffic to its own Pods.',
  ],
];

/** gardener/gardener pkg/resourcemanager/controller/managedresource/merger.go: replicas stay where that is asked for, and restarts do. */
const byGardener: By = ({ annotations, labels, managers, name, namespace, about, owner }) => {
  const origin = annotations[ANNOTATION_ORIGIN];
  if (about !== 'service' && isPlacedByGardener({ labels }))
    return "Gardener's webhook for high availability reverts replicas and constraints to what zones and failure tolerance of the Shoot or Seed ask for (in a control plane a Pod in each zone: spec.controlPlane.highAvailability.failureTolerance.type zone)";
  // Its `etcdcomponents` webhook denies all other users the update.
  if (about === 'service' && isEtcdClient({ metadata: { name, labels } }))
    return 'etcd-druid owns it and denies the change: switch topologyAwareRouting on in the Seed or Garden instead';
  // A ControllerInstallation deploys by a ManagedResource; kubectl leaves managedFields out (gardener/gardener#6718).
  const isApi = [labels['app'], labels['role']].join() === 'kubernetes,apiserver';
  const isEtcd = namespace === 'garden' && owner?.kind === 'Etcd';
  const isMade = isApi || isEtcd || name.startsWith('gardener-extension-') || namespace.startsWith('shoot--');
  const made = [...managers].find((writer) => /^garden(?:let$|er-operator$|er-extension-)/.test(writer));
  if (origin === undefined && made === undefined && !isMade) return undefined;
  const by = origin === undefined ? (made ?? 'Gardener') : `gardener-resource-manager, from ManagedResource ${origin},`;
  return `${by} writes it back: change it where that is made`;
};

const byEks: By = ({ labels, annotations, managers, name, about }) => {
  const addOn = labels['eks.amazonaws.com/component'] ?? (managers.has('eks') ? name : undefined);
  if (addOn === undefined) return undefined;
  const isDns = ['coredns', 'kube-dns'].includes(addOn);
  // aws/containers-roadmap#2033
  if (isDns && about !== 'service')
    return `EKS owns it: ${about === 'replicas' ? 'replicaCount' : 'topologySpreadConstraints'} in --configuration-values of aws eks update-addon --addon-name coredns; an update of the add-on may undo what kubectl changes`;
  // The one value that is known: of no use where it is set already, and the CPU heuristic is what does not work.
  return isDns && !Object.values(annotations).some(isAuto)
    ? `EKS owns it: aws eks update-addon --cluster-name <cluster> --addon-name coredns --configuration-values '{"annotationTopologyMode":"Auto"}'; newer releases of it may take trafficDistribution (aws/containers-roadmap#2628): aws eks describe-addon-configuration shows it`
    : 'EKS owns it: an update of the add-on may undo what kubectl changes, unless its configuration has a value for it (aws eks describe-addon-configuration)';
};

/** Of AKS, and of clusters that the scripts of Kubernetes made. */
const byAddOnManager: By = ({ labels, version, about }) => {
  // The Service of kubespray has the label, and nothing there reads it (its coredns-svc.yml.j2).
  if (labels['addonmanager.kubernetes.io/mode'] !== 'Reconcile' || labels['k8s-app'] === 'coredns') return undefined;
  const policy = atLeast(version, 36) ? 'a MutatingAdmissionPolicy or ' : ''; // KEP-3962: v1 from 1.36 on
  return `the add-on manager rewrites it: use ${policy}a Kyverno rule on ${about === 'service' ? 'Services' : 'workloads'} instead (Kyverno has to be installed)`;
};

/** k3s-io/k3s#12433 */
const OF_K3S =
  'Update k3s to 1.30.14, 1.31.10, 1.32.6, 1.33.2 or newer, which prefers to spread CoreDNS over zones, and then have its Pods placed anew: `kubectl rollout restart deployment coredns -n kube-system`.';

/** docs.k3s.io/installation/packaged-components */
const byK3s: By = ({ annotations, labels, name }) => {
  // By its hash alone where the other marks were left out of what was read.
  const isHashed = labels['objectset.rio.cattle.io/hash'] !== undefined && name.endsWith('dns');
  const { 'objectset.rio.cattle.io/owner-gvk': by = isHashed ? 'k3s.cattle.io/' : '' } = annotations;
  if (!by.startsWith('k3s.cattle.io/')) return undefined;
  const addOn = annotations['objectset.rio.cattle.io/owner-name'] ?? 'coredns';
  return `k3s writes it back from ${addOn}.yaml in /var/lib/rancher/k3s/server/manifests, and that file too if k3s brings it: then start k3s with --disable=${addOn} and put a manifest of your own there`;
};

/** Of OLM as its doc/design/subscription-config.md says; it leaves replicas of a Deployment that is there (odf-operator#635). Of Helm operators the spec holds the values. */
const byOperator: By = (question) => {
  const { owner, labels, about, what, pointer } = question;
  const version = labels['olm.owner'];
  if (version !== undefined && about !== 'replicas')
    return `OLM writes it back as ClusterServiceVersion ${version} says; of where Pods run it takes affinity, nodeSelector and tolerations from spec.config of the Subscription`;
  const group = owner?.apiVersion.includes('/') === true ? (owner.apiVersion.split('/')[0] ?? '') : '';
  // Groups of the API server's own controllers.
  if (owner === undefined || /^(?:|apps|batch|discovery\.k8s\.io|autoscaling)$/.test(group)) return undefined;
  const who = `${owner.kind} ${owner.name}`;
  const known = operatorField(group, what);
  // An operator may copy labels of a custom resource that a chart made, as Prometheus' does.
  const isHelms = labels['app.kubernetes.io/managed-by'] === 'Helm';
  if (isHelms && known === undefined)
    return `${who} owns it, and its operator fills a chart from its spec: set a value there${chartValue(question).text}; it may write back what kubectl changes`;
  const isOther = what === 'service' && pointer !== '/spec/trafficDistribution' && operatorField(group, 'place');
  const field = isOther ? undefined : known;
  const chart = isHelms ? `, by a value of the chart that made it${chartValue(question).text}` : '';
  const where = field && `reverts other changes: make it there under ${field}${chart}`;
  return `${who} owns it, and its operator ${where ?? 'may revert a change: make it there, or at what owns that, if it has a field for it'}`;
};

const byTool: By = ({ labels, annotations }) =>
  Object.entries({ ...labels, ...annotations }).flatMap(
    ([key, value]) => (TOOLS[`${key}=${value}`] ?? TOOLS[key])?.replace('{value}', value) ?? [],
  )[0];

/** fluxcd.io/flux/faq: kustomize-controller undoes what kubectl changes; Helm's releases are compared only where that is switched on. */
const byKustomization: By = ({ managers }) =>
  managers.has('kustomize-controller') ? 'Flux owns it: make the change in its source' : undefined;

const byHelmRelease: By = (question) => {
  const release = question.labels['helm.toolkit.fluxcd.io/name'];
  return release === undefined
    ? undefined
    : `Flux owns it: a value of the chart under spec.values of HelmRelease ${release}${chartValue(question).text}, or the same change under spec.postRenderers`;
};

const byArgo: By = (question) =>
  (question.annotations['argocd.argoproj.io/tracking-id'] ?? question.labels['argocd.argoproj.io/instance']) ||
  question.managers.has('argocd-controller')
    ? `Argo CD owns it: change the source${chartValue(question).text}, or ignoreDifferences jsonPointers: [${question.pointer}] with syncOptions: [RespectIgnoreDifferences=true]`
    : undefined;

/** Who writes a field or the status of objects of others, or any object for a person; `unknown` is a client that names itself nowhere. */
const PASSERS_BY =
  /^(?:kube|before-first-apply|Mozilla|Go-http|node-fetch|okhttp|k9s|lens|unknown$|manager$|controller$|speaker$)|cloud-controller/;

/** What the label or fields name, whatever it is: kOps, k0s, operators that set no ownerReferences. */
const byWriter: By = ({ name, labels, managers, about }) => {
  const manager = labels['app.kubernetes.io/managed-by'] ?? '';
  // openshift/cluster-monitoring-operator#2035
  if (manager === 'cluster-monitoring-operator' && about === 'template')
    return `${manager} writes it back: ${name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())}.topologySpreadConstraints in config.yaml of ConfigMap openshift-monitoring/cluster-monitoring-config`;
  // envoyproxy/gateway api/v1alpha1/shared_types.go, KubernetesServiceSpec and KubernetesDeploymentSpec
  if (manager === 'envoy-gateway' && !name.includes('ratelimit'))
    return `Envoy Gateway writes it back: spec.provider.kubernetes.${about === 'service' ? 'envoyService (externalTrafficPolicy of a LoadBalancer; patch for other fields, and of a NodePort: envoyproxy/gateway#7768)' : 'envoyDeployment (replicas, pod.topologySpreadConstraints; or envoyDaemonSet)'} of the EnvoyProxy that its Gateway (spec.infrastructure.parametersRef) or GatewayClass names`;
  if (!/^(?:|kubectl|kustomize.*)$/.test(manager))
    return `${manager} manages it, and probably writes it back: make the change there`;
  const [writer, ...more] = [...managers].filter((one) => !PASSERS_BY.test(one));
  const who = writer === 'HashiCorp' ? 'Terraform' : writer;
  return writer === undefined || more.length > 0 || [...managers].some((one) => one.startsWith('kubectl'))
    ? undefined
    : `${who} wrote it (managedFields), and may write it back: make the change there`;
};

const byHelm: By = (question) => {
  const { labels, annotations, managers } = question;
  const release = annotations['meta.helm.sh/release-name'];
  const marks = `${labels['app.kubernetes.io/managed-by']} ${labels['heritage']}`; // of Helm 2: Tiller
  const isHelms = /Helm|Tiller/.test(marks) || release !== undefined || managers.has('helm');
  if (!isHelms) return undefined;
  // docs.rke2.io/helm, docs.k3s.io/helm: what they bring, in charts of Rancher, their Helm controller installs, with values of a HelmChartConfig.
  const [, by] = /^(rke2)-|^traefik-(?:\S+_up|\d+\.\d+\.\d{3}$)/.exec(labels['helm.sh/chart'] ?? '-') ?? ['', ''];
  if (release !== undefined && by !== '')
    return `${by ? 'RKE2' : 'k3s'} owns it: a value of the chart in a HelmChartConfig ${release} of kube-system${chartValue(question).text}, where it has one`;
  // rancher/fleet#1594
  if (annotations['objectset.rio.cattle.io/id'] !== undefined)
    return 'Fleet owns it: change the source of its bundle (values or overlays in fleet.yaml); a patch makes the bundle Modified, and is undone where correctDrift is enabled';
  const { text, known } = chartValue(question);
  const own = `set it in the values of the chart${text}, or in a post-renderer where it has none`;
  const way = known === NO_VALUE ? `${known}: set it in a post-renderer` : own;
  return `Helm owns it: ${way}; an upgrade may undo what kubectl changes`;
};

/** Kyverno writes `<rule>.<policy>.kyverno.io: …` a line; Gatekeeper `Assign//<name>:1` (docs/customize-startup there), where that is switched on. */
const byPolicy: By = ({ annotations }) => {
  const own = annotations['policies.kyverno.io/last-applied-patches'] ?? annotations['gatekeeper.sh/mutations'];
  const by = own?.trim().replaceAll(/:.*$/gm, '').replaceAll('\n', ', ');
  return by && `policies change it at admission (${by}): where one sets the same field, make the change there`;
};

/** In this order (what Flux, Argo CD or Fleet install by Helm carries Helm's marks too), and whether another change is reverted. */
const OWNERS: readonly (readonly [by: By, reverts: boolean])[] = [
  [byGardener, true],
  [byEks, false],
  [byAddOnManager, true],
  [byK3s, true],
  [byOperator, true],
  [byTool, true],
  [byHelmRelease, false],
  [byKustomization, true],
  [byArgo, false],
  [byHelm, false],
  [byPolicy, false],
  [byWriter, true],
];

/** For the person who would patch the object; undefined where nothing says that another one owns it. */
export const ownerNote = (...asked: Parameters<typeof questionOf>) => {
  const question = questionOf(...asked);
  const notes = OWNERS.map(([by, reverts]) => ({ by, text: by(question), reverts }));
  const { by, text, reverts = false } = notes.find((note) => note.text !== undefined) ?? {};
  const place = `${asked[0].namespace}/${question.name}`;
  const [, ofGardener] = WAYS_OF_GARDENER.find(([of]) => by === byGardener && of.test(place)) ?? [];
  const way = by === byK3s && question.about === 'template' && question.name === 'coredns' ? OF_K3S : ofGardener;
  const asks = by === byEks && question.name === 'kube-dns' && !Object.values(question.annotations).some(isAuto);
  return text === undefined ? undefined : { line: `# ${text}`, reverts, ...defined({ way, asks: asks || undefined }) };
};

export type OwnerNote = NonNullable<ReturnType<typeof ownerNote>>;
