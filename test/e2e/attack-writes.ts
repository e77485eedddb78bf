// Writes with the rights of our components: those that somebody who took one over would try, and those that it makes by itself.
import type { ObjectRef } from '../../pkg/apis/meta.ts';
import {
  ANNOTATION_APPLIED,
  ANNOTATION_GROUP_ZONE,
  ANNOTATION_OPERATION,
  ANNOTATION_PLAN,
  ANNOTATION_TOUCHED,
  EXTENSION_FINALIZER,
  LABEL_CONSIDER,
  LABEL_ETCD_CLIENTS,
  LABEL_ROUTING,
  LABEL_STRATEGY,
  LABEL_ZONE,
} from '../../pkg/apis/names.ts';
import { CLUSTER_ROLES, ENDPOINT_SLICES, EXTENSIONS, NAMESPACES, NODES, SERVICES } from '../../pkg/apis/resources.ts';
import type { Resource } from '../../pkg/apis/resources.ts';
import { COMPONENTS, type Component, FLOW, RECONCILER } from './chart.ts';

export const VICTIM = 'victim';
export const ROLE = 'gardener-extension-topology-aware-routing-runtime';
export const SERVICE: ObjectRef = { namespace: VICTIM, name: 'bank' };
/** Of type LoadBalancer: only these may have addresses in their status. */
export const SLICE: ObjectRef = { namespace: VICTIM, name: 'bank-1' };
export const EXTENSION: ObjectRef = { namespace: VICTIM, name: 'routing' };
export const ALIEN: ObjectRef = { namespace: VICTIM, name: 'dns' };
export const NODE: ObjectRef = { name: 'worker' };

export interface Write {
  readonly what: string;
  readonly by: Component;
  readonly resource: Resource;
  readonly ref: ObjectRef;
  readonly patch: object;
  readonly subresource?: 'status';
}

const metadata = (part: object): object => ({ metadata: part });
const of = (by: Component, resource: Resource, ref: ObjectRef, patches: Record<string, object>): Write[] =>
  Object.entries(patches).map(([what, patch]) => ({ what, by, resource, ref, patch }));

export const endpoints = (more: object, address = '192.0.2.1'): object => ({
  endpoints: [{ addresses: [address], conditions: { ready: true }, zone: 'eu-1a', ...more }],
});

/** What RBAC allows and no component needs. */
export const ATTACKS: readonly Write[] = [
  ...of(
    RECONCILER,
    NAMESPACES,
    { name: VICTIM },
    {
      'lowers the Pod Security of a namespace': metadata({
        labels: { 'pod-security.kubernetes.io/enforce': 'privileged' },
      }),
      'removes a label that NetworkPolicies select by': metadata({ labels: { tier: null } }),
      'annotates a namespace with a scheduler hint': metadata({
        annotations: { 'scheduler.alpha.kubernetes.io/node-selector': 'a=b' },
      }),
      'adds a finalizer that keeps a namespace for ever': metadata({ finalizers: ['evil.example/stay'] }),
    },
  ),
  ...[RECONCILER, FLOW].flatMap((by) => [
    ...of(by, SERVICES, SERVICE, {
      'points a Service at other Pods': { spec: { selector: { app: 'evil' } } },
      'takes the selector away': { spec: { selector: null } },
      'claims an external address': { spec: { externalIPs: ['203.0.113.7'] } },
      'changes a port': { spec: { ports: [{ port: 443, targetPort: 6666, protocol: 'TCP' }] } },
      'makes it a LoadBalancer': { spec: { type: 'LoadBalancer' } },
      'publishes endpoints that are not ready': { spec: { publishNotReadyAddresses: true } },
      'keeps external traffic on the Node': { spec: { internalTrafficPolicy: 'Local' } },
      'sets a label that others select by': metadata({ labels: { app: 'evil' } }),
      'sets an annotation of a cloud provider': metadata({
        annotations: { 'service.beta.kubernetes.io/aws-load-balancer-internal': 'false' },
      }),
      'gives it an owner': metadata({
        ownerReferences: [
          { apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'f3d7a1c2-0000-4000-8000-000000000000' },
        ],
      }),
    }),
    ...of(by, ENDPOINT_SLICES, SLICE, {
      'sends the traffic of a Service elsewhere': endpoints({}, '203.0.113.7'),
      'adds an endpoint': {
        endpoints: [
          { addresses: ['192.0.2.1'], conditions: { ready: true }, zone: 'eu-1a' },
          { addresses: ['203.0.113.7'], conditions: { ready: true } },
        ],
      },
      'takes all endpoints away': { endpoints: [] },
      'calls an endpoint not ready': endpoints({ conditions: { ready: false } }),
      'moves an endpoint to another zone': endpoints({ zone: 'eu-1b' }),
      'changes a port': { ports: [{ name: 'https', port: 6666, protocol: 'TCP' }] },
      'gives the slice to another Service': metadata({ labels: { 'kubernetes.io/service-name': 'evil' } }),
    }),
  ]),
  ...of(RECONCILER, EXTENSIONS, EXTENSION, {
    'changes what an Extension is asked for': { spec: { providerConfig: { evil: true } } },
    "takes another controller's finalizer away": metadata({ finalizers: [] }),
  }),
  ...of(RECONCILER, EXTENSIONS, ALIEN, {
    'writes an Extension of another type': metadata({ annotations: { [ANNOTATION_OPERATION]: 'reconcile' } }),
  }),
  ...of(RECONCILER, EXTENSIONS, ALIEN, {
    'reports on an Extension of another type': { status: { observedGeneration: 9 } },
  }).map((write) => ({ ...write, subresource: 'status' as const })),
  ...of(FLOW, NODES, NODE, {
    'keeps Pods off a Node': { spec: { unschedulable: true } },
    'taints a Node': { spec: { taints: [{ key: 'evil', effect: 'NoExecute' }] } },
    'makes a Node one of the control plane': metadata({ labels: { 'node-role.kubernetes.io/control-plane': '' } }),
    'annotates a Node': metadata({ annotations: { 'cluster-autoscaler.kubernetes.io/scale-down-disabled': 'true' } }),
  }),
  ...COMPONENTS.flatMap((by) =>
    of(
      by,
      CLUSTER_ROLES,
      { name: `${ROLE}:${by}` },
      {
        'takes rights out of its own role': { rules: [] },
        'has its role aggregated': metadata({ labels: { 'rbac.authorization.k8s.io/aggregate-to-admin': 'true' } }),
      },
    ),
  ),
];

/** What the components do, as they do it. */
export const NEEDED: readonly Write[] = [
  ...of(
    RECONCILER,
    NAMESPACES,
    { name: VICTIM },
    {
      'labels the namespace': metadata({ labels: { [LABEL_ROUTING]: 'runtime', [LABEL_ETCD_CLIENTS]: 'true' } }),
      'takes the labels back': metadata({ labels: { [LABEL_ROUTING]: null, [LABEL_ETCD_CLIENTS]: null } }),
    },
  ),
  ...of(RECONCILER, SERVICES, SERVICE, {
    'sets the routing of a Service': {
      metadata: {
        labels: { [LABEL_CONSIDER]: 'true', [LABEL_STRATEGY]: 'same-zone' },
        annotations: { [ANNOTATION_APPLIED]: '{}' },
      },
      spec: { trafficDistribution: 'PreferClose' },
    },
    'takes it back': {
      metadata: {
        labels: { [LABEL_CONSIDER]: null, [LABEL_STRATEGY]: null },
        annotations: { [ANNOTATION_APPLIED]: null },
      },
      spec: { trafficDistribution: null },
    },
  }),
  ...of(FLOW, SERVICES, SERVICE, { 'labels a Service': metadata({ labels: { [LABEL_STRATEGY]: 'load-aware' } }) }),
  ...of(RECONCILER, ENDPOINT_SLICES, SLICE, {
    'has a slice written again': metadata({ annotations: { [ANNOTATION_TOUCHED]: '2026-01-01T00:00:00Z' } }),
  }),
  ...of(FLOW, ENDPOINT_SLICES, SLICE, {
    'writes hints and its mark': {
      ...metadata({ annotations: { [ANNOTATION_PLAN]: 'zones' } }),
      ...endpoints({ hints: { forZones: [{ name: 'eu-1b' }] } }),
    },
    'takes both back': { ...metadata({ annotations: { [ANNOTATION_PLAN]: null } }), ...endpoints({}) },
  }),
  ...of(RECONCILER, EXTENSIONS, EXTENSION, {
    'takes an Extension up': metadata({ finalizers: ['other.example/x', EXTENSION_FINALIZER] }),
    'lets it go': metadata({ finalizers: ['other.example/x'] }),
  }),
  ...of(RECONCILER, EXTENSIONS, EXTENSION, { 'reports on it': { status: { observedGeneration: 1 } } }).map((write) => ({
    ...write,
    subresource: 'status' as const,
  })),
  ...of(FLOW, NODES, NODE, {
    'gives a Node the zone of its group': metadata({
      labels: { [LABEL_ZONE]: 'edge' },
      annotations: { [ANNOTATION_GROUP_ZONE]: '{}' },
    }),
  }),
];
