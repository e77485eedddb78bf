// Decides the settings of labelled Services in the namespace of a seed extension: the Seed's setting alone. Pure.
import type { Service } from '../../../apis/core.ts';
import { decideSeedExtensionRouting } from '../../../gardener/decide.ts';
import { heldByConfiguration } from '../../../gardener/extension/select.ts';
import type { Governing } from '../../../gardener/extension/types.ts';
import { decideObjects } from './objects.ts';
import type { SeedReading } from './shoot.ts';
import type { NamespaceDecision, RoutingContext } from '../types.ts';

export interface ExtensionSnapshot {
  readonly namespace: string;
  readonly seed: SeedReading;
  readonly services: readonly Service[];
  /** The Extension of class seed. */
  readonly governing?: Governing | undefined;
  readonly context: RoutingContext;
}

export const decideExtensionSettings = ({
  namespace,
  seed,
  services,
  governing,
  context,
}: ExtensionSnapshot): NamespaceDecision => {
  const decision = heldByConfiguration(decideSeedExtensionRouting(seed.seed), governing);
  return {
    owner: 'extension-settings',
    namespace,
    decision,
    regarding: { apiVersion: 'v1', kind: 'Namespace', name: namespace },
    source: seed.source,
    objects: decideObjects({ decision, scope: undefined, services, etcds: [], governing, context }),
  };
};
