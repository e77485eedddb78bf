// Checks manifests without a cluster: what their Services ask for, what a version of Kubernetes or of Cilium makes of it, and whether the
// Pods behind them can be where their clients are: replicas, spread over zones, zones that are allowed.
import type { Service } from '../../apis/core.ts';
import { byText, defined, isFields, refOf, sumBy, workloadTitle } from '../../apis/values.ts';
import { LABEL_STRATEGY, LABEL_ZONE, TOPOLOGY_ANNOTATIONS } from '../../apis/names.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import { routingSettings, withOlderName } from '../../routing/plan.ts';
import { NEWEST_KNOWN_VERSION, atLeast, formatVersion } from '../../routing/version.ts';
import { type Wish, askingAnnotation, wishOf } from '../../upstream/wish.ts';
import { type RouterVersion, readsPreferCloseOnly } from '../../upstream/proxy/hint-rule.ts';
import { areFoundOtherwise, isScraped } from '../bypasses/members.ts';
import { selects } from '../bypasses/watchers.ts';
import { counted, remedyOf } from '../explain/reasons.ts';
import { prefersApart } from '../explain/scheduler.ts';
import { scales } from '../explain/snapshot-index.ts';
import { STORE_REMEDY, isStore } from '../explain/spread.ts';
import { GONE_KEYS } from '../explain/wanted.ts';
import { hasSelector } from '../models/lookup.ts';
import { fieldsIn, pickTexts, stringsIn } from '../project/fields.ts';
import { workloadOf } from '../project/workloads.ts';
import { type Autoscaler, type ClusterSnapshot, type EntryObject, type Workload, itemsOf } from '../snapshot.ts';

/** Worst first. `error`: refused, or cannot work; `warning`: works otherwise than it reads; `note`: worth knowing. */
export const SEVERITIES = ['error', 'warning', 'note'] as const;
export type Severity = (typeof SEVERITIES)[number];

export type Place = Readonly<{ file: string; line: number }>;

export interface Finding extends Omit<Said, 'reason' | 'remedy'> {
  readonly reason: string;
  readonly kind: string;
  /** Empty where the manifest names none. */
  readonly namespace: string;
  readonly name: string;
  readonly remedy: string;
  readonly place?: Place;
}

export interface CheckOptions {
  /** Default: the newest that is known. */
  readonly version?: KubernetesVersion;
  readonly ciliumVersion?: RouterVersion;
  /** Of an object, by `Kind/namespace/name`. */
  readonly placeOf?: (key: string) => Place | undefined;
}

type FindingReason = Parameters<typeof remedyOf>[0];

const said = (severity: Severity, reason: FindingReason, message: string) => ({ severity, reason, message });

type Said = ReturnType<typeof said> & { readonly remedy?: string };

/** Since this minor the API server compares both annotations. */
const COMPARES_SINCE = 27;

const annotationRules = (service: Service, version: KubernetesVersion, wish: Wish): Said[] => {
  const [older, newer] = TOPOLOGY_ANNOTATIONS.map((key) => service.metadata?.annotations?.[key]);
  if (older !== undefined && newer !== undefined && older !== newer && atLeast(version, COMPARES_SINCE)) {
    const message = `topology-aware-hints is ${JSON.stringify(older)} and topology-mode ${JSON.stringify(newer)}: refused`;
    return [said('error', 'AnnotationsDiffer', message)];
  }
  const deprecated =
    older !== undefined && atLeast(version, COMPARES_SINCE)
      ? [said('note', 'AnnotationDeprecated', 'the annotation topology-aware-hints is deprecated')]
      : [];
  const { source, understood, reason, message } = wish;
  if (source === 'topology-mode' && !understood) return [...deprecated, said('error', reason, message)];
  return reason === 'AnnotationWins' ? [...deprecated, said('warning', reason, message)] : deprecated;
};

const fieldRules = (service: Service, { ciliumVersion }: CheckOptions, wish: Wish): Said[] => {
  const value = service.spec?.trafficDistribution;
  if (value === undefined) return [];
  if (wish.reason === 'TrafficDistributionNotRecognized') return [said('error', wish.reason, wish.message)];
  if (ciliumVersion === undefined || !readsPreferCloseOnly(ciliumVersion) || value === 'PreferClose') return [];
  const message = `trafficDistribution ${value} is not read by Cilium ${formatVersion(ciliumVersion)}, which supports only PreferClose`;
  return [said('warning', 'CiliumNotOptedIn', message)];
};

/** Nothing comes of what it asks for, whatever the cluster. */
const vainRules = (service: Service): Said[] => {
  const { type, clusterIP, internalTrafficPolicy } = service.spec ?? {};
  if (type === 'ExternalName') return [said('error', 'ExternalName', 'an ExternalName has no endpoints to route to')];
  if (clusterIP === 'None')
    return [said('warning', 'Headless', 'clients of a headless Service choose among all addresses themselves')];
  if (internalTrafficPolicy === 'Local')
    return [said('warning', 'InternalPolicyLocal', 'internalTrafficPolicy is Local: connections stay on the Node')];
  if (!hasSelector(service))
    return [said('warning', 'NoSelector', 'without a selector nothing writes hints on its slices')];
  if (service.spec?.publishNotReadyAddresses !== true) return [];
  const message = 'publishNotReadyAddresses is true: clients of a zone may get Pods only that are not ready';
  return [said('warning', 'PublishedNotReady', message)];
};

/** Most replicas that a workload may have, its autoscalers' included; infinite where each Node has one. */
const mostReplicas = (workload: Workload, autoscalers: readonly Autoscaler[]): number => {
  if (workload.kind === 'DaemonSet') return Infinity;
  const own = autoscalers.filter((each) => scales(each, workload));
  return own.reduce((most, { maxReplicas = 0 }) => Math.max(most, maxReplicas), workload.replicas);
};

/** Of one workload, with or without a request for routing by zone: rules that cannot do what they say. */
const spreadRules = (workload: Workload): Said[] => {
  const { replicas } = workload;
  // Regions have three zones, or hardly more.
  const many = `the podAntiAffinity of ${workloadTitle(workload)} lets one Pod in each zone: of its ${replicas} replicas the others wait`;
  if (replicas > 3 && replicas < Infinity && workload.apart?.includes(LABEL_ZONE) === true)
    return [said('warning', 'OnePerZone', many)];
  return workload.spread.flatMap(({ selectsOwn, maxSkew, whenUnsatisfiable, topologyKey }): Said[] => {
    const title = workloadTitle(workload);
    const which = topologyKey === LABEL_ZONE ? 'zone' : topologyKey;
    const none = `the ${which} constraint of ${title} selects none of its own Pods`;
    if (!selectsOwn) return [said('error', 'SpreadSelectsNothing', none)];
    if (topologyKey !== LABEL_ZONE || replicas <= 1 || maxSkew < replicas || whenUnsatisfiable !== 'DoNotSchedule')
      return [];
    const message = `maxSkew ${maxSkew} of ${title} allows all ${replicas} replicas in one zone`;
    return [said('warning', 'SpreadTooWide', message)];
  });
};

/** Of a workload behind a Service that asks for routing by zone. */
const placementRules = (workload: Workload): Said[] => {
  const { allowedZones = [], apart = [], replicas } = workload;
  const has = `${workloadTitle(workload)} has`;
  if (replicas <= 1) {
    const message = `${has} ${counted(replicas, 'replica')}: clients in all other zones always cross`;
    return [{ ...said('note', 'SingleEndpoint', message), ...(isStore([workload]) && { remedy: STORE_REMEDY }) }];
  }
  if (new Set(allowedZones).size === 1)
    return [said('warning', 'PinnedToOneZone', `${workloadTitle(workload)} may run in ${allowedZones[0] ?? ''} only`)];
  if (apart.includes(LABEL_ZONE) || replicas === Infinity) return [];
  const constraints = workload.spread.filter(({ topologyKey }) => topologyKey === LABEL_ZONE);
  if (constraints.length === 0 && !prefersApart(workload)) {
    const message = `${has} up to ${counted(replicas, 'replica')}, and nothing spreads them over zones`;
    return [said('warning', 'PodsNotSpread', message)];
  }
  const own = constraints.filter(({ selectsOwn }) => selectsOwn);
  if (own.length < constraints.length || own.some((each) => each.whenUnsatisfiable !== 'ScheduleAnyway')) return [];
  const by = own.length === 0 ? 'preferred podAntiAffinity' : 'ScheduleAnyway';
  const message = `${workloadTitle(workload)} is spread over zones only as a preference (${by})`;
  return [said('note', 'SpreadOnlyPreferred', message)];
};

type Named = Pick<Finding, 'kind' | 'namespace' | 'name'>;

export const findingKeyOf = ({ kind, namespace, name }: Named): string => `${kind}/${namespace}/${name}`;

/** With a version that was named, what helps there. */
const remedyOn = (reason: FindingReason, { version, ciliumVersion }: CheckOptions): string => {
  if (version === undefined) return remedyOf(reason);
  const settings = routingSettings(version);
  const { trafficDistribution: value } = readsPreferCloseOnly(ciliumVersion) ? withOlderName(settings) : settings;
  const annotation = askingAnnotation(version).join(': ');
  const way = value === undefined ? `the annotation \`${annotation}\`` : `\`spec.trafficDistribution: ${value}\``;
  const remedies: Partial<Record<FindingReason, string>> = {
    NotRequested: `Set ${way}.`,
    AnnotationDeprecated: `Use ${way} instead.`,
    TrafficDistributionNotRecognized: value === undefined ? `Remove the field, and set ${way}.` : `Set ${way}.`,
  };
  return remedies[reason] ?? remedyOf(reason);
};

/** Several replicas behind it, and it asks for nothing. */
const silence = (service: Service, behind: readonly Workload[], callers: readonly EntryObject[]): Said[] => {
  const replicas = sumBy(behind, (each) => each.replicas);
  const { internalTrafficPolicy, externalTrafficPolicy } = service.spec ?? {};
  if (service.spec?.topologyKeys !== undefined) return [said('warning', 'NotRequested', GONE_KEYS.trim())];
  const isUnused = isScraped(service) || behind.some(({ images }) => areFoundOtherwise(images));
  if (replicas < 2 || internalTrafficPolicy === 'Local' || isUnused) return [];
  const names = behind.map(workloadTitle).join(', ');
  const endpoints = replicas === Infinity ? 'an endpoint on every Node' : `up to ${counted(replicas, 'endpoint')}`;
  const [use] = [
    ...callers.map((by) => `; API servers call it (${by.kind} ${by.name}), by hints only if a proxy is on their host`),
    ...(externalTrafficPolicy === 'Local' ? ['; traffic from outside stays on its Node (externalTrafficPolicy)'] : []),
  ];
  const message = `it has no trafficDistribution, and ${endpoints} behind it (${names}): clients in the cluster use all zones equally${use ?? ''}`;
  return [said(use === undefined ? 'warning' : 'note', 'NotRequested', message)];
};

/** Kinds of prometheus-operator, which sets the labels of their Pods as its definitions say, beside those of `spec.podMetadata`. */
const OPERATED: Readonly<Record<string, string>> = { Prometheus: 'prometheus', Alertmanager: 'alertmanager' };

const operatedLabels = (kind: string, name: string): Record<string, string> => {
  const app = OPERATED[kind];
  if (app === undefined) return {};
  const labels = {
    [app]: name,
    'app.kubernetes.io/name': app,
    'app.kubernetes.io/instance': name,
    'app.kubernetes.io/managed-by': 'prometheus-operator',
  };
  return kind === 'Prometheus' ? { ...labels, 'operator.prometheus.io/name': name } : labels;
};

/** Undefined for what has no Pods whose labels are known. */
export const templateOwnerOf = (object: unknown): Workload | undefined => {
  if (!isFields(object)) return undefined;
  const { apiVersion, kind } = pickTexts(object, 'apiVersion', 'kind');
  const { name, namespace } = pickTexts(object, 'metadata.name', 'metadata.namespace');
  const [group = ''] = apiVersion.split('/');
  // Groups of Kubernetes itself have no dot, but for those that hold no Pods.
  if (kind !== 'DaemonSet' && !group.includes('.')) return undefined;
  const spec = fieldsIn(object, 'spec');
  const template = fieldsIn(spec, spec['podTemplate'] === undefined ? 'template' : 'podTemplate');
  const operated = { ...stringsIn(spec, 'podMetadata.labels'), ...operatedLabels(kind, name) };
  // Where there is no template, the spec itself says where the Pods may run.
  const pods =
    Object.keys(operated).length === 0
      ? { metadata: { labels: stringsIn(template, 'metadata.labels') }, spec: fieldsIn(template, 'spec') }
      : { metadata: { labels: operated }, spec };
  if (name === '' || Object.keys(pods.metadata.labels).length === 0) return undefined;
  return workloadOf({ ...object, spec: { ...spec, template: pods } }, { name, namespace: namespace || 'default' });
};

type Manifests = Pick<ClusterSnapshot, 'services' | 'workloads' | 'autoscalers' | 'ingresses'>;

export const check = (manifests: Manifests, options: CheckOptions = {}) => {
  const { version = NEWEST_KNOWN_VERSION, placeOf } = options;
  const services = itemsOf(manifests.services);
  const scalers = itemsOf(manifests.autoscalers);
  const workloads = itemsOf(manifests.workloads).map((own) => ({ ...own, replicas: mostReplicas(own, scalers) }));
  const calls = itemsOf(manifests.ingresses).filter(({ client }) => client === 'kube-apiserver');
  const findings: Finding[] = [];
  const report = (object: Named, all: readonly Said[]): void => {
    const place = placeOf?.(findingKeyOf(object));
    const { kind, namespace, name } = object;
    for (const one of all)
      findings.push({ remedy: remedyOn(one.reason, options), ...one, kind, namespace, name, ...defined({ place }) });
  };
  for (const workload of workloads) report(workload, spreadRules(workload));
  for (const service of services) {
    const { namespace, name } = refOf(service);
    const object = { kind: 'Service', namespace, name };
    const wish = wishOf(service, version);
    const hasStrategy = service.metadata?.labels?.[LABEL_STRATEGY] !== undefined;
    const speaks = wish.source !== 'none' || hasStrategy;
    if (speaks) {
      const own = [...annotationRules(service, version, wish), ...fieldRules(service, options, wish)];
      report(object, [...own, ...vainRules(service)]);
    }
    if (service.spec?.type === 'ExternalName' || service.spec?.clusterIP === 'None' || !hasSelector(service)) continue;
    const behind = workloads.filter((workload) => selects(service, workload));
    const some = `internalTrafficPolicy is Local: clients on Nodes without a Pod of ${behind.map(workloadTitle).join(', ')} fail`;
    const isEverywhere = behind.length === 0 || behind.some(({ replicas }) => replicas === Infinity);
    if (service.spec?.internalTrafficPolicy === 'Local' && !isEverywhere)
      report(object, [said('warning', 'NoLocalEndpoints', some)]);
    const callers = calls.filter((entry) => entry.services.includes(`${namespace}/${name}`));
    if (!speaks) report(object, silence(service, behind, callers));
    // A value with a domain names the heuristic of another controller.
    if (wish.mode !== 'none' || hasStrategy || (wish.source === 'topology-mode' && wish.value.includes('/')))
      for (const workload of behind) report(object, placementRules(workload));
  }
  const rank = ({ severity }: Finding): number => SEVERITIES.indexOf(severity);
  return {
    kubernetesVersion: formatVersion(version),
    services: services.length,
    workloads: workloads.length,
    /** Worst first, then in the order of the manifests. */
    findings: findings.sort(
      (a, b) =>
        rank(a) - rank(b) ||
        byText(a.place?.file ?? '', b.place?.file ?? '') ||
        (a.place?.line ?? 0) - (b.place?.line ?? 0) ||
        byText(findingKeyOf(a), findingKeyOf(b)),
    ),
  };
};

export type CheckReport = ReturnType<typeof check>;
