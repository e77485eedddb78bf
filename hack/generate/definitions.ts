// The CustomResourceDefinitions, for the chart and for clusters without it.
import { stringify } from 'yaml';
import { flowPolicyDefinition, zoneEvacuationDefinition } from '../lib/crd.ts';
import type { Generator } from './types.ts';

const plain = (definition: object): string =>
  stringify(definition, { lineWidth: 0, aliasDuplicateObjects: false, singleQuote: true });

/**
 * Gardener's chart renderer reads `templates/` and never `crds/` (pkg/chartrenderer), and helm never updates what is in `crds/`. Who
 * removes the release keeps the definition, or all objects of the kind would go with it: helm and the resource manager each by its own word.
 */
const KEEP = { 'helm.sh/resource-policy': 'keep', 'resources.gardener.cloud/keep-object': 'true' };

/** The definition as a template of the chart, as part of `component`, where `condition` holds. */
const template = (
  definition: ReturnType<typeof flowPolicyDefinition>,
  component: string,
  condition: string,
): string => {
  const { metadata, ...rest } = definition;
  const text = plain({ ...rest, metadata: { ...metadata, annotations: KEEP } });
  if (text.includes('{{')) throw new Error(`${metadata.name} holds what helm takes for a template`);
  const labels = `  labels:\n    {{- include "tar.labels" (dict "root" . "component" "${component}") | nindent 4 }}\n`;
  return `{{- if and ${condition} }}\n${text.replace(/^metadata:\n/m, `metadata:\n${labels}`)}{{- end }}\n`;
};

const CHART = 'charts/gardener-extension-topology-aware-routing/templates';

export const definitions: readonly Generator[] = [
  {
    path: `${CHART}/flow-controller/flowpolicies.yaml`,
    render: () =>
      template(
        flowPolicyDefinition(),
        'flow-controller',
        '.Values.flowController.enabled .Values.flowController.definition',
      ),
  },
  { path: 'example/flow/crd.yaml', render: () => plain(flowPolicyDefinition()) },
  {
    path: `${CHART}/evacuation/zoneevacuations.yaml`,
    render: () =>
      template(
        zoneEvacuationDefinition(),
        'settings-reconciler',
        '.Values.settingsReconciler.enabled .Values.evacuation.definition',
      ),
  },
  { path: 'example/evacuation/crd.yaml', render: () => plain(zoneEvacuationDefinition()) },
];
