// SPDX-License-Identifier: Apache-2.0
// The admission policies as manifests, for clusters that should run without the webhook.
import { stringify } from 'yaml';
import { COMMANDS, EXTENSION_NAME } from '../../pkg/apis/names.ts';
import { buildAdmissionPolicies } from '../../pkg/hints/policy/index.ts';
import { excludedNamespacesOf } from '../../pkg/hints/served-namespaces.ts';
import type { Generator } from './types.ts';

/** Where the examples install everything. */
const NAMESPACE = 'topology-aware-routing';

const manifest = (object: unknown): string =>
  stringify(object, { lineWidth: 0, aliasDuplicateObjects: false, singleQuote: true });

const userOf = (command: string): string => `system:serviceaccount:${NAMESPACE}:${command}`;

/**
 * Policies and bindings. There are no plans until the flow controller is installed: the planner is not alive.
 * No settings are recorded without the settings reconciler, which installs the policies by itself: none are kept.
 */
export const admissionPolicies: Generator = {
  path: 'example/policies/hints.yaml',
  render: () => {
    const { policies, bindings } = buildAdmissionPolicies({
      name: EXTENSION_NAME,
      excludedNamespaces: excludedNamespacesOf(NAMESPACE, { included: [], excluded: [] }),
      flowControllerUsers: [userOf(COMMANDS.flowController)],
      plannerAlive: false,
      settingsReconcilerUser: userOf(COMMANDS.settingsReconciler),
      keepSettings: false,
    });
    return [...policies, ...bindings].map(manifest).join('---\n');
  },
};
