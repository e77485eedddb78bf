// SPDX-License-Identifier: Apache-2.0
// The hints' admission policies as manifests, for clusters that shall run without the webhook.
import { stringify } from 'yaml';
import { COMMANDS } from '../../pkg/apis/names.ts';
import { buildHintPolicies } from '../../pkg/hints/policy/index.ts';
import { excludedNamespacesOf } from '../../pkg/webhook/registration.ts';
import type { Generator } from './types.ts';

/** Where the examples install everything. */
const NAMESPACE = 'topology-aware-routing';

const manifest = (object: unknown): string =>
  stringify(object, { lineWidth: 0, aliasDuplicateObjects: false, singleQuote: true });

/** Parameter object, policies and bindings. Nobody plans until the flow controller is installed: the planner is not alive. */
export const hintPolicies: Generator = {
  path: 'example/policies/hints.yaml',
  render: () => {
    const { policies, bindings, parameters } = buildHintPolicies({
      excludedNamespaces: excludedNamespacesOf(NAMESPACE, { included: [], excluded: [] }),
      parameters: { namespace: NAMESPACE, name: 'endpoint-slice-hints' },
      flowControllerUsers: [`system:serviceaccount:${NAMESPACE}:${COMMANDS.flowController}`],
      plannerAlive: false,
    });
    return [parameters, ...policies, ...bindings].map(manifest).join('---\n');
  },
};
