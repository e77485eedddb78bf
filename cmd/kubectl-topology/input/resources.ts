// Which resources of a cluster fill which part of a snapshot; and how long the authorities of webhooks are valid.
import { X509Certificate } from 'node:crypto';
import { CLUSTER_ROLES, CONFIG_MAPS, DAEMON_SETS, DEPLOYMENTS, ENDPOINT_SLICES } from '../../../pkg/apis/resources.ts';
import { EVENTS, FLOW_POLICIES, MUTATING_WEBHOOK_CONFIGURATIONS, NODES, PODS } from '../../../pkg/apis/resources.ts';
import { type Resource, resource, SERVICES, ZONE_EVACUATIONS } from '../../../pkg/apis/resources.ts';
import { orElse } from '../../../pkg/apis/values.ts';
import { ROUTER_KINDS, ROUTE_KINDS } from '../../../pkg/diagnosis/bypasses/kinds.ts';
import { AGENT_LABELS } from '../../../pkg/diagnosis/routers/planes.ts';
import { changeItems } from '../../../pkg/diagnosis/snapshot.ts';
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
  /** No further page is asked for once their data have so many characters. */
  readonly most?: number;
}

const inCluster = (apiVersion: string, kind: string, namespaced = false): Resource => {
  const [version = '', group = ''] = apiVersion.split('/').reverse();
  return resource(group, version, kind, namespaced);
};
const inNamespaces = (apiVersion: string, kind: string): Resource => inCluster(apiVersion, kind, true);

const EVIDENCE = { optional: true, evidence: true };

/** Pods of data planes, one source for each label key; not of those that `isSettled` says are known without. */
export const agentPods = (isSettled: (key: string, value: string) => boolean = () => false): readonly Source[] =>
  [...AGENT_LABELS].flatMap(([key, values]) => {
    const left = values.filter((value) => !isSettled(key, value));
    if (left.length === 0) return [];
    const labelSelector = `${key} in (${left.join(',')})`;
    return [{ resource: PODS, everywhere: true, labelSelector, ...EVIDENCE }];
  });

const sourcesOf = (kinds: typeof ROUTE_KINDS): readonly Source[] =>
  kinds.map(([apiVersion, kind, where]) => ({
    resource: inCluster(apiVersion, kind, where !== 'cluster'),
    everywhere: where === 'anywhere',
    ...EVIDENCE,
  }));

/** kube-system is looked at whatever namespace is asked for: agents are of the whole cluster. */
const ROUTERS_BUT_PODS: readonly Source[] = [
  { resource: DAEMON_SETS, everywhere: true, optional: true },
  { resource: CONFIG_MAPS, namespace: 'kube-system', ...EVIDENCE },
  { resource: DEPLOYMENTS, namespace: 'kube-system', fieldSelector: 'metadata.name=kube-ovn-controller', ...EVIDENCE },
  ...sourcesOf(ROUTER_KINDS),
];

/** What Istio as a whole makes of zones. */
export const MESH_CONFIG: Source = { resource: CONFIG_MAPS, namespace: 'istio-system', ...EVIDENCE };

/** What workloads read. Copies of certificate authorities, which every namespace has, name no Service. At most so many bytes, of one namespace as of all. */
export const NAMING_CONFIGS: Source = {
  resource: CONFIG_MAPS,
  fieldSelector:
    'metadata.name!=kube-root-ca.crt,metadata.name!=openshift-service-ca.crt,metadata.name!=istio-ca-root-cert',
  most: 64 * 1024 * 1024,
  ...EVIDENCE,
};

const RBAC = 'rbac.authorization.k8s.io/v1';
const optional = (own: Source['resource']): Source => ({ resource: own, optional: true });

export const SOURCES: Readonly<Record<CollectionName, readonly Source[]>> = {
  nodes: [{ resource: NODES }],
  services: [{ resource: SERVICES }],
  slices: [{ resource: ENDPOINT_SLICES }],
  pods: [{ resource: PODS }],
  workloads: [optional(DEPLOYMENTS), optional(inNamespaces('apps/v1', 'StatefulSet')), NAMING_CONFIGS],
  autoscalers: [
    optional(inNamespaces('autoscaling/v2', 'HorizontalPodAutoscaler')),
    optional(inNamespaces('autoscaling.k8s.io/v1', 'VerticalPodAutoscaler')),
  ],
  webhooks: [{ resource: MUTATING_WEBHOOK_CONFIGURATIONS }],
  events: [{ resource: EVENTS, fieldSelector: 'involvedObject.kind=Service' }],
  routers: [...ROUTERS_BUT_PODS, ...agentPods()],
  ingresses: sourcesOf(ROUTE_KINDS.filter(([, kind]) => kind !== 'MutatingWebhookConfiguration')),
  clusterRoles: [optional(CLUSTER_ROLES), { resource: inNamespaces(RBAC, 'Role'), ...EVIDENCE }],
  clusterRoleBindings: [
    optional(inCluster(RBAC, 'ClusterRoleBinding')),
    { resource: inNamespaces(RBAC, 'RoleBinding'), ...EVIDENCE },
  ],
  flowPolicies: [optional(FLOW_POLICIES)],
  evacuations: [optional(ZONE_EVACUATIONS)],
};

/** What is read at first: Pods of data planes only once DaemonSets and Nodes show which of them are needed. */
export const FIRST_SOURCES: typeof SOURCES = { ...SOURCES, routers: ROUTERS_BUT_PODS };

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

const endOf = (pem: string): number[] => orElse(() => [Date.parse(new X509Certificate(pem).validTo)], []);

/** When the certificate of the bundle that is valid longest ends, milliseconds since the epoch; nothing without any. */
const validity = ({ caBundle = '' }: WebhookSummary): Pick<WebhookSummary, 'caNotAfter'> => {
  const ends = (Buffer.from(caBundle, 'base64').toString('latin1').match(CERTIFICATE) ?? []).flatMap(endOf);
  return ends.length === 0 ? {} : { caNotAfter: Math.max(...ends) };
};

export const withCertificates = (snapshot: ClusterSnapshot): ClusterSnapshot => ({
  ...snapshot,
  webhooks: changeItems(snapshot.webhooks, (items) => items.map((each) => ({ ...each, ...validity(each) }))),
});
