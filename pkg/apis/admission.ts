// admission.k8s.io/v1 (requests and answers) and admissionregistration.k8s.io/v1 as far as this project uses them.
import type { KubernetesObject, ObjectMeta, StringMap } from './meta.ts';

export interface GroupVersionKind {
  /** Empty for core. */
  group: string;
  version: string;
  kind: string;
}

/** request of an AdmissionReview; `object` and `oldObject` are hostile until checked. */
export interface AdmissionRequest {
  uid: string;
  kind: GroupVersionKind;
  operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';
  name?: string;
  namespace?: string;
  userInfo?: { username?: string };
  object?: unknown;
  oldObject?: unknown;
}

/** One RFC 6902 operation; this project only ever adds, replaces and removes. */
export type JsonPatchOperation =
  { op: 'add' | 'replace'; path: string; value: unknown } | { op: 'remove'; path: string };

export interface LabelSelectorRequirement {
  key: string;
  operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  values?: string[];
}

export interface LabelSelector {
  matchLabels?: StringMap;
  matchExpressions?: LabelSelectorRequirement[];
}

export interface MutatingWebhook {
  name: string;
  clientConfig: {
    url?: string;
    service?: { namespace: string; name: string; path?: string; port?: number };
    caBundle?: string;
  };
  rules?: { apiGroups: string[]; apiVersions: string[]; resources: string[]; operations: string[]; scope?: string }[];
  failurePolicy?: 'Ignore' | 'Fail';
  matchPolicy?: 'Exact' | 'Equivalent';
  namespaceSelector?: LabelSelector;
  objectSelector?: LabelSelector;
  matchConditions?: { name: string; expression: string }[];
  sideEffects: 'None' | 'NoneOnDryRun';
  timeoutSeconds?: number;
  admissionReviewVersions: string[];
  reinvocationPolicy?: 'Never' | 'IfNeeded';
}

/** admissionregistration.k8s.io/v1 MutatingWebhookConfiguration. */
export interface MutatingWebhookConfiguration extends KubernetesObject {
  metadata: ObjectMeta;
  webhooks?: MutatingWebhook[];
}
