// Which resources of a cluster fill which part of a snapshot.
// Reads how long the authorities of webhooks are valid.
import { X509Certificate } from 'node:crypto';
import {
  ENDPOINT_SLICES,
  EVENTS,
  FLOW_POLICIES,
  MUTATING_WEBHOOK_CONFIGURATIONS,
  NODES,
  PODS,
  type Resource,
  SERVICES,
  ZONE_EVACUATIONS,
} from '../../../pkg/apis/resources.ts';
import { AGENT_LABELS } from '../../../pkg/diagnosis/routers/planes.ts';
import { itemsOf, known } from '../../../pkg/diagnosis/snapshot.ts';
import type { ClusterSnapshot, CollectionName, WebhookSummary } from '../../../pkg/diagnosis/snapshot.ts';

export interface Source {
  readonly resource: Resource;
  /** Instead of the namespaces asked for. */
  readonly namespace?: string;
  /** In all namespaces, whatever is asked for. */
  readonly everywhere?: boolean;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
  /** What it adds is evidence: where it may not be read the collection goes on without. */
  readonly evidence?: boolean;
  /** Not every cluster serves it: where it is not served there are none. */
  readonly optional?: boolean;
}

const namespaced = (group: string, version: string, kind: string): Resource => ({
  group,
  version,
  kind,
  plural: `${kind.toLowerCase()}s`,
  namespaced: true,
});

const resource = (group: string, version: string, kind: string, plural: string, scoped = false): Resource => ({
  group,
  version,
  kind,
  plural,
  namespaced: scoped,
});

/** Pods of data planes, one source for each label key; not of those that `isSettled` says are known without. */
export const agentPods = (isSettled: (key: string, value: string) => boolean = () => false): readonly Source[] =>
  [...AGENT_LABELS].flatMap(([key, values]) => {
    const left = values.filter((value) => !isSettled(key, value));
    if (left.length === 0) return [];
    const labelSelector = `${key} in (${left.join(',')})`;
    return [{ resource: PODS, everywhere: true, labelSelector, optional: true, evidence: true }];
  });

/** kube-system is looked at whatever namespace is asked for: agents are of the whole cluster. */
const ROUTERS_BUT_PODS: readonly Source[] = [
  { resource: resource('apps', 'v1', 'DaemonSet', 'daemonsets', true), everywhere: true, optional: true },
  { resource: namespaced('', 'v1', 'ConfigMap'), namespace: 'kube-system', optional: true, evidence: true },
  {
    resource: namespaced('apps', 'v1', 'Deployment'),
    namespace: 'kube-system',
    fieldSelector: 'metadata.name=kube-ovn-controller',
    optional: true,
    evidence: true,
  },
  {
    resource: resource('crd.projectcalico.org', 'v1', 'FelixConfiguration', 'felixconfigurations'),
    optional: true,
    evidence: true,
  },
  { resource: resource('operator.tigera.io', 'v1', 'Installation', 'installations'), optional: true, evidence: true },
  {
    resource: resource('cilium.io', 'v2', 'CiliumNodeConfig', 'ciliumnodeconfigs', true),
    everywhere: true,
    optional: true,
    evidence: true,
  },
  { resource: resource('operator.openshift.io', 'v1', 'Network', 'networks'), optional: true, evidence: true },
];

const ROUTERS: readonly Source[] = [...ROUTERS_BUT_PODS, ...agentPods()];

const gatewayApi = (version: string, kind: string, plural: string): Resource =>
  resource('gateway.networking.k8s.io', version, kind, plural, true);

/** None of them is everywhere; routes may send to Services of other namespaces. */
const ENTRIES: readonly Source[] = [
  { resource: resource('networking.k8s.io', 'v1', 'Ingress', 'ingresses', true) },
  { resource: resource('networking.k8s.io', 'v1', 'IngressClass', 'ingressclasses') },
  { resource: gatewayApi('v1', 'Gateway', 'gateways'), everywhere: true },
  { resource: resource('gateway.networking.k8s.io', 'v1', 'GatewayClass', 'gatewayclasses') },
  { resource: gatewayApi('v1', 'HTTPRoute', 'httproutes'), everywhere: true },
  { resource: gatewayApi('v1', 'GRPCRoute', 'grpcroutes'), everywhere: true },
  { resource: resource('traefik.io', 'v1alpha1', 'IngressRoute', 'ingressroutes', true), everywhere: true },
  { resource: resource('projectcontour.io', 'v1', 'HTTPProxy', 'httpproxies', true) },
  { resource: resource('k8s.nginx.org', 'v1', 'VirtualServer', 'virtualservers', true) },
  { resource: resource('elbv2.k8s.aws', 'v1beta1', 'TargetGroupBinding', 'targetgroupbindings', true) },
  {
    resource: resource(
      'admissionregistration.k8s.io',
      'v1',
      'ValidatingWebhookConfiguration',
      'validatingwebhookconfigurations',
    ),
  },
  { resource: resource('apiregistration.k8s.io', 'v1', 'APIService', 'apiservices') },
].map((source) => ({ ...source, optional: true, evidence: true }));

export const SOURCES: Readonly<Record<CollectionName, readonly Source[]>> = {
  nodes: [{ resource: NODES }],
  services: [{ resource: SERVICES }],
  slices: [{ resource: ENDPOINT_SLICES }],
  pods: [{ resource: PODS }],
  workloads: [
    { resource: namespaced('apps', 'v1', 'Deployment'), optional: true },
    { resource: namespaced('apps', 'v1', 'StatefulSet'), optional: true },
  ],
  autoscalers: [
    { resource: namespaced('autoscaling', 'v2', 'HorizontalPodAutoscaler'), optional: true },
    { resource: namespaced('autoscaling.k8s.io', 'v1', 'VerticalPodAutoscaler'), optional: true },
  ],
  webhooks: [{ resource: MUTATING_WEBHOOK_CONFIGURATIONS }],
  events: [{ resource: EVENTS, fieldSelector: 'involvedObject.kind=Service' }],
  routers: ROUTERS,
  ingresses: ENTRIES,
  flowPolicies: [{ resource: FLOW_POLICIES, optional: true }],
  evacuations: [{ resource: ZONE_EVACUATIONS, optional: true }],
};

/** What is read at first: Pods of data planes only once DaemonSets and Nodes show which of them are needed. */
export const FIRST_SOURCES: Readonly<Record<CollectionName, readonly Source[]>> = {
  ...SOURCES,
  routers: ROUTERS_BUT_PODS,
};

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

const endOf = (pem: string): number[] => {
  try {
    return [Date.parse(new X509Certificate(pem).validTo)];
  } catch {
    return [];
  }
};

/** When the certificate of the bundle that is valid longest ends, milliseconds since the epoch; nothing without any. */
const validity = ({ caBundle = '' }: WebhookSummary): Pick<WebhookSummary, 'caNotAfter'> => {
  const ends = (Buffer.from(caBundle, 'base64').toString('latin1').match(CERTIFICATE) ?? []).flatMap(endOf);
  return ends.length === 0 ? {} : { caNotAfter: Math.max(...ends) };
};

export const withCertificates = (snapshot: ClusterSnapshot): ClusterSnapshot =>
  snapshot.webhooks.kind === 'unknown'
    ? snapshot
    : { ...snapshot, webhooks: known(itemsOf(snapshot.webhooks).map((each) => ({ ...each, ...validity(each) }))) };
