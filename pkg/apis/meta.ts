// The parts of Kubernetes' meta/v1 that this project reads or writes, as plain JSON shapes (unknown fields are kept).

/** String map of labels or annotations. */
export type StringMap = Record<string, string>;

/** metadata.ownerReferences[] of meta/v1. */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/** metadata of meta/v1; timestamps stay RFC 3339 strings as the server sent them. */
export interface ObjectMeta {
  name?: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: StringMap;
  annotations?: StringMap;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
  managedFields?: unknown[];
}

/** Any object of the Kubernetes API as raw JSON. */
export interface KubernetesObject {
  apiVersion?: string;
  kind?: string;
  metadata?: ObjectMeta;
}

/** One page of a list request; `continue` is the token of the next one. */
export interface ObjectList<T extends KubernetesObject> {
  metadata: { resourceVersion?: string; continue?: string };
  items: T[];
}

/** meta/v1 Condition. */
export interface Condition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
  lastUpdateTime?: string;
}

/** meta/v1 Status: how the API server says no. */
export interface Status {
  apiVersion?: 'v1';
  kind?: 'Status';
  status?: 'Success' | 'Failure';
  message?: string;
  reason?: string;
  code?: number;
  details?: { name?: string; group?: string; kind?: string; retryAfterSeconds?: number; causes?: unknown[] };
}

/** Names one object of a known resource; cluster-scoped objects have no namespace. */
export interface ObjectRef {
  namespace?: string;
  name: string;
}
