// SPDX-License-Identifier: Apache-2.0
// docs/usage/extension-resource.md: every field of RoutingConfig, from the schema that validates it.
import { renderFields } from '../../pkg/apis/config/reference.ts';
import { ROUTING_CONFIG } from '../../pkg/apis/routing-config-kind.ts';
import type { Generator } from './types.ts';

export const routingConfig: Generator = {
  path: 'docs/usage/extension-resource.md',
  section: 'routing-config',
  render: () => renderFields(ROUTING_CONFIG.schema),
};
