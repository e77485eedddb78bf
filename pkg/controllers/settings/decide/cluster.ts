// Decides the settings of Services in a cluster without Gardener: those that ask by label or annotation, zones from Nodes. Pure.
import type { Service } from '../../../apis/core.ts';
import { LABEL_MANAGED } from '../../../apis/names.ts';
import { decideClusterRouting } from '../../../gardener/decide.ts';
import type { RoutingDecision } from '../../../gardener/types.ts';
import { isMadeByDruid } from '../../../routing/etcd-clients.ts';
import { requestedStrategy } from '../../../routing/strategy.ts';
import { carriesApplied, planService } from './objects.ts';
import type { NamespaceDecision, ObjectDecision, RoutingContext } from '../types.ts';

export interface ClusterSnapshot {
  readonly namespace: string;
  /** Zones of the Nodes; undefined where no Node is known. */
  readonly zones: readonly string[] | undefined;
  readonly services: readonly Service[];
  readonly context: RoutingContext;
}

const decideService = (service: Service, cluster: RoutingDecision): RoutingDecision | undefined => {
  const { namespace, name, labels } = service.metadata ?? {};
  const managed = labels?.[LABEL_MANAGED];
  const field = `metadata.labels[${LABEL_MANAGED}]`;
  const subject = `Service ${namespace ?? ''}/${name ?? ''}`;
  if (managed === 'false') {
    return { kind: 'refused', reason: 'Excluded', message: `${subject} is labelled ${LABEL_MANAGED}: "false"`, field };
  }
  if (isMadeByDruid(service)) return undefined;
  if (managed === 'true' || requestedStrategy(service) !== undefined) return cluster;
  if (!carriesApplied(service)) return undefined;
  return { kind: 'refused', reason: 'NotInCatalogue', message: `${subject} no longer asks for routing by zone`, field };
};

/** Undefined in a namespace where no Service asks for anything: the usual case in a plain cluster. */
export const decideClusterSettings = (snapshot: ClusterSnapshot): NamespaceDecision | undefined => {
  const { namespace, zones, services, context } = snapshot;
  const decision = decideClusterRouting(zones);
  const objects = services.flatMap((service): ObjectDecision[] => {
    const own = decideService(service, decision);
    return own === undefined ? [] : [planService(service, own, context)];
  });
  if (objects.length === 0) return undefined;
  return {
    owner: 'cluster-settings',
    namespace,
    decision,
    regarding: { apiVersion: 'v1', kind: 'Namespace', name: namespace },
    source: 'Nodes',
    objects,
  };
};
