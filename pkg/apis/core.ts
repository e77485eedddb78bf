// The parts of Kubernetes' core/v1, coordination/v1 and discovery/v1 that this project reads or writes, and small readings of them.
import { isFields } from './values.ts';
import type { Condition, KubernetesObject, ObjectRef, StringMap } from './meta.ts';
import { ANNOTATION_HINTS, HINTS_OFF, LABEL_SERVICE_NAME, LABEL_ZONE, SWITCH_NAMESPACE, isNowhere } from './names.ts';

export interface ServicePort {
  name?: string;
  protocol?: string;
  port: number;
  targetPort?: number | string;
  nodePort?: number;
  appProtocol?: string;
}

/** core/v1 Service. */
export interface Service extends KubernetesObject {
  spec?: {
    type?: string;
    clusterIP?: string;
    clusterIPs?: string[];
    selector?: StringMap;
    ports?: ServicePort[];
    ipFamilies?: string[];
    ipFamilyPolicy?: string;
    internalTrafficPolicy?: string;
    externalTrafficPolicy?: string;
    loadBalancerClass?: string;
    sessionAffinity?: string;
    trafficDistribution?: string;
    topologyKeys?: string[];
    [field: string]: unknown;
  };
  status?: { conditions?: Condition[]; [field: string]: unknown } | undefined;
}

/** core/v1 Namespace. */
export interface Namespace extends KubernetesObject {
  status?: { phase?: string };
}

/** core/v1 Node; quantities stay strings. */
export interface Node extends KubernetesObject {
  spec?: { unschedulable?: boolean; taints?: Record<string, unknown>[]; providerID?: string; [field: string]: unknown };
  status?: {
    conditions?: Condition[];
    allocatable?: StringMap;
    capacity?: StringMap;
    nodeInfo?: { kubeletVersion?: string; kubeProxyVersion?: string };
    addresses?: { type?: string; address: string }[];
  };
}

export interface ObjectReference {
  kind?: string;
  namespace?: string;
  name?: string;
  uid?: string;
}

/** core/v1 Event. */
export interface Event extends KubernetesObject {
  involvedObject: ObjectReference;
  type: 'Normal' | 'Warning';
  reason: string;
  message: string;
  source?: { component?: string };
  reportingComponent?: string;
  reportingInstance?: string;
  firstTimestamp?: string;
  lastTimestamp?: string;
  count?: number;
}

/** coordination.k8s.io/v1 Lease; times are RFC 3339 with microseconds. */
export interface Lease extends KubernetesObject {
  spec?: {
    /** Empty or absent: not held. */
    holderIdentity?: string;
    /** How long followers wait after the last renewal that they saw. */
    leaseDurationSeconds?: number;
    acquireTime?: string;
    renewTime?: string;
    leaseTransitions?: number;
  };
}

/** hints of one endpoint: which zones (and, from Kubernetes 1.33, nodes) should use it. */
export interface EndpointHints {
  forZones?: { name: string }[];
  forNodes?: { name: string }[];
}

/** One endpoint of a slice. */
export interface Endpoint {
  addresses: string[];
  conditions?: { ready?: boolean; serving?: boolean; terminating?: boolean };
  hostname?: string;
  nodeName?: string;
  zone?: string;
  targetRef?: ObjectReference;
  hints?: EndpointHints;
  deprecatedTopology?: StringMap;
}

/** discovery.k8s.io/v1 EndpointSlice; the API server may send `null` for empty arrays. */
export interface EndpointSlice extends KubernetesObject {
  addressType?: string;
  endpoints?: Endpoint[] | null;
  ports?: { name?: string; protocol?: string; port?: number }[] | null;
}

/** `namespace/name` of a slice's Service; undefined where it has none. */
export const serviceKeyOf = ({ metadata }: EndpointSlice): string | undefined => {
  const name = metadata?.labels?.[LABEL_SERVICE_NAME];
  return name === undefined || name === '' ? undefined : `${metadata?.namespace ?? ''}/${name}`;
};

/** Why nothing is done while the switch is off, for conditions, decisions and events. */
export const SWITCHED_OFF = {
  reason: 'SwitchedOff',
  message: 'hints are switched off in the whole cluster; `kubectl topology on` switches them on',
} as const;

const isOff = (namespace: Namespace | undefined): boolean =>
  namespace?.metadata?.annotations?.[ANNOTATION_HINTS] === HINTS_OFF;

/** @param namespaces - which may be unknown: then it is on. */
export const isSwitchedOff = (namespaces: { get(ref: ObjectRef): Namespace | undefined }): boolean =>
  isOff(namespaces.get({ name: SWITCH_NAMESPACE }));

/** Whether this change of a namespace turned the switch. */
export const isSwitching = (namespace: Namespace, previous: Namespace | undefined): boolean =>
  namespace.metadata?.name === SWITCH_NAMESPACE && isOff(namespace) !== isOff(previous);

/** Empty where a label, or a field that was copied from one, names no zone; a hint for no client is none, also where a Node has it. */
export const zoneIn = (value: string | undefined): string => (value === undefined || isNowhere(value) ? '' : value);

/** Empty where the Node has no zone. */
export const zoneOfNode = ({ metadata }: KubernetesObject): string => zoneIn(metadata?.labels?.[LABEL_ZONE]);

/** Of all Nodes that have one, in name order. */
export const zonesOfNodes = (nodes: readonly Node[]): string[] =>
  [...new Set(nodes.map(zoneOfNode))].filter((zone) => zone !== '').sort();

export const isNodeReady = ({ status }: Node): boolean =>
  (status?.conditions ?? []).some(({ type, status: value }) => type === 'Ready' && value === 'True');

/**
 * An endpoint that does not state it counts as ready. The API documents so (k8s.io/api discovery/v1, EndpointConditions), and proxies do it:
 * kube-proxy (pkg/proxy/endpointslicecache.go, Kubernetes 1.36) and Cilium (pkg/k8s/endpoints.go, 1.16 to 1.20: `Ready == nil || *Ready`).
 * Upstream's control plane reads absence as not ready (k8s.io/endpointslice topologycache/utils.go, EndpointReady) but never leaves it out.
 *
 * @param endpoint - checked or not
 */
export const isEndpointReady = ({ conditions }: { readonly conditions?: unknown }): boolean =>
  !isFields(conditions) || conditions['ready'] !== false;

/** apps.kubeedge.io/v1alpha1 NodeGroup, cluster-scoped. */
export interface NodeGroup extends KubernetesObject {
  spec?: {
    /** Names of Nodes that belong to the group, whatever their labels. */
    nodes?: string[] | null;
    /** Nodes with all of these labels belong to it as well. */
    matchLabels?: StringMap | null;
    /** Its Nodes get the name of the group as their zone. KubeEdge 1.21 and newer know the field; default false. */
    topologyEnabled?: boolean;
  };
}
