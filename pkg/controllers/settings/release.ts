// SPDX-License-Identifier: Apache-2.0
// Decides what is taken back in a namespace that this process managed and that no mode owns any more. Pure.
import type { Service } from '../../apis/core.ts';
import type { RoutingDecision } from '../../gardener/types.ts';
import { carriesApplied, planService } from './decide-objects.ts';
import type { Owner } from './ownership.ts';
import type { NamespaceDecision, ObjectDecision, RoutingContext } from './types.ts';

/** What is remembered of a namespace: who owned it, and the objects that were decided about. */
export interface Managed {
  readonly owner: Owner;
  readonly objects: readonly Pick<ObjectDecision, 'kind' | 'ref'>[];
  /** Some of them had settings; else there is nothing to take back, not even a label. */
  readonly enabled: boolean;
}

export interface ReleaseSnapshot {
  readonly namespace: string;
  readonly managed: Managed;
  readonly services: readonly Service[];
  readonly context: RoutingContext;
}

/** Only objects that this process decided about: what else carries settings is another installation's. */
export const decideRelease = ({ namespace, managed, services, context }: ReleaseSnapshot): NamespaceDecision => {
  const message = `Namespace ${namespace} no longer has the role or name that made it ours; what was set there is taken back`;
  const decision: RoutingDecision = { kind: 'refused', reason: 'NamespaceNotOwned', message };
  const objects = managed.objects.flatMap(({ kind, ref }): ObjectDecision[] => {
    const found = kind === 'Service' ? services.find(({ metadata }) => metadata?.name === ref.name) : undefined;
    return found !== undefined && carriesApplied(found) ? [planService(found, decision, context)] : [];
  });
  return {
    owner: managed.owner,
    namespace,
    decision,
    regarding: { apiVersion: 'v1', kind: 'Namespace', name: namespace },
    source: 'none',
    objects,
  };
};
