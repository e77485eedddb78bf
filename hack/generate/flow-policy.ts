// SPDX-License-Identifier: Apache-2.0
// The CustomResourceDefinition of FlowPolicy, for the chart and for clusters without it.
import { stringify } from 'yaml';
import { flowPolicyDefinition } from '../../pkg/apis/flow-policy-crd.ts';
import type { Generator } from './types.ts';

const render = (): string =>
  stringify(flowPolicyDefinition(), { lineWidth: 0, aliasDuplicateObjects: false, singleQuote: true });

/**
 * Gardener's chart renderer reads `templates/` and never `crds/` (pkg/chartrenderer), and helm never updates what is in `crds/`. Who
 * removes the release keeps the definition, or all FlowPolicies would go with it: helm and the resource manager each by its own word.
 */
const KEEP = { 'helm.sh/resource-policy': 'keep', 'resources.gardener.cloud/keep-object': 'true' };

/** As on every object of the component. */
const LABELS = '  labels:\n    {{- include "tar.labels" (dict "root" . "component" "flow-controller") | nindent 4 }}\n';

const renderTemplate = (): string => {
  const { metadata, ...definition } = flowPolicyDefinition();
  const kept = { ...definition, metadata: { ...metadata, annotations: { ...metadata?.annotations, ...KEEP } } };
  const plain = stringify(kept, { lineWidth: 0, aliasDuplicateObjects: false, singleQuote: true });
  if (plain.includes('{{')) throw new Error('the definition of FlowPolicies holds what helm takes for a template');
  const text = plain.replace(/^metadata:\n/m, `metadata:\n${LABELS}`);
  return `{{- if and .Values.flowController.enabled .Values.flowController.definition }}\n${text}{{- end }}\n`;
};

export const flowPolicyChart: Generator = {
  path: 'charts/gardener-extension-topology-aware-routing/templates/flow-controller/flowpolicies.yaml',
  render: renderTemplate,
};

export const flowPolicyExample: Generator = { path: 'example/flow/crd.yaml', render };
