// What a proxy model takes and answers.
import type { EndpointSlice, Node, Service } from '../../apis/core.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import type { FeatureGates } from '../features.ts';
import type { Explained } from '../reasons.ts';
import type { MergeEndpoints, ProxyEndpoint } from './endpoints.ts';

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
