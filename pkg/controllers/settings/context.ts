// What all decisions about settings share: the version that counts, and what the cluster's data planes read.
import type { Node } from '../../apis/core.ts';
import { isSwitchedOff } from '../../apis/readings.ts';
import { wantsOlderName } from '../../diagnosis/models/follow.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import { proxyNeedsAnnotation } from '../../routing/version.ts';
import { createClients } from '../routers/clients.ts';
import type { RouterEvidence } from '../routers/evidence.ts';
import type { SettingsCaches } from './caches.ts';
import type { RoutingContext } from './types.ts';

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
export const hasOldKubelet = ({ nodes }: Pick<SettingsCaches, 'nodes'>): boolean | undefined => {
  const known = nodes.list();
  return known.length === 0 ? undefined : known.some(isOld);
};

export const createContext = (
  caches: Pick<SettingsCaches, 'nodes' | 'namespaces'>,
  version: { readonly current: KubernetesVersion | undefined },
  routers: Pick<RouterEvidence, 'objects' | 'onChange'>,
): (() => RoutingContext) => {
  // Counting Nodes for each of thousands of namespaces would be quadratic; Nodes change seldom, and data planes more so.
  let mixedKubelets: boolean | undefined;
  let olderName: boolean | undefined;
  const clients = createClients(caches.nodes, routers);
  caches.nodes.onChange(() => (mixedKubelets = undefined));
  routers.onChange(() => (olderName = undefined));
  return () => {
    const objects = routers.objects();
    mixedKubelets ??= hasOldKubelet(caches);
    olderName ??= objects === undefined ? undefined : wantsOlderName(objects);
    return {
      off: isSwitchedOff(caches.namespaces),
      version: version.current,
      mixedKubelets,
      olderName,
      clients: clients(),
    };
  };
};
