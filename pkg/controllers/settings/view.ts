// SPDX-License-Identifier: Apache-2.0
// What deciders see: the caches with our own last writes laid over them, and the context that all decisions share.
import type { Namespace, Node, Service } from '../../apis/core.ts';
import type { Etcd } from '../../apis/gardener.ts';
import type { KubernetesObject } from '../../apis/meta.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import { proxyNeedsAnnotation } from '../../routing/version.ts';
import type { Landscape } from './landscape.ts';
import { byNamespace } from './landscape.ts';
import { createRecentWrites } from '../../kubernetes/recent-writes.ts';
import type { RecentWrites } from '../../kubernetes/recent-writes.ts';
import type { RoutingContext } from './types.ts';

export interface View {
  namespace(name: string): Namespace | undefined;
  services(namespace: string): Service[];
  etcds(namespace: string): Etcd[];
  context(): RoutingContext;
  readonly recent: {
    readonly namespaces: RecentWrites<Namespace>;
    readonly services: RecentWrites<Service>;
  };
}

const isOld = ({ status }: Node): boolean => {
  try {
    return proxyNeedsAnnotation(status?.nodeInfo?.kubeletVersion);
  } catch {
    return false;
  }
};

/**
 * Whether some Node's kubelet, the stand-in for its proxy, wants the annotation; undefined where no Node is known. Unreadable
 * versions say nothing.
 */
export const hasOldKubelet = (landscape: Pick<Landscape, 'nodes'>): boolean | undefined => {
  const nodes = landscape.nodes.list();
  return nodes.length === 0 ? undefined : nodes.some(isOld);
};

const keyOf = ({ metadata }: KubernetesObject): string => `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;

export const createView = (landscape: Landscape, version: () => KubernetesVersion | undefined): View => {
  const recent = {
    namespaces: createRecentWrites<Namespace>(),
    services: createRecentWrites<Service>(),
  };
  // Counting Nodes for each of thousands of namespaces would be quadratic; Nodes change seldom.
  let mixedKubelets: boolean | undefined;
  landscape.nodes.onChange(() => (mixedKubelets = undefined));

  return {
    namespace(name) {
      const cached = landscape.namespaces.get({ name });
      return cached === undefined ? undefined : recent.namespaces.freshest(name, cached);
    },
    services: (namespace) =>
      byNamespace(landscape.services, namespace).map((item) => recent.services.freshest(keyOf(item), item)),
    etcds: (namespace) => byNamespace(landscape.etcds, namespace),
    context() {
      mixedKubelets ??= hasOldKubelet(landscape);
      return { version: version(), mixedKubelets };
    },
    recent,
  };
};
