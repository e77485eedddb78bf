// The address plan of a bed: only ranges reserved for benchmarks (198.18.0.0/15) and documentation (2001:db8::/32).

/** Ranges from which the API server gives out cluster IPs, first the primary family. */
export const serviceRanges = ['198.18.0.0/16', '2001:db8:18::/112'] as const;

/** Ranges of nodes and Pods. All of them share one bridge, so no routes between nodes are needed. */
export const clusterRanges = ['198.19.0.0/16', '2001:db8:19::/64'] as const;

/** First address of the Service range: what the `kubernetes` Service gets, part of the server certificate. */
export const kubernetesServiceAddresses = ['198.18.0.1', '2001:db8:18::1'] as const;

/** An address pair, one per family. */
export interface AddressPair {
  readonly ipv4: string;
  readonly ipv6: string;
}

/** Where the API server listens, reachable from the control plane and from every node. */
export const controlPlaneAddresses: AddressPair = { ipv4: '198.19.255.1', ipv6: '2001:db8:19::ffff:1' };

/** Highest index of a node: the third byte of its IPv4 addresses; 255 is the control plane. */
export const maxNodeIndex = 254;

/** Highest index of an address on one node: the last byte. */
export const maxHostIndex = 254;

/**
 * The addresses of host `host` (1 is the node itself, Pods follow) on node `node`, both counted from 1.
 *
 * @throws RangeError outside the plan.
 */
export const addressesOf = (node: number, host: number): AddressPair => {
  if (node < 1 || node > maxNodeIndex)
    throw new RangeError(`a bed has room for nodes 1 to ${maxNodeIndex}, not ${node}`);
  if (host < 1 || host > maxHostIndex)
    throw new RangeError(`a node has room for hosts 1 to ${maxHostIndex}, not ${host}`);
  return { ipv4: `198.19.${node}.${host}`, ipv6: `2001:db8:19::${node.toString(16)}:${host.toString(16)}` };
};
