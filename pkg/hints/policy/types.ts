// SPDX-License-Identifier: Apache-2.0
// MutatingAdmissionPolicy and what belongs to it (admissionregistration.k8s.io/v1), as far as the hints use them.
import type { LabelSelector } from '../../apis/admission.ts';
import type { ObjectMeta } from '../../apis/meta.ts';
import type { HintStrategy } from '../types.ts';

/** A CEL expression with the name under which the API server reports it, or other expressions read it. */
export interface NamedExpression {
  readonly name: string;
  readonly expression: string;
}

export interface MutatingAdmissionPolicySpec {
  readonly paramKind?: { readonly apiVersion: string; readonly kind: string };
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
    readonly paramRef?: {
      readonly name: string;
      readonly namespace: string;
      /** `Allow`: without the object the policy changes nothing. `Deny` would refuse every write of a slice. */
      readonly parameterNotFoundAction: 'Allow';
    };
  };
}

/** The parameter object: what a policy cannot see by itself. */
export interface PolicyParameters {
  readonly apiVersion: 'v1';
  readonly kind: 'ConfigMap';
  readonly metadata: ObjectMeta & { readonly name: string; readonly namespace: string };
  readonly data: {
    /** `true` or `false`; only `false` is the dead man's switch. */
    readonly plannerAlive: string;
    /** One user name a line. */
    readonly flowControllerUsers: string;
  };
}

/** Everything that carries the table of strategies without a webhook. */
export interface HintPolicies {
  readonly policies: readonly MutatingAdmissionPolicy[];
  readonly bindings: readonly MutatingAdmissionPolicyBinding[];
  readonly parameters: PolicyParameters;
}

export interface HintPoliciesOptions {
  /** Never served, as for the webhook: our own namespace, kube-system and default unless included, and what was excluded. */
  readonly excludedNamespaces: readonly string[];
  /** Where the parameter object lives. */
  readonly parameters: { readonly namespace: string; readonly name: string };
  /** Users whose planned hints pass untouched. */
  readonly flowControllerUsers: readonly string[];
  /** False once the flow controller's Lease is older than 10 minutes. */
  readonly plannerAlive: boolean;
  /** Rows to build policies for. Default: the whole table. */
  readonly strategies?: readonly HintStrategy[];
}
