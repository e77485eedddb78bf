// What importers need of the API packages: names of labels and annotations, and the types that the helpers take.
export {
  ANNOTATION_APPLIED,
  ANNOTATION_TOPOLOGY_AWARE_HINTS,
  ANNOTATION_TOPOLOGY_MODE,
  GROUP,
  LABEL_CONSIDER,
  LABEL_MANAGED,
  LABEL_STRATEGY,
  STRATEGIES,
} from './names.ts';
export type { Strategy } from './names.ts';
export type { KubernetesObject, ObjectMeta, StringMap } from './meta.ts';
export type { Namespace, Service } from './core.ts';
export type { Cluster, Etcd, Garden, Seed, Shoot, TopologyAwareRoutingSettings } from './gardener.ts';
