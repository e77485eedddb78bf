// SPDX-License-Identifier: Apache-2.0
// What every way of running the settings-reconciler shares.
import type { SettingsReconcilerConfiguration } from '../../pkg/apis/config/settings-reconciler.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import type { ControllerSession } from '../shared/session.ts';

export interface Session extends ControllerSession<SettingsReconcilerConfiguration> {
  /** Of the virtual garden, if its kubeconfig is given; reads only. */
  gardenClient: Client | undefined;
}
