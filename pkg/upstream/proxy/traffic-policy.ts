// SPDX-License-Identifier: Apache-2.0
// Which lists of endpoints a Service port needs on each node, by its internal and external traffic policy.
import type { Service, ServicePort } from '../../apis/core.ts';

export interface TrafficPolicy {
  /** Connections may go to endpoints of other nodes. */
  readonly usesCluster: boolean;
  /** Some connections may go to endpoints of this node only. */
  readonly usesLocal: boolean;
  /** Connections from inside the cluster stay on the node. */
  readonly internalLocal: boolean;
}

/** Reachable from outside: by node port, load balancer or external IP. */
const isExternallyReachable = ({ spec, status }: Service, port: ServicePort | undefined): boolean => {
  const balancer = (status as { loadBalancer?: { ingress?: unknown[] } } | undefined)?.loadBalancer;
  const externalIps = spec?.['externalIPs'];
  return (
    (port?.nodePort ?? 0) !== 0 ||
    (balancer?.ingress ?? []).length > 0 ||
    (Array.isArray(externalIps) && externalIps.length > 0)
  );
};

/** `honoursInternalPolicy`: the gate ServiceInternalTrafficPolicy is on. */
export const trafficPolicyOf = (
  service: Service,
  port: ServicePort | undefined,
  honoursInternalPolicy: boolean,
): TrafficPolicy => {
  const internalLocal = honoursInternalPolicy && service.spec?.internalTrafficPolicy === 'Local';
  const external = isExternallyReachable(service, port);
  return {
    internalLocal,
    // From outside, even a Local policy needs the whole list: Pods that use the external address are short-circuited.
    usesCluster: !internalLocal || external,
    usesLocal: internalLocal || (external && service.spec?.externalTrafficPolicy === 'Local'),
  };
};
