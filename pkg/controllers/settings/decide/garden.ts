// Decides the settings of the garden namespace, and of runtime extensions, from the Garden. Pure.
import type { Service } from '../../../apis/core.ts';
import { defined } from '../../../apis/defined.ts';
import type { Etcd, Garden } from '../../../apis/gardener.ts';
import { GARDENS, apiVersionOf } from '../../../apis/resources.ts';
import { decideGardenRouting } from '../../../gardener/decide.ts';
import { heldByConfiguration } from '../../../gardener/extension/select.ts';
import type { Governing } from '../../../gardener/extension/types.ts';
import { layerSevenOf } from '../../../gardener/layer-seven.ts';
import type { GardenerInformation } from '../../../gardener/layer-seven.ts';
import { decideObjects } from './objects.ts';
import type { NamespaceDecision, RoutingContext } from '../types.ts';

export interface GardenSnapshot {
  readonly namespace: string;
  /** True for the garden namespace itself: its catalogue applies. False in namespaces of extensions. */
  readonly components: boolean;
  readonly garden: Garden | undefined;
  readonly services: readonly Service[];
  readonly etcds: readonly Etcd[];
  readonly gardener: GardenerInformation;
  /** The Extension of class garden. */
  readonly governing?: Governing | undefined;
  readonly context: RoutingContext;
}

export const decideGardenSettings = (snapshot: GardenSnapshot): NamespaceDecision => {
  const { namespace, components, garden, services, etcds, gardener, governing, context } = snapshot;
  const decision = heldByConfiguration(decideGardenRouting(garden), governing);
  const { name, uid } = garden?.metadata ?? {};
  return {
    owner: 'garden-settings',
    namespace,
    scope: components ? 'garden' : undefined,
    decision,
    regarding:
      components && name !== undefined
        ? { apiVersion: apiVersionOf(GARDENS), kind: GARDENS.kind, name, ...defined({ uid }) }
        : { apiVersion: 'v1', kind: 'Namespace', name: namespace },
    source: garden === undefined ? 'none' : 'Garden',
    objects: decideObjects({
      decision,
      scope: components ? 'garden' : undefined,
      services,
      etcds,
      layerSevenOf: layerSevenOf(services, gardener),
      governing,
      context,
    }),
  };
};
