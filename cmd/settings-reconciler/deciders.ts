// SPDX-License-Identifier: Apache-2.0
// One decider for each owner that the modes in use bring; dry run and reconcilers share them.
import type { SettingsReconcilerConfiguration } from '../../pkg/apis/config/settings-reconciler.ts';
import type { ExtensionClass } from '../../pkg/apis/extension.ts';
import { createClusterDecider } from '../../pkg/controllers/cluster-settings/decider.ts';
import { governingOf } from '../../pkg/controllers/extension/homes.ts';
import { createExtensionDecider } from '../../pkg/controllers/extension-settings/decider.ts';
import { createGardenDecider } from '../../pkg/controllers/garden-settings/decider.ts';
import type { Landscape } from '../../pkg/controllers/settings/landscape.ts';
import { ownerOf } from '../../pkg/controllers/settings/ownership.ts';
import type { Owner } from '../../pkg/controllers/settings/ownership.ts';
import type { Decider } from '../../pkg/controllers/settings/types.ts';
import type { View } from '../../pkg/controllers/settings/view.ts';
import { createShootDecider } from '../../pkg/controllers/shoot-settings/decider.ts';

const nobody: Decider = () => undefined;

/** Decides a namespace by the one owner that it has at this moment; undefined where it has none. */
export const createDecider = (
  landscape: Landscape,
  view: View,
  config: Pick<SettingsReconcilerConfiguration, 'modes' | 'excludedNamespaces'>,
): Decider => {
  const { modes } = config;
  const { seed, garden, cluster } = modes;
  const governing = (extensionClass: ExtensionClass) => (namespace: string) =>
    governingOf(landscape, extensionClass, namespace, modes);
  const deciders: Record<Owner, Decider> = {
    'shoot-settings': seed === undefined ? nobody : createShootDecider(landscape, view, seed, governing('shoot')),
    'extension-settings':
      seed === undefined ? nobody : createExtensionDecider(landscape, view, seed, governing('seed')),
    'garden-settings':
      garden === undefined ? nobody : createGardenDecider(landscape, view, garden, governing('garden')),
    'cluster-settings': cluster === undefined ? nobody : createClusterDecider(landscape, view),
  };
  return (name) => {
    const namespace = view.namespace(name);
    const owner = namespace === undefined ? undefined : ownerOf(namespace, config);
    return owner === undefined ? undefined : deciders[owner](name);
  };
};
