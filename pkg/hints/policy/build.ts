// SPDX-License-Identifier: Apache-2.0
// Builds the MutatingAdmissionPolicies that do what admission does where no webhook should run.
import { EXTENSION_NAME } from '../../apis/names.ts';
import { hintRows } from './hints.ts';
import { settingsRow } from './settings.ts';
import type {
  AdmissionPolicies,
  AdmissionPoliciesOptions,
  Carrier,
  CarrierObject,
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  PolicyRow,
} from './types.ts';

const API_VERSION = 'admissionregistration.k8s.io/v1';
const labels = { 'app.kubernetes.io/name': EXTENSION_NAME };

/** Name of the object that names the admission backend. */
export const CARRIER_NAME = 'admission-carrier';

const policyNameOf = ({ name }: Pick<AdmissionPoliciesOptions, 'name'>, row: PolicyRow): string =>
  `${name}.${row.name}`;

const policyOf = (row: PolicyRow, options: AdmissionPoliciesOptions): MutatingAdmissionPolicy => ({
  apiVersion: API_VERSION,
  kind: 'MutatingAdmissionPolicy',
  metadata: { name: policyNameOf(options, row), labels },
  spec: {
    failurePolicy: 'Ignore',
    reinvocationPolicy: 'Never',
    matchConstraints: { matchPolicy: 'Equivalent', ...row.matches },
    matchConditions: row.matchConditions,
    ...(row.variables.length > 0 ? { variables: row.variables } : {}),
    mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression: row.patch } }],
  },
});

const bindingOf = (row: PolicyRow, options: AdmissionPoliciesOptions): MutatingAdmissionPolicyBinding => ({
  apiVersion: API_VERSION,
  kind: 'MutatingAdmissionPolicyBinding',
  metadata: { name: policyNameOf(options, row), labels },
  spec: { policyName: policyNameOf(options, row) },
});

/** Where it is written down which admission backend is active: the one who decides it writes it, and the webhook follows. */
export const buildCarrierObject = (namespace: string, carrier: Carrier): CarrierObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: CARRIER_NAME, namespace, labels },
  data: { carrier },
});

const rowsOf = (options: AdmissionPoliciesOptions): PolicyRow[] => [
  ...hintRows(options),
  ...(options.keepSettings ? [settingsRow(options)] : []),
];

/**
 * One policy and one binding for each strategy of hints, for what is chosen by namespace and name, and for kept settings. What a policy cannot
 * see (users, whether the planner lives) is part of its text. Needs MutatingAdmissionPolicy v1 (Kubernetes 1.36), whose
 * slices always know `forNodes`.
 */
export const buildAdmissionPolicies = (options: AdmissionPoliciesOptions): AdmissionPolicies => {
  const rows = rowsOf(options);
  return {
    policies: rows.map((row) => policyOf(row, options)),
    bindings: rows.map((row) => bindingOf(row, options)),
  };
};
