// Which REST resource each kind is served as.
import type { GroupVersionKind } from './admission.ts';
import type { KubernetesObject } from './meta.ts';
import { GROUP } from './names.ts';
import { defined, scopedRefOf } from './values.ts';

/** A REST resource: everything needed to build its URL. */
export interface Resource extends Readonly<GroupVersionKind> {
  /** Plural, lower-case name in URLs. */
  readonly plural: string;
  readonly namespaced: boolean;
}

/** As kinds are served, unless they say otherwise: `services`, `ingresses`, `flowpolicies`, `gateways`. */
const pluralOf = (kind: string): string =>
  `${kind
    .toLowerCase()
    .replace(/(?<![aeiou])y$/, 'ie')
    .replace(/(defaults|params)$/, (word) => word.slice(0, -1))
    .replace(/s$/, 'se')}s`;

export const resource = (
  group: string,
  version: string,
  kind: string,
  namespaced: boolean,
  plural = pluralOf(kind),
): Resource => ({ group, version, kind, plural, namespaced });

export const SERVICES = resource('', 'v1', 'Service', true);
export const NAMESPACES = resource('', 'v1', 'Namespace', false);
export const NODES = resource('', 'v1', 'Node', false);
export const PODS = resource('', 'v1', 'Pod', true);
/** Subresource `token` of a ServiceAccount: what is created is a TokenRequest. */
export const tokenOf = (account: string): Resource =>
  resource('', 'v1', 'TokenRequest', true, `serviceaccounts/${account}/token`);
export const SECRETS = resource('', 'v1', 'Secret', true);
export const EVENTS = resource('', 'v1', 'Event', true);
export const CONFIG_MAPS = resource('', 'v1', 'ConfigMap', true);
export const LEASES = resource('coordination.k8s.io', 'v1', 'Lease', true);
export const ENDPOINT_SLICES = resource('discovery.k8s.io', 'v1', 'EndpointSlice', true);
export const MUTATING_WEBHOOK_CONFIGURATIONS = resource(
  'admissionregistration.k8s.io',
  'v1',
  'MutatingWebhookConfiguration',
  false,
);
export const SEEDS = resource('core.gardener.cloud', 'v1beta1', 'Seed', false);
export const GARDENS = resource('operator.gardener.cloud', 'v1alpha1', 'Garden', false);
export const CLUSTERS = resource('extensions.gardener.cloud', 'v1alpha1', 'Cluster', false);
export const EXTENSIONS = resource('extensions.gardener.cloud', 'v1alpha1', 'Extension', true);
export const ETCDS = resource('druid.gardener.cloud', 'v1alpha1', 'Etcd', true);

export const FLOW_POLICIES = resource(GROUP, 'v1alpha1', 'FlowPolicy', true);
export const ZONE_EVACUATIONS = resource(GROUP, 'v1alpha1', 'ZoneEvacuation', false);

export const NODE_GROUPS = resource('apps.kubeedge.io', 'v1alpha1', 'NodeGroup', false);
export const PERSISTENT_VOLUMES = resource('', 'v1', 'PersistentVolume', false);
export const CLUSTER_ROLES = resource('rbac.authorization.k8s.io', 'v1', 'ClusterRole', false);
export const DEPLOYMENTS = resource('apps', 'v1', 'Deployment', true);
export const TOKEN_REVIEWS = resource('authentication.k8s.io', 'v1', 'TokenReview', false);
export const SUBJECT_ACCESS_REVIEWS = resource('authorization.k8s.io', 'v1', 'SubjectAccessReview', false);
export const DAEMON_SETS = resource('apps', 'v1', 'DaemonSet', true);

export const apiVersionOf = ({ group, version }: Resource): string => (group === '' ? version : `${group}/${version}`);

/** The object that an event is about. */
export const regardingOf = (type: Resource, object: KubernetesObject) => ({
  apiVersion: apiVersionOf(type),
  kind: type.kind,
  ...scopedRefOf(object),
  ...defined({ uid: object.metadata?.uid }),
});
