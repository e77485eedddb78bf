// SPDX-License-Identifier: Apache-2.0
// docs/reference/configuration.md: every field of the configuration files, from the schemas that validate them.
import { ENDPOINTSLICE_WEBHOOK_CONFIGURATION } from '../../pkg/apis/config/endpointslice-webhook.ts';
import { FLOW_CONTROLLER_CONFIGURATION } from '../../pkg/apis/config/flow-controller.ts';
import { renderConfigurationReference } from '../../pkg/apis/config/reference.ts';
import { SETTINGS_RECONCILER_CONFIGURATION } from '../../pkg/apis/config/settings-reconciler.ts';
import type { Generator } from './types.ts';

export const configuration: Generator = {
  path: 'docs/reference/configuration.md',
  render: () =>
    renderConfigurationReference([
      SETTINGS_RECONCILER_CONFIGURATION,
      ENDPOINTSLICE_WEBHOOK_CONFIGURATION,
      FLOW_CONTROLLER_CONFIGURATION,
    ]),
};
