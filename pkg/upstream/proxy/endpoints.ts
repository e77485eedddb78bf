// The endpoints of one Service port as a proxy sees them: slices merged, defaults filled in, duplicates resolved.
import type { Endpoint, EndpointSlice, Node, Service } from '../../apis/core.ts';
import { LABEL_PROXY_NAME } from '../../apis/names.ts';
import { byText } from '../../apis/values.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import { type FeatureGates, endpointsOf, fullName, hintedZones } from '../features.ts';
import type { Explained } from '../reasons.ts';

export interface ProxyEndpoint {
  /** `IP:PORT`, with brackets around an IPv6 address; identity and sort order. */
  readonly key: string;
  readonly address: string;
  readonly port: number;
  readonly zone: string;
  readonly nodeName: string;
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
  readonly zoneHints: ReadonlySet<string>;
  readonly nodeHints: ReadonlySet<string>;
}

export interface MergeOptions {
  /** Name of the Service's port; empty for a port without a name. */
  readonly port: string;
  /** addressType of the slices to look at. */
  readonly family: string;
  /** Which entry of an address that appears twice counts: the one on this node, or the one that is not terminating. */
  readonly duplicates: { readonly prefer: 'local'; readonly nodeName: string } | { readonly prefer: 'running' };
  /** Slices of weight 0 count as Cilium takes them: whatever their conditions, as endpoints that are not ready yet. */
  readonly drained?: boolean | undefined;
}

export type MergeEndpoints = (slices: readonly EndpointSlice[], options: MergeOptions) => readonly ProxyEndpoint[];

const ANNOTATION_CILIUM_WEIGHT = 'service.cilium.io/weight';
const LABEL_HEADLESS = 'service.kubernetes.io/headless';

/** Proxies do not watch slices of headless Services and of Services that another proxy serves. */
const isWatched = ({ metadata }: EndpointSlice): boolean =>
  ![LABEL_HEADLESS, LABEL_PROXY_NAME].some((label) => Object.hasOwn(metadata?.labels ?? {}, label));

/** ParseEndpointSliceV1 of cilium/cilium pkg/k8s/endpoints.go: what is no number from 0 to 65535 is ignored. */
export const isDrained = ({ metadata }: EndpointSlice): boolean =>
  /^0+$/.test(metadata?.annotations?.[ANNOTATION_CILIUM_WEIGHT] ?? '');

const DRAINED = { ready: false, serving: false, terminating: false };

/** Absent conditions mean ready and serving, not terminating. */
export const proxyEndpoint = (endpoint: Endpoint, address: string, port: number): ProxyEndpoint => ({
  key: address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`,
  address,
  port,
  zone: endpoint.zone ?? '',
  nodeName: endpoint.nodeName ?? '',
  ready: endpoint.conditions?.ready ?? true,
  serving: endpoint.conditions?.serving ?? true,
  terminating: endpoint.conditions?.terminating ?? false,
  zoneHints: new Set(hintedZones(endpoint)),
  nodeHints: new Set((endpoint.hints?.forNodes ?? []).map(({ name }) => name)),
});

/** Port numbers by which a slice serves the named port. One without number is ignored; an absent name is empty, as the API server defaults it. */
const numbersOf = ({ ports }: EndpointSlice, name: string): number[] =>
  (ports ?? []).flatMap((port) => ((port.name ?? '') === name && port.port ? [port.port] : []));

/**
 * Endpoints in the order of their keys, as the proxy lists them. Only the first address of an endpoint counts. Slices are
 * merged in name order, so that the result does not depend on the order in which they came.
 */
export const mergeEndpoints: MergeEndpoints = (slices, { port, family, duplicates, drained }) => {
  const merged = new Map<string, ProxyEndpoint>();
  const wins = ({ nodeName, terminating }: ProxyEndpoint): boolean =>
    duplicates.prefer === 'running' ? !terminating : nodeName !== '' && nodeName === duplicates.nodeName;
  const watched = slices.filter((slice) => (slice.addressType ?? 'IPv4') === family && isWatched(slice));
  for (const slice of watched.sort((a, b) => byText(fullName(a), fullName(b)))) {
    const conditions = drained === true && isDrained(slice) ? { conditions: DRAINED } : {};
    for (const number of numbersOf(slice, port)) {
      for (const item of endpointsOf(slice)) {
        const address = item.addresses[0];
        if (address === undefined) continue;
        const endpoint = proxyEndpoint({ ...item, ...conditions }, address, number);
        if (!merged.has(endpoint.key) || wins(endpoint)) merged.set(endpoint.key, endpoint);
      }
    }
  }
  return [...merged.values()].sort((a, b) => byText(a.key, b.key));
};

export type TopologyMode = 'PreferSameNode' | 'PreferSameZone' | '';

export interface RouteInput {
  /** The node whose proxy routes; clients elsewhere count as being here once their traffic enters through it. */
  readonly node: Node;
  readonly service: Service;
  /** The Service's slices, of any family. */
  readonly slices: readonly EndpointSlice[];
  /** Version of kube-proxy on the node; the kubelet's is its stand-in. */
  readonly version: KubernetesVersion;
  /** Gates of kube-proxy that differ from the version's defaults. */
  readonly gates?: FeatureGates;
  /** The Node that kube-proxy there takes itself for, where it is not its own, and what makes it do so. */
  readonly self?: { readonly node: Node; readonly why: string };
  /** Name of the Service's port; default: its first port. */
  readonly port?: string;
  /** addressType of the slices to use; default: the Service's first address family. */
  readonly family?: string;
  /** How endpoints are merged. Default: `mergeEndpoints`; who asks for many nodes may remember what it gave. */
  readonly merge?: MergeEndpoints;
}

/** One node's answer for one port; lists are in the order of their keys. */
export interface Route extends Explained {
  readonly node: string;
  readonly zone: string;
  readonly port: string;
  readonly mode: TopologyMode;
  /** Endpoints for connections that may leave the node; null if there are no such connections, or no endpoints at all. */
  readonly cluster: readonly ProxyEndpoint[] | null;
  /** Endpoints for connections that must stay on the node; null if there are none such. */
  readonly local: readonly ProxyEndpoint[] | null;
  /** Everything that the node needs rules for. */
  readonly reachable: readonly ProxyEndpoint[];
  /** What a connection to the cluster IP from this node is spread over, all alike. */
  readonly used: readonly ProxyEndpoint[];
}
