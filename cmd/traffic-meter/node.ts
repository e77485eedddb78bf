// What the Node itself knows (its addresses, those it has routes to without a next hop, settings of the kernel), and the directory of
// addresses, kept equal to the Services, EndpointSlices and Nodes of the cluster.
import { readFile, writeFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import type { EndpointSlice, Node, Service } from '../../pkg/apis/core.ts';
import { defined } from '../../pkg/apis/values.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { ENDPOINT_SLICES, NODES, type Resource, SERVICES } from '../../pkg/apis/resources.ts';
import { type Informer, type InformerOptions, createInformer } from '../../pkg/kubernetes/informer.ts';
import { canonicalAddress, hostRoutes, hostRoutes6, localAddresses } from '../../pkg/traffic/addresses.ts';
import type { Directory } from '../../pkg/traffic/directory.ts';

/** Cilium's and Calico's eBPF data planes create these: https://docs.cilium.io, felix/bpf. Whether they route Services is not said. */
const FOREIGN = [
  ['cilium_host', 'Cilium'],
  ['bpfin.cali', 'Calico eBPF'],
] as const;

/**
 * The interface of NodeLocal DNSCache. It is never up, and for its addresses there are NOTRACK rules (kubernetes/dns:
 * pkg/netif/netif.go, cmd/node-cache/app/cache_app.go).
 */
const LOCAL_DNS = 'nodelocaldns';

const readText = async (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '');

const readNumber = async (path: string): Promise<number | undefined> => {
  const text = (await readText(path)).trim();
  return /^\d+$/.test(text) ? Number(text) : undefined;
};

const ACCOUNTING = '/proc/sys/net/netfilter/nf_conntrack_acct';

/** Flows that begin from now on carry byte counters. Rejects where /proc/sys is read-only or conntrack is not loaded. */
export const enableAccounting = (): Promise<void> => writeFile(ACCOUNTING, '1\n');

export const readNodeFacts = async () => {
  const own = Object.values(networkInterfaces()).flatMap((list = []) =>
    list.flatMap(({ address }) => canonicalAddress(address) ?? []),
  );
  const [route, route6, accounting, maxEntries, devices] = await Promise.all([
    readText('/proc/net/route'),
    readText('/proc/net/ipv6_route'),
    readNumber(ACCOUNTING),
    readNumber('/proc/sys/net/netfilter/nf_conntrack_max'),
    readText('/proc/net/dev'),
  ]);
  return {
    /** Own addresses, and those of Pods that have a route of their own (as with a plugin that takes them from the cloud's network). */
    local: new Set([...own, ...hostRoutes(route), ...hostRoutes6(route6)]),
    /** Whether the kernel counts bytes; undefined where it does not say. */
    accounting: accounting === undefined ? undefined : accounting === 1,
    /** Entries of the conntrack table at most; undefined where it does not say. */
    maxEntries,
    /** Own addresses of a node-local DNS, which may be cluster addresses; empty without one. */
    localDns: devices.includes(`${LOCAL_DNS}:`) ? localAddresses(await readText('/proc/net/fib_trie')) : [],
    /** Interfaces of a data plane that keeps its flows out of the kernel's table; empty without. */
    foreignPlane: FOREIGN.find(([name]) => devices.includes(`${name}:`))?.[1] ?? '',
  };
};

export type NodeFacts = Readonly<Awaited<ReturnType<typeof readNodeFacts>>>;

type CacheOptions = Pick<InformerOptions<never>, 'client' | 'clock' | 'random' | 'logger' | 'onFailure'>;

const feed = <T extends KubernetesObject>(
  options: CacheOptions,
  resource: Resource,
  set: (object: T) => void,
  remove: (object: KubernetesObject) => void,
): Informer<KubernetesObject> =>
  createInformer<KubernetesObject>({
    ...options,
    resource,
    // The directory holds what objects say, and sees them whole on their way into the cache; a cache only has to know that one was
    // there, and what was new of it.
    transform(object) {
      set(object as T);
      const { name, namespace, resourceVersion } = object.metadata ?? {};
      return { metadata: defined({ name, namespace, resourceVersion }) };
    },
    onDelete: remove,
  });

/** Informers that feed the directory; nothing is requested before they run. */
export const createDirectoryCaches = (directory: Directory, options: CacheOptions): Informer<KubernetesObject>[] => [
  feed<Node>(options, NODES, directory.setNode, directory.removeNode),
  feed<Service>(options, SERVICES, directory.setService, directory.removeService),
  feed<EndpointSlice>(options, ENDPOINT_SLICES, directory.setSlice, directory.removeSlice),
];
