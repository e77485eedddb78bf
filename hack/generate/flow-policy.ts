// SPDX-License-Identifier: Apache-2.0
// The CustomResourceDefinition of FlowPolicy, for the chart and for clusters without it.
import { stringify } from 'yaml';
import { flowPolicyDefinition } from '../../pkg/apis/flow-policy-crd.ts';
import type { Generator } from './types.ts';

const render = (): string =>
  stringify(flowPolicyDefinition(), { lineWidth: 0, aliasDuplicateObjects: false, singleQuote: true });

export const flowPolicyChart: Generator = {
  path: 'charts/gardener-extension-topology-aware-routing/crds/flowpolicies.yaml',
  render,
};

export const flowPolicyExample: Generator = { path: 'example/flow/crd.yaml', render };
