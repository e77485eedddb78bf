// How a Service asks for routing by zone in a way that this version and these data planes understand, and who would undo that.
import { zoneOfNode } from '../../apis/core.ts';
import { nameOf } from '../../apis/values.ts';
import { domainPrefixedMode } from '../../routing/plan.ts';
import { atLeast } from '../../routing/version.ts';
import type { Proxy } from '../../upstream/index.ts';
import { TOPOLOGY_ANNOTATIONS } from '../../apis/names.ts';
import { readsPreferCloseOnly } from '../../upstream/proxy/hint-rule.ts';
import { askingAnnotation, distributionOf } from '../../upstream/wish.ts';
import { type OwnerNote, ownerNote } from '../owner.ts';
import type { StringMap } from '../../apis/meta.ts';
import { affinityOf, isInternalOnly } from './balancer.ts';
import type { Facts } from './facts.ts';
import type { Cause } from './reasons.ts';
import { type Step, patchSpec, setKeys } from './remedy.ts';

/** Steps in their order; in lines `{slices}`, `{name}` and `{namespace}` stand for those of the Service. Undefined: none that helps. */
export type Fix = (facts: Facts) => readonly Step[] | undefined;

/** Data planes of this kind look at hints of annotated Services only. */
const needsAnnotation = (proxy: Proxy, minor: number): boolean => {
  if (proxy.kind === 'kube-proxy') return minor < 31;
  if (proxy.kind === 'cilium') return proxy.ciliumVersion !== undefined && proxy.ciliumVersion.minor < 16;
  return proxy.kind === 'ruled' && typeof proxy.rule.optIn === 'object';
};

export const NEAREST = 'PreferSameNode';

/** Its Pods are as a DaemonSet has them. */
export const isOnEveryNode = ({ nodes, pods, workloads, hosts }: Facts): boolean => {
  const isOfCustom = pods.some(({ madeBy }) => madeBy !== undefined);
  return pods.length > 0 && !isOfCustom && workloads.length === 0 && nodes.every((node) => hosts.has(nameOf(node)));
};

/** By what a Service asks so that the control plane and all data planes here understand it. */
export const settingsFor = (facts: Facts) => {
  const { version, options, index, service } = facts;
  const routings = index.answers.map(({ routing }) => routing);
  const readers = routings.some(({ proxy }) => proxy.kind === 'cilium' && readsPreferCloseOnly(proxy.ciliumVersion));
  // kubernetes/ingress-gce#2815 and #2843 name no other value.
  const onlyClose = readers || isInternalOnly(service);
  const isNear = isOnEveryNode(facts) && index.answers.every(({ behaviour }) => behaviour.hints === 'zone-and-node');
  const values = onlyClose ? ['PreferClose'] : [...(isNear ? [NEAREST] : []), 'PreferSameZone', 'PreferClose'];
  const needing = routings.filter((own) => needsAnnotation(own.proxy, own.version.minor));
  const insists = needing.some(({ proxy, version: { minor } }) => proxy.kind !== 'kube-proxy' || minor < 27);
  const field = values.find((value) => distributionOf(value, version, options.gates) !== undefined);
  const [key, auto] = askingAnnotation(version);
  const isZonal = atLeast(version, 33) && affinityOf(service).includes('unset');
  return {
    key,
    auto,
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
    distribution: needing.length > 0 && !isZonal ? undefined : field,
    /** Its load balancer would keep to zones by the field, whatever data planes read. */
    isZonal,
  };
};

export const presentAnnotation = (annotations: StringMap = {}): string | undefined =>
  TOPOLOGY_ANNOTATIONS.find((key) => annotations[key] !== undefined);

/** The annotation for data planes that want one; where the field asks already, by a value that leaves it in force. */
export const annotate: Fix = (facts) => {
  const { service, version, options } = facts;
  const { key, auto, beside } = settingsFor(facts);
  const isFieldRead = distributionOf(service.spec?.trafficDistribution, version, options.gates) !== undefined;
  return [setKeys('annotations', { [key]: isFieldRead ? (beside ?? auto) : auto })];
};

/** The field, the annotation that older proxies want beside it, and none that is in its way; undefined where the field does not help. */
export const useField: Fix = (facts) => {
  const { field, annotated, beside, key, isZonal } = settingsFor(facts);
  if (field === undefined || (annotated && beside === undefined && !isZonal)) return undefined;
  const present = presentAnnotation(facts.service.metadata?.annotations);
  const unset = present === undefined ? [] : [setKeys('annotations', { [present]: null })];
  const set = facts.service.spec?.trafficDistribution === field ? [] : [patchSpec({ trafficDistribution: field })];
  return [...(beside !== undefined && annotated ? [setKeys('annotations', { [key]: beside })] : unset), ...set];
};

const NEAR_LINE = `the value ${NEAREST} keeps connections on their Node as long as it has one, else in the zone; internalTrafficPolicy Local keeps them there in any case, and they fail where it has none`;
const STRICT_LINE = `internalTrafficPolicy Local keeps connections on their Node, and they fail where it has none; ${NEAREST} (Kubernetes 1.34 and newer) would fall back`;

export const nodeLines = (facts: Facts): readonly string[] => {
  const line = settingsFor(facts).distribution === NEAREST ? NEAR_LINE : STRICT_LINE;
  return isOnEveryNode(facts) ? [`every Node has an endpoint: ${line}`] : [];
};

/** What helps where every Node has an endpoint and none a zone, or each an agent (opentelemetry-operator#1401) or DNS (kubernetes/kubernetes#94191), and the value for that is not there yet. */
export const nearRemedy = (facts: Facts): string | undefined => {
  const { nodes, version, service } = facts;
  const isOf = /otlp|statsd|"port":53\b|\b(?:431[78]|812[56])\b/.test(JSON.stringify(service.spec?.ports ?? []));
  const isBare = nodes.length > 1 && (isOf || nodes.every((node) => zoneOfNode(node) === '')) && atLeast(version, 22);
  const [line] = isBare && settingsFor(facts).distribution !== NEAREST ? nodeLines(facts) : [];
  return line && `E${line.slice(1)}.`;
};

/** Asks with a setting that every version recognises. */
export const ask: Fix = (facts) => {
  if (nearRemedy(facts) !== undefined) return [patchSpec({ internalTrafficPolicy: 'Local' })];
  const steps = useField(facts) ?? annotate(facts);
  return steps && [...steps, ...nodeLines(facts).map((line) => `# ${line}`)];
};

export const TOO_OLD =
  'No release before 1.21 has hints: update, to 1.24 or newer for the annotation, to 1.31 or newer for `spec.trafficDistribution`. A DaemonSet on every Node can use `internalTrafficPolicy: Local` from 1.22 on.';

/** No release before 1.21 has hints that could be asked for, and a gate that a component does not know keeps it from starting. */
export const isTooOld = (reason: Cause['reason'], { version }: Facts): boolean =>
  ['NotRequested', 'HintsControllerGateOff', 'HintsGateOff'].includes(reason) && !atLeast(version, 21);

/** Of hints alone, at which what goes around the proxies does not look. */
export const OF_HINTS =
  /^(?:NotRequested|(?:Annotation|TrafficDistribution)\w*Not\w+|AnnotationKeyNotRead|Hints\w*GateOff|HintsIgnored|InsufficientNode\w+|TooFewEndpoints|OverloadThreshold|Cilium\w+|ProxyNeedsAnnotation|RouterUnknown|InternalTrafficPolicyLocal)$/;

/** Who would undo a change of how the Service asks, or of another field of its spec, and where to make it instead. */
export const askingNote = (facts: Facts, changed = ''): OwnerNote | undefined => {
  const { service, version } = facts;
  const { distribution, key } = settingsFor(facts);
  const annotation = (presentAnnotation(service.metadata?.annotations) ?? key).replaceAll('/', '~1');
  const field = changed === '' && distribution !== undefined ? 'trafficDistribution' : changed;
  const pointer = field === '' ? `/metadata/annotations/${annotation}` : `/spec/${field}`;
  const value = field === 'trafficDistribution' ? distribution : undefined;
  return ownerNote(service.metadata ?? {}, { pointer, distribution: value }, version);
};

const OF_REDIS =
  /^(?!.*role":"(?:slave|replica|master)").*(?:"port":6379\b.*"port":26379\b|"redis_setup_type":"replication")/;
/** Not its routers. */
const OF_MONGO = /^(?!.*\bmongos\b).*(?:^|\/)(?:percona-server-)?mongo(?:db(?:-\w+-server)?)?[:@]/;
const OF_LEADER = /^(?=.*leader-elect)(?:[1-9]|.*storage-adv-addr|.*secure-port=(\d+)\b.* at (?!.*\b\1\b))/;
/** Programs behind a cluster IP none of whose Pods answers for another, by image or spec: bitnami/charts#5201, #26578, OT-CONTAINER-KIT/redis-operator#472, mongodb-kubernetes-operator#1029, zabbix-community/helm-zabbix#98. */
const UNLIKE: Readonly<Record<string, readonly [sign: RegExp, says: string]>> = {
  'Have clients take all Pods, from a headless Service, and the Pod of each key by its hash. Zones, affinity and chance lead to a Pod that may not have it.':
    [/(?:^|\/)memcached[:@]/, 'each of its Pods has keys of its own'],
  'Have clients ask Sentinel (port 26379) for the primary, or use a Service of the primary alone. A setting for zones would keep clients of a zone with a replica.':
    [OF_REDIS, 'its Pods are a primary and replicas, which refuse what is written (READONLY)'],
  'Have drivers take all members, from the headless Service (`mongodb+srv://`) or a list, with `replicaSet`: they write to the primary, and read near with `readPreference=nearest`. A setting for zones would keep clients of a zone with a secondary.':
    [OF_MONGO, 'its Pods are a primary and secondaries, which refuse what is written (NotMaster)'],
  'Have the Service select the active server alone: `zabbixServer.zabbixServerHA.enabled` of the chart of zabbix-community (in releases of late 2024 and newer) labels it, or a readinessProbe of port 10051 takes the others out. A setting for zones would keep clients of a zone with a server that stands by.':
    [/zabbix-server-\w+[:@]/, 'one server is active, and those that stand by do not listen'],
  'Have the Service reach the leader alone, where the others refuse requests: by a release, or a setting, with which its operator or chart writes the endpoint, or a label or readinessProbe that only the leader has. Or run one replica, where its number is set. A setting for zones would keep clients of a zone with a Pod that stands by.':
    [OF_LEADER, 'it elects a leader, and those that stand by may refuse requests'], // called: kai-scheduler/KAI-Scheduler#1484, #1593; gives its own address out for what it keeps: fluxcd/source-controller#272; answers for its health on another port: milo-os/milo#684
};

/** What is to be done where any Pod may be the wrong one, and why that is so. */
export const unlikeOf = (facts: Facts): readonly [helps: string, why: string] | undefined => {
  const { workloads, service, slices, endpoints, callers } = facts;
  const images = workloads.flatMap(({ images: own, name }) => own.map((image) => `${image} ${name}`));
  const at = slices.flatMap(({ ports }) => (ports ?? []).map(({ port }) => port)).join();
  const electing = workloads.map(({ steering = '' }) => `${callers.length} ${steering.slice(0, 500)} at ${at}`);
  const signs = [JSON.stringify(service.spec ?? {}), ...images, ...electing].map((own) => own.slice(0, 4_000));
  const [helps, [, why] = []] = Object.entries(UNLIKE).find(([, [sign]]) => signs.some((own) => sign.test(own))) ?? [];
  return helps && why && endpoints.length > 1 ? [helps, why] : undefined;
};
