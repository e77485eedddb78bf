// Which REST resource each kind is served as.
import type { KubernetesObject } from './meta.ts';
import { GROUP } from './names.ts';
import { defined, scopedRefOf } from './values.ts';

/** A REST resource: everything needed to build its URL. */
export interface Resource {
  /** API group; empty for core. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Plural, lower-case name in URLs. */
  readonly plural: string;
  readonly namespaced: boolean;
}

export const resource = (
  group: string,
  version: string,
  kind: string,
  plural: string,
  namespaced: boolean,
): Resource => ({ group, version, kind, plural, namespaced });

export const SERVICES = resource('', 'v1', 'Service', 'services', true);
export const NAMESPACES = resource('', 'v1', 'Namespace', 'namespaces', false);
export const NODES = resource('', 'v1', 'Node', 'nodes', false);
export const PODS = resource('', 'v1', 'Pod', 'pods', true);
/** Subresource `token` of a ServiceAccount: what is created is a TokenRequest. */
export const tokenOf = (account: string): Resource =>
  resource('', 'v1', 'TokenRequest', `serviceaccounts/${account}/token`, true);
export const SECRETS = resource('', 'v1', 'Secret', 'secrets', true);
export const EVENTS = resource('', 'v1', 'Event', 'events', true);
export const CONFIG_MAPS = resource('', 'v1', 'ConfigMap', 'configmaps', true);
export const LEASES = resource('coordination.k8s.io', 'v1', 'Lease', 'leases', true);
export const ENDPOINT_SLICES = resource('discovery.k8s.io', 'v1', 'EndpointSlice', 'endpointslices', true);
export const CUSTOM_RESOURCE_DEFINITIONS = resource(
  'apiextensions.k8s.io',
  'v1',
  'CustomResourceDefinition',
  'customresourcedefinitions',
  false,
);
export const MUTATING_WEBHOOK_CONFIGURATIONS = resource(
  'admissionregistration.k8s.io',
  'v1',
  'MutatingWebhookConfiguration',
  'mutatingwebhookconfigurations',
  false,
);
export const SEEDS = resource('core.gardener.cloud', 'v1beta1', 'Seed', 'seeds', false);
export const SHOOTS = resource('core.gardener.cloud', 'v1beta1', 'Shoot', 'shoots', true);
export const GARDENS = resource('operator.gardener.cloud', 'v1alpha1', 'Garden', 'gardens', false);
export const CLUSTERS = resource('extensions.gardener.cloud', 'v1alpha1', 'Cluster', 'clusters', false);
export const EXTENSIONS = resource('extensions.gardener.cloud', 'v1alpha1', 'Extension', 'extensions', true);
export const ETCDS = resource('druid.gardener.cloud', 'v1alpha1', 'Etcd', 'etcds', true);

export const FLOW_POLICIES = resource(GROUP, 'v1alpha1', 'FlowPolicy', 'flowpolicies', true);
export const ZONE_EVACUATIONS = resource(GROUP, 'v1alpha1', 'ZoneEvacuation', 'zoneevacuations', false);

export const NODE_GROUPS = resource('apps.kubeedge.io', 'v1alpha1', 'NodeGroup', 'nodegroups', false);
export const PERSISTENT_VOLUMES = resource('', 'v1', 'PersistentVolume', 'persistentvolumes', false);
export const CLUSTER_ROLES = resource('rbac.authorization.k8s.io', 'v1', 'ClusterRole', 'clusterroles', false);
export const DEPLOYMENTS = resource('apps', 'v1', 'Deployment', 'deployments', true);
export const TOKEN_REVIEWS = resource('authentication.k8s.io', 'v1', 'TokenReview', 'tokenreviews', false);
export const SUBJECT_ACCESS_REVIEWS = resource(
  'authorization.k8s.io',
  'v1',
  'SubjectAccessReview',
  'subjectaccessreviews',
  false,
);
export const DAEMON_SETS = resource('apps', 'v1', 'DaemonSet', 'daemonsets', true);

/** apiVersion of a resource as objects carry it. */
export const apiVersionOf = ({ group, version }: Resource): string => (group === '' ? version : `${group}/${version}`);

/** The object that an event is about. */
export const regardingOf = (type: Resource, object: KubernetesObject) => ({
  apiVersion: apiVersionOf(type),
  kind: type.kind,
  ...scopedRefOf(object),
  ...defined({ uid: object.metadata?.uid }),
});
