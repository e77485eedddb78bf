// What the node itself knows: its addresses, the addresses it has routes to without a next hop, and the kernel's settings.
// Keeps the directory of addresses equal to the cluster: Services, EndpointSlices and Nodes, and of each only what it needs.
import { readFile, writeFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import type { EndpointSlice, Node, Service } from '../../pkg/apis/core.ts';
import { defined } from '../../pkg/apis/values.ts';
import type { KubernetesObject, ObjectMeta } from '../../pkg/apis/meta.ts';
import { LABEL_SERVICE_NAME, LABEL_ZONE } from '../../pkg/apis/names.ts';
import { ENDPOINT_SLICES, NODES, type Resource, SERVICES } from '../../pkg/apis/resources.ts';
import { type Informer, type InformerOptions, createInformer } from '../../pkg/kubernetes/informer.ts';
import { canonicalAddress, hostRoutes, hostRoutes6, localAddresses } from '../../pkg/traffic/addresses.ts';
import type { Directory } from '../../pkg/traffic/directory.ts';

export interface NodeFacts {
  /** Own addresses, and those of Pods that have a route of their own (as with a plugin that takes them from the cloud's network). */
  readonly local: ReadonlySet<string>;
  /** Whether the kernel counts bytes; undefined where it does not say. */
  readonly accounting: boolean | undefined;
  /** Entries of the conntrack table at most; undefined where it does not say. */
  readonly maxEntries: number | undefined;
  /** Interfaces of a data plane that keeps its flows out of the kernel's table; empty without. */
  readonly foreignPlane: string;
  /** Own addresses of a node-local DNS, which may be cluster addresses; empty without one. */
  readonly localDns: readonly string[];
}

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

const readNodeFacts = async (): Promise<NodeFacts> => {
  const interfaces = networkInterfaces();
  const own = Object.values(interfaces).flatMap((list = []) =>
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
    local: new Set([...own, ...hostRoutes(route), ...hostRoutes6(route6)]),
    accounting: accounting === undefined ? undefined : accounting === 1,
    maxEntries,
    localDns: devices.includes(`${LOCAL_DNS}:`) ? localAddresses(await readText('/proc/net/fib_trie')) : [],
    foreignPlane: FOREIGN.find(([name]) => devices.includes(`${name}:`))?.[1] ?? '',
  };
};

/** What was read last. */
export const createKnownNode = () => {
  let facts: NodeFacts | undefined;
  return {
    /** Undefined before the first reading. */
    get facts(): NodeFacts | undefined {
      return facts;
    },
    async refresh(): Promise<void> {
      facts = await readNodeFacts();
    },
  };
};

type CacheOptions = Pick<InformerOptions<never>, 'client' | 'clock' | 'random' | 'logger' | 'onFailure'>;

const metaOf = ({ metadata = {} }: KubernetesObject, label?: string): ObjectMeta => {
  const { name, namespace, resourceVersion, labels } = metadata;
  const value = label === undefined ? undefined : labels?.[label];
  return {
    ...defined({ name, namespace, resourceVersion }),
    ...(label === undefined || value === undefined ? {} : { labels: { [label]: value } }),
  };
};

// The directory holds what these objects say; a cache only has to know that an object was there, and what was new of it.
const bareService = (service: Service): Service => ({ metadata: metaOf(service) });
const bareSlice = (slice: EndpointSlice): EndpointSlice => ({ metadata: metaOf(slice, LABEL_SERVICE_NAME) });
const bareNode = (node: Node): Node => ({ metadata: metaOf(node, LABEL_ZONE) });

const feed = <T extends KubernetesObject>(
  options: CacheOptions,
  resource: Resource,
  bare: (object: T) => T,
  set: (object: T) => void,
  remove: (object: T) => void,
): Informer<T> => {
  const informer = createInformer<T>({
    ...options,
    resource,
    // Whole objects are seen once, on their way into the cache.
    transform(object) {
      set(object);
      return bare(object);
    },
  });
  informer.addHandlers({ onDelete: remove });
  return informer;
};

export type DirectoryCache = Pick<
  Informer<KubernetesObject>,
  'resource' | 'hasSynced' | 'stalenessMs' | 'waitForSync' | 'run'
>;

/** Informers that feed the directory; nothing is requested before they run. */
export const createDirectoryCaches = (directory: Directory, options: CacheOptions): readonly DirectoryCache[] => [
  feed<Node>(options, NODES, bareNode, directory.setNode, directory.removeNode),
  feed<Service>(options, SERVICES, bareService, directory.setService, directory.removeService),
  feed<EndpointSlice>(options, ENDPOINT_SLICES, bareSlice, directory.setSlice, directory.removeSlice),
];
