// SPDX-License-Identifier: Apache-2.0
// Decides what is reverted in a namespace that no mode owns: everything there that carries a mark of ours, whoever wrote it. Pure.
import type { Namespace, Service } from '../../apis/core.ts';
import { LABEL_ETCD_CLIENTS } from '../../apis/names.ts';
import type { RoutingDecision } from '../../gardener/types.ts';
import { carriesApplied, planService } from './decide/objects.ts';
import { isRoutingLabelled } from './ownership.ts';
import type { NamespaceDecision, RoutingContext } from './types.ts';

export interface ReleaseSnapshot {
  readonly namespace: Namespace;
  /** Value of the routing label by which this installation marks namespaces. */
  readonly label: string;
  readonly services: readonly Service[];
  readonly context: RoutingContext;
}

/** Undefined where nothing of ours is left: no settings, and no label. */
export const decideRelease = (snapshot: ReleaseSnapshot): NamespaceDecision | undefined => {
  const { namespace, label, services, context } = snapshot;
  const name = namespace.metadata?.name ?? '';
  const message = `Namespace ${name} does not have the role or name by which a mode owns it; what was set there is released`;
  const decision: RoutingDecision = { kind: 'refused', reason: 'NamespaceNotOwned', message };
  const objects = services
    .filter(carriesApplied)
    .map((service) => planService(service, decision, context))
    // A strategy label that follows the annotation of a Service is admission's, in every namespace.
    .filter(({ plan }) => plan.kind === 'patch');
  const labelled =
    isRoutingLabelled(namespace, label) || namespace.metadata?.labels?.[LABEL_ETCD_CLIENTS] !== undefined;
  if (objects.length === 0 && !labelled) return undefined;
  return {
    owner: 'none',
    namespace: name,
    decision,
    regarding: { apiVersion: 'v1', kind: 'Namespace', name },
    source: 'none',
    objects,
  };
};
