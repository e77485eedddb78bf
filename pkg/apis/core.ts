// The parts of Kubernetes' core/v1, coordination/v1 and discovery/v1 that this project reads or writes.
import type { Condition, KubernetesObject, ObjectMeta, StringMap } from './meta.ts';

export interface ServicePort {
  name?: string;
  protocol?: string;
  port: number;
  targetPort?: number | string;
  nodePort?: number;
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
    trafficDistribution?: string;
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
  spec?: { unschedulable?: boolean; taints?: unknown[]; [field: string]: unknown };
  status?: {
    conditions?: Condition[];
    allocatable?: StringMap;
    capacity?: StringMap;
    nodeInfo?: { kubeletVersion?: string; kubeProxyVersion?: string };
    addresses?: { type: string; address: string }[];
  };
}

/** core/v1 Secret; values are base64. */
export interface Secret extends KubernetesObject {
  type?: string;
  data?: StringMap;
}

export interface ObjectReference {
  apiVersion?: string;
  kind?: string;
  namespace?: string;
  name?: string;
  uid?: string;
  resourceVersion?: string;
  fieldPath?: string;
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
    holderIdentity?: string;
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
  metadata?: ObjectMeta;
  addressType?: string;
  endpoints?: Endpoint[] | null;
  ports?: { name?: string; protocol?: string; port?: number; appProtocol?: string }[] | null;
}
