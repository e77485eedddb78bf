// The parts of Gardener's and etcd-druid's resources that this project reads or writes.
import type { Condition, KubernetesObject, StringMap } from './meta.ts';

/** settings.topologyAwareRouting of a Seed (`spec.settings`) and a Garden (`spec.runtimeCluster.settings`). */
export interface TopologyAwareRoutingSettings {
  topologyAwareRouting?: { enabled?: boolean };
}

/** core.gardener.cloud/v1beta1 Seed (virtual garden). */
export interface Seed extends KubernetesObject {
  spec?: {
    provider?: { type?: string; region?: string; zones?: string[] };
    settings?: TopologyAwareRoutingSettings;
    [field: string]: unknown;
  };
  status?: { kubernetesVersion?: string; clusterIdentity?: string; [field: string]: unknown };
}

/** operator.gardener.cloud/v1alpha1 Garden (garden runtime cluster). */
export interface Garden extends KubernetesObject {
  spec?: {
    runtimeCluster?: {
      provider?: { region?: string; zones?: string[] };
      settings?: TopologyAwareRoutingSettings;
      [field: string]: unknown;
    };
    virtualCluster?: { controlPlane?: { highAvailability?: object }; [field: string]: unknown };
    [field: string]: unknown;
  };
  status?: unknown;
}

/** core.gardener.cloud/v1beta1 Shoot (virtual garden; a copy stands in Cluster). */
export interface Shoot extends KubernetesObject {
  spec?: {
    seedName?: string;
    controlPlane?: { highAvailability?: { failureTolerance?: { type?: string } } };
    provider?: { type?: string; workers?: { name?: string; controlPlane?: object; [field: string]: unknown }[] };
    hibernation?: { enabled?: boolean };
    [field: string]: unknown;
  };
  status?: {
    technicalID?: string;
    hibernated?: boolean;
    seedName?: string;
    observedGeneration?: number;
    lastOperation?: { type?: string; state?: string };
    [field: string]: unknown;
  };
}

/** extensions.gardener.cloud/v1alpha1 Cluster (seed; named like the shoot namespace). */
export interface Cluster extends KubernetesObject {
  spec?: { seed?: Seed; shoot?: Shoot; cloudProfile?: unknown };
}

/** druid.gardener.cloud/v1alpha1 Etcd. */
export interface Etcd extends KubernetesObject {
  spec?: {
    etcd?: {
      clientService?: { labels?: StringMap; annotations?: StringMap; trafficDistribution?: string };
      [field: string]: unknown;
    };
    [field: string]: unknown;
  };
  status?: { observedGeneration?: number; [field: string]: unknown };
}

/** Whose Extension it is; unset means `shoot`. */
export const EXTENSION_CLASSES = ['shoot', 'seed', 'garden'] as const;
export type ExtensionClass = (typeof EXTENSION_CLASSES)[number];

export type OperationType = 'Create' | 'Reconcile' | 'Delete' | 'Migrate' | 'Restore';

/** What is being done, or was done last. */
export interface LastOperation {
  type: OperationType;
  /** Gardener waits for `Succeeded`. */
  state: 'Processing' | 'Succeeded' | 'Error' | 'Failed' | 'Aborted' | 'Pending';
  /** Percent. */
  progress: number;
  description: string;
  /** RFC 3339, whole seconds as metav1.Time is written. */
  lastUpdateTime: string;
}

/** Why the last operation failed; while it is there, Gardener takes the Extension for unhealthy. */
interface LastError {
  description: string;
  /** Of Gardener's list, for example `ERR_CONFIGURATION_PROBLEM`: the user's to fix, not retried by itself. */
  codes?: string[];
}

export interface ExtensionStatus {
  lastOperation?: LastOperation;
  lastError?: LastError | null;
  observedGeneration?: number;
  conditions?: Condition[];
}

export interface Extension extends KubernetesObject {
  spec?: {
    type?: string;
    class?: string;
    /** Copied by Gardener from Shoot, Seed or Garden: untrusted content. */
    providerConfig?: unknown;
  };
  status?: ExtensionStatus;
}
