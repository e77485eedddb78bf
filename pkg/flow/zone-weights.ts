// Weights of client zones from a cluster's Nodes: their CPU as upstream counts it, or how many they are.
import type { Node } from '../apis/core.ts';
import { zoneOfNode } from '../apis/readings.ts';
import { zoneShares } from '../upstream/index.ts';
import type { UnknownSharesCause } from '../upstream/index.ts';

export interface ZoneWeightsInput {
  readonly nodes: readonly Node[];
  /** `cpu`: allocatable CPU of ready worker Nodes, in millicores. `nodes`: number of all Nodes that have a zone. */
  readonly by: 'cpu' | 'nodes';
}

export type ZoneWeights =
  | { readonly kind: 'known'; readonly weights: Readonly<Record<string, number>> }
  | { readonly kind: 'unknown'; readonly reason: UnknownSharesCause; readonly message: string };

const countByZone = (nodes: readonly Node[]): ZoneWeights => {
  const counts = new Map<string, number>();
  for (const zone of nodes.map(zoneOfNode)) {
    if (zone !== '') counts.set(zone, (counts.get(zone) ?? 0) + 1);
  }
  if (counts.size > 1)
    return { kind: 'known', weights: Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1))) };
  return {
    kind: 'unknown',
    reason: 'FewerThanTwoZones',
    message: `Nodes are in ${counts.size} zones, and two are needed`,
  };
};

/** By CPU the same Nodes count, and the same Nodes make the weights unknown, as for the EndpointSlice controller. */
export const zoneWeights = ({ nodes, by }: ZoneWeightsInput): ZoneWeights => {
  if (by === 'nodes') return countByZone(nodes);
  const shares = zoneShares(nodes);
  if (shares.kind === 'known') return { kind: 'known', weights: Object.fromEntries(shares.milliCpu) };
  return { kind: 'unknown', reason: shares.cause, message: shares.message };
};
