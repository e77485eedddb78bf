// How a data plane other than kube-proxy chooses endpoints: its rule as data, and the one model that applies it.
import { type Service, zoneOfNode } from '../../apis/core.ts';
import { ANNOTATION_TOPOLOGY_AWARE_HINTS, TOPOLOGY_ANNOTATIONS } from '../../apis/names.ts';
import { nameOf } from '../../apis/values.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import { isAuto } from '../../routing/slots.ts';
import { type TrafficDistribution, fullName } from '../features.ts';
import type { Reason } from '../reasons.ts';
import { isOff } from '../wish.ts';
import { type ProxyEndpoint, type Route, type RouteInput, type TopologyMode, mergeEndpoints } from './endpoints.ts';
import { type Choice, buildRoute, familyOf, onNode, portNames, portOf, usable, whyNotProxied } from './kube-proxy.ts';

/** What of the Service makes the data plane look at hints. */
interface OptIn {
  /** Annotations that it reads, the first that is there decides. */
  readonly annotations: readonly string[];
  /** `auto`: exactly Auto or auto; `anyCase`: AUTO too; `anyValue`: all but empty, disabled and Disabled. */
  readonly annotationValue: 'auto' | 'anyCase' | 'anyValue';
  /** Values of `spec.trafficDistribution`. */
  readonly distributions: readonly string[];
}

/** Of an endpoint that is not ready: it starts; it terminates and still serves; it terminates and serves no longer. */
type Unready = 'starting' | 'terminating' | 'stopped';

export interface HintRule {
  /** `hints`: nothing but hints; undefined: it looks at no hints, whatever the Service says. */
  readonly optIn?: OptIn | 'hints';
  /** By what it prefers endpoints on the client's node; default: not at all. */
  readonly sameNode?: 'hints' | 'nodeName';
  /**
   * Where some endpoints have no hint: `skip` leaves these out; `each` looks at each endpoint alone and leaves out only those
   * hinted for other zones, even if that is all of them. Default: all hints are ignored, as kube-proxy does.
   */
  readonly partial?: 'skip' | 'each';
  /** Of OpenShift's DNS it takes the ready endpoint on the client's node where there is one, whatever hints say. */
  readonly localDns?: true;
  /** Endpoints whose hints count beside those of ready ones. */
  readonly counts?: readonly Unready[];
  /**
   * Whose hints count as well: those of the other address family; of all ports and families; of these by address, so that one
   * that is in slices of several ports has the hints of one of these. Default: of the port and family alone.
   */
  readonly across?: 'families' | 'ports' | 'addresses';
  /** An endpoint whose slice says no zone of it counts as one without hints. */
  readonly needsZone?: true;
  /** It never uses endpoints that terminate. */
  readonly readyOnly?: true;
  /** `externalTrafficPolicy: Local` makes it ignore hints, for the cluster IP too. */
  readonly stoppedByLocal?: true;
  /** It does not know `internalTrafficPolicy`; `external`: and goes by `externalTrafficPolicy` for the cluster IP too. */
  readonly policyBlind?: boolean | 'external';
  /** Slices of weight 0 get no new connection. */
  readonly drained?: boolean;
  /** Its rule where the annotation is Auto, in any case. */
  readonly whenAuto?: HintRule;
}

/** A data plane and its rule at its version. */
export interface RuledProxy {
  /** As sentences name it: `Calico eBPF 3.29.1`. */
  readonly name: string;
  readonly rule: HintRule;
  /** Why it ignores hints where its rule does; default: it is made so. */
  readonly ignoring?: Reason;
  /** Why it ignores them where the Service does not ask; default: the annotation is missing. */
  readonly unasked?: Reason;
}

export const OLDER_ANNOTATION = [ANNOTATION_TOPOLOGY_AWARE_HINTS] as const;

const ADMITS: Readonly<Record<OptIn['annotationValue'], (value: string) => boolean>> = {
  auto: isAuto,
  anyCase: (value) => value.toLowerCase() === 'auto',
  anyValue: (value) => !isOff(value),
};

const WHEN_AUTO: OptIn = { annotations: TOPOLOGY_ANNOTATIONS, annotationValue: 'anyCase', distributions: [] };

export const isOptedIn = ({ metadata, spec }: Service, optIn: OptIn | 'hints'): boolean => {
  if (optIn === 'hints') return true;
  const key = optIn.annotations.find((annotation) => metadata?.annotations?.[annotation] !== undefined);
  const value = key === undefined ? undefined : metadata?.annotations?.[key];
  if (value !== undefined && ADMITS[optIn.annotationValue](value)) return true;
  return optIn.distributions.includes(spec?.trafficDistribution ?? '');
};

export const isLocalDns = (service: Service): boolean => fullName(service) === 'openshift-dns/dns-default';

const isHinted = ({ zoneHints }: ProxyEndpoint): boolean => zoneHints.size > 0;

const counts = ({ ready, serving, terminating }: ProxyEndpoint, states: readonly Unready[] = []): boolean =>
  ready || states.includes(terminating ? (serving ? 'terminating' : 'stopped') : 'starting');

/** Endpoints of a port and family, and all whose completeness the data plane looks at. */
const endpointsFor = (
  input: RouteInput,
  { across, drained, needsZone }: HintRule,
): Record<'own' | 'judged', readonly ProxyEndpoint[]> => {
  const { merge = mergeEndpoints } = input;
  const [ownPort, ownFamily] = [portOf(input).name, familyOf(input)];
  const of = (port: string, family: string): readonly ProxyEndpoint[] => {
    const merged = merge(input.slices, { port, family, duplicates: { prefer: 'running' }, drained });
    if (needsZone !== true) return merged;
    return merged.map((endpoint) => (endpoint.zone === '' ? { ...endpoint, zoneHints: new Set() } : endpoint));
  };
  const own = of(ownPort, ownFamily);
  if (across === undefined) return { own, judged: own };
  const ports = across === 'families' ? [ownPort] : portNames(input.service);
  const wide = ['IPv4', 'IPv6'].flatMap((family) => ports.flatMap((port) => of(port, family)));
  if (across !== 'addresses') return { own, judged: wide };
  const hints = new Map(wide.toReversed().map(({ address, zoneHints }) => [address, zoneHints]));
  const hintedAlike = (each: ProxyEndpoint) => ({ ...each, zoneHints: hints.get(each.address) ?? each.zoneHints });
  return { own: own.map(hintedAlike), judged: wide.map(hintedAlike) };
};

/** What hints leave of the endpoints, ready or not. */
const choose = (input: RouteInput, { rule, ignoring, unasked }: RuledProxy): Choice & { own: Choice['list'] } => {
  const { service } = input;
  const auto = rule.whenAuto !== undefined && isOptedIn(service, WHEN_AUTO);
  const { optIn, sameNode, partial, stoppedByLocal, ...own } = auto ? rule.whenAuto : rule;
  const endpoints = endpointsFor(input, own);
  const answer = (list: Choice['list'], mode: TopologyMode, reason: Reason) => ({ list, mode, reason, ...endpoints });
  const all = (reason: Reason) => answer(endpoints.own, '', reason);
  const near = rule.localDns === true && isLocalDns(service) ? endpoints.own : [];
  const beside = near.filter(({ ready, nodeName }) => ready && nodeName === nameOf(input.node));
  if (beside.length > 0) return answer(beside, '', 'SameNodeHints');
  if (optIn === undefined) return all(ignoring ?? 'HintsIgnored');
  if (!isOptedIn(service, optIn)) return all(unasked ?? 'RouterNotOptedIn');
  if (stoppedByLocal === true && service.spec?.externalTrafficPolicy === 'Local')
    return all('CiliumExternalTrafficPolicyLocal');
  const judged = endpoints.judged.filter((endpoint) => counts(endpoint, own.counts));
  const [node, zone] = [nameOf(input.node), zoneOfNode(input.node)];
  if (sameNode === 'hints' && (partial === 'skip' || judged.every(({ nodeHints }) => nodeHints.size > 0))) {
    const here = judged.filter(({ nodeHints }) => nodeHints.has(node));
    if (here.length > 0) return answer(here, 'PreferSameNode', 'SameNodeHints');
  }
  if (sameNode === 'nodeName' && service.spec?.trafficDistribution === 'PreferSameNode') {
    const here = judged.filter(({ nodeName }) => nodeName === node);
    return here.length > 0 ? answer(here, 'PreferSameNode', 'SameNodeHints') : all('NodeNotHinted');
  }
  if (!judged.some(isHinted)) return all('NoHints');
  if (zone === '') return all('ClientNodeWithoutZone');
  if (partial === undefined && !judged.every(isHinted)) {
    const ready = endpoints.own.filter((endpoint) => endpoint.ready);
    return all(ready.every(isHinted) ? 'UnusedWithoutHint' : 'EndpointWithoutHint');
  }
  if (partial !== 'each' && !judged.some(({ zoneHints }) => zoneHints.has(zone))) return all('ZoneNotHinted');
  const list = endpoints.own.filter((item) => item.zoneHints.has(zone) || (partial === 'each' && !isHinted(item)));
  return answer(list, 'PreferSameZone', 'SameZoneHints');
};

/** Why these are used of what was chosen. */
const reasonFor = ({ own, list, mode, reason }: ReturnType<typeof choose>, used: Choice['list']): Reason => {
  const anyReady = own.some(({ ready }) => ready);
  if (used.some(({ ready }) => ready)) return reason;
  if (used.length > 0) return mode === '' ? 'TerminatingEndpoints' : 'TerminatingForZone';
  if (!anyReady) return 'NoReadyEndpoints';
  return list.length > 0 ? 'UnreadyForZone' : 'NoBackendForZone';
};

export const ruledRoute = (input: RouteInput, proxy: RuledProxy): Route => {
  const cause = whyNotProxied(input.service);
  if (cause !== undefined) return buildRoute(input, { reason: 'NotProxied', cause });
  const chosen = choose(input, proxy);
  const { own: endpoints } = chosen;
  if (endpoints.length === 0) return buildRoute(input, { reason: 'NoEndpoints' });
  const { internalTrafficPolicy, externalTrafficPolicy } = input.service.spec ?? {};
  const { policyBlind: blind, readyOnly = false } = proxy.rule;
  if ((blind === 'external' ? externalTrafficPolicy : !blind && internalTrafficPolicy) === 'Local') {
    const local = usable(onNode(endpoints, nameOf(input.node)), !readyOnly);
    const reason = local.length > 0 ? 'InternalTrafficPolicyLocal' : 'NoLocalEndpoints';
    return buildRoute(input, { local, reachable: local, used: local, endpoints, reason });
  }
  const used = usable(chosen.list, !readyOnly);
  const mode = used.length > 0 ? chosen.mode : '';
  return buildRoute(input, { cluster: used, endpoints, mode, reason: reasonFor(chosen, used), cause: proxy.name });
};

// Cilium: hints count only where its service topology is on and the Service asks for it, in words that differ by version.
// After pkg/loadbalancer/writer/writer.go and reflectors/conversions.go (from 1.18), pkg/k8s/service_cache.go (before) of
// cilium/cilium at the tag of each release; cilium#31948, #41022 and #41116 (1.18.0 refuses), #44771, #47960 (an endpoint that starts).

/** A data plane's version; without patch the newest of its minor. */
export interface RouterVersion extends KubernetesVersion {
  readonly patch?: number;
}

/** Major, minor, patch. */
export type Release = readonly [number, number, number];

export interface CiliumOptions {
  /** `loadBalancer.serviceTopology`; default false, as Cilium's own. */
  readonly serviceTopology?: boolean;
  /** Default: the newest that was read. */
  readonly ciliumVersion?: RouterVersion;
}

/** It follows hints where an annotation has the value, or the field one of these. */
export const annotated = (
  annotationValue: OptIn['annotationValue'],
  annotations: readonly string[] = TOPOLOGY_ANNOTATIONS,
  ...distributions: readonly TrafficDistribution[]
): HintRule => ({ optIn: { annotations, annotationValue, distributions } });

const NEWEST: HintRule = {
  ...annotated('anyValue', TOPOLOGY_ANNOTATIONS, 'PreferClose', 'PreferSameZone', 'PreferSameNode'),
  sameNode: 'nodeName',
  needsZone: true,
};
const CLOSE = annotated('anyValue', TOPOLOGY_ANNOTATIONS, 'PreferClose');
const CONDITIONED: HintRule = { ...CLOSE, counts: ['starting', 'terminating', 'stopped'], across: 'ports' };
/** As filterEndpoints of the service cache judges: all backends of a Service, of which those that terminate are part. */
const CACHED: HintRule = { counts: ['terminating'], across: 'addresses', stoppedByLocal: true };

/**
 * Newest first; each holds up to the next. What starts is a backend from 1.18.5 on (cilium#42708), and counts no longer from 1.20.2 on
 * (cilium#47054). From 1.19.0 on a backend has its hints in its BackendZone, which it has only with a zone (reflectors/conversions.go).
 */
export const CILIUM_RULES: readonly { readonly since: Release; readonly rule: HintRule }[] = [
  { since: [1, 20, 2], rule: NEWEST },
  { since: [1, 20, 0], rule: { ...NEWEST, counts: ['starting'] } },
  { since: [1, 19, 0], rule: { ...CONDITIONED, needsZone: true } },
  { since: [1, 18, 5], rule: CONDITIONED },
  { since: [1, 18, 1], rule: { ...CLOSE, counts: ['terminating'], across: 'ports' } },
  { since: [1, 18, 0], rule: { ...CLOSE, counts: ['terminating'], partial: 'each' } },
  { since: [1, 16, 0], rule: { ...CACHED, optIn: 'hints' } },
  { since: [1, 14, 0], rule: { ...CACHED, ...annotated('anyCase') } },
  { since: [1, 11, 0], rule: { ...CACHED, ...annotated('anyCase', OLDER_ANNOTATION) } },
];

/** Numbers as versions compare; a missing patch is the newest. */
export const isSince = (version: RouterVersion, [major, minor, patch]: Release): boolean =>
  (version.major - major || version.minor - minor || (version.patch ?? Infinity) - patch) >= 0;

/** What a version of Cilium does with service topology on. */
export const ciliumRule = (version: RouterVersion | undefined): HintRule =>
  CILIUM_RULES.find(({ since }) => version === undefined || isSince(version, since))?.rule ?? {};

/**
 * Whether it opens no connections to slices of weight 0, with service topology or without, and by any algorithm: weight 0 is
 * BackendStateMaintenance (reflectors/conversions.go), which bpf_reconciler.go leaves out of the services map; cilium#46061.
 */
export const drainsSlices = (version: RouterVersion | undefined): boolean =>
  version === undefined || isSince(version, [1, 20, 0]);

/** Of `spec.trafficDistribution` it reads exactly `PreferClose`: 1.18 and 1.19. */
export const readsPreferCloseOnly = (version: RouterVersion | undefined): boolean =>
  version?.major === 1 && (version.minor === 18 || version.minor === 19);

/** `1.31.2`. */
export const versionText = ({ major, minor, patch }: RouterVersion): string =>
  `${major}.${minor}${patch === undefined ? '' : `.${patch}`}`;

/** Node hints and feature gates mean nothing to Cilium. */
export const ciliumRoute = (input: RouteInput, { serviceTopology = false, ciliumVersion }: CiliumOptions = {}): Route =>
  ruledRoute(input, {
    name: ciliumVersion === undefined ? 'Cilium' : `Cilium ${versionText(ciliumVersion)}`,
    rule: {
      ...(serviceTopology && ciliumRule(ciliumVersion)),
      drained: drainsSlices(ciliumVersion),
      // As its maintainers say in cilium#16071.
      policyBlind: ciliumVersion !== undefined && !isSince(ciliumVersion, [1, 13, 0]),
    },
    ignoring: serviceTopology ? 'CiliumNotOptedIn' : 'CiliumServiceTopologyOff',
    unasked: 'CiliumNotOptedIn',
  });
