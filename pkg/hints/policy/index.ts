// SPDX-License-Identifier: Apache-2.0
// The table of strategies as admission policies, for whoever installs or prints them.
export { buildHintPolicies, buildPolicyParameters } from './build.ts';
export type { HintPolicies, HintPoliciesOptions } from './types.ts';
