// SPDX-License-Identifier: Apache-2.0
// MutatingAdmissionPolicy and what belongs to it (admissionregistration.k8s.io/v1), as far as this project uses them.
import type { LabelSelector } from '../../apis/admission.ts';
import type { ObjectMeta } from '../../apis/meta.ts';
import type { HintStrategy } from '../types.ts';

/** A CEL expression with the name under which the API server reports it, or other expressions read it. */
export interface NamedExpression {
  readonly name: string;
  readonly expression: string;
}

export interface MutatingAdmissionPolicySpec {
  readonly matchConstraints: {
    readonly matchPolicy: 'Equivalent';
    readonly namespaceSelector: LabelSelector;
    readonly objectSelector: LabelSelector;
    readonly resourceRules: readonly {
      readonly apiGroups: readonly string[];
      readonly apiVersions: readonly string[];
      readonly operations: readonly string[];
      readonly resources: readonly string[];
      readonly scope: 'Namespaced';
    }[];
  };
  readonly matchConditions: readonly NamedExpression[];
  readonly variables?: readonly NamedExpression[];
  readonly mutations: readonly {
    readonly patchType: 'JSONPatch';
    readonly jsonPatch: { readonly expression: string };
  }[];
  readonly failurePolicy: 'Ignore';
  readonly reinvocationPolicy: 'Never';
}

export interface MutatingAdmissionPolicy {
  readonly apiVersion: 'admissionregistration.k8s.io/v1';
  readonly kind: 'MutatingAdmissionPolicy';
  readonly metadata: ObjectMeta & { readonly name: string };
  readonly spec: MutatingAdmissionPolicySpec;
}

export interface MutatingAdmissionPolicyBinding {
  readonly apiVersion: 'admissionregistration.k8s.io/v1';
  readonly kind: 'MutatingAdmissionPolicyBinding';
  readonly metadata: ObjectMeta & { readonly name: string };
  readonly spec: {
    readonly policyName: string;
  };
}

/** One policy with its binding, before it has a name of its own. */
export interface PolicyRow {
  readonly name: string;
  readonly matches: Omit<MutatingAdmissionPolicySpec['matchConstraints'], 'matchPolicy'>;
  readonly matchConditions: readonly NamedExpression[];
  readonly variables: readonly NamedExpression[];
  /** CEL: a list of JSONPatch. */
  readonly patch: string;
}

/** The admission backend: what writes hints and preserves settings. */
export type Carrier = 'policy' | 'webhook';

/** Says which admission backend is active. */
export interface CarrierObject {
  readonly apiVersion: 'v1';
  readonly kind: 'ConfigMap';
  readonly metadata: ObjectMeta & { readonly name: string; readonly namespace: string };
  /** Only `policy` makes the webhook withdraw its entries. */
  readonly data: { readonly carrier: Carrier };
}

/** All that admission needs without a webhook. */
export interface AdmissionPolicies {
  readonly policies: readonly MutatingAdmissionPolicy[];
  readonly bindings: readonly MutatingAdmissionPolicyBinding[];
}

export interface AdmissionPoliciesOptions {
  /** Begins the name of every policy; distinguishes two installations in one cluster. */
  readonly name: string;
  /** Never served, as for the webhook: our own namespace, kube-system and default unless included, and what was excluded. */
  readonly excludedNamespaces: readonly string[];
  /** Users whose planned hints pass untouched. */
  readonly flowControllerUsers: readonly string[];
  /** False once the flow controller's Lease is older than 10 minutes. */
  readonly plannerAlive: boolean;
  /** The user whose writes of settings are never changed. */
  readonly settingsReconcilerUser: string;
  /** Whether dropped settings are restored, in namespaces labelled for it. */
  readonly keepSettings: boolean;
  /** Value of the namespace label by which settings are kept. Default `true`. */
  readonly routingLabel?: string;
  /** Rows to build policies of hints for. Default: the whole table. */
  readonly strategies?: readonly HintStrategy[];
}
