// Gardener's Extension resource (extensions.gardener.cloud/v1alpha1), as far as an extension reads and writes it.
import type { Condition, KubernetesObject } from './meta.ts';

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
export interface LastError {
  description: string;
  /** Of Gardener's list, for example `ERR_CONFIGURATION_PROBLEM`: the user's to fix, not retried by itself. */
  codes?: string[];
  lastUpdateTime?: string;
}

/** Conditions of Gardener carry both times, and codes. */
export interface ExtensionCondition extends Condition {
  codes?: string[];
}

export interface ExtensionStatus {
  lastOperation?: LastOperation;
  lastError?: LastError | null;
  observedGeneration?: number;
  conditions?: ExtensionCondition[];
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
