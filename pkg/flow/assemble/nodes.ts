// What the loop takes from a cluster's Nodes: the zones that have clients, and how many each is likely to have.
import type { Node } from '../../apis/core.ts';
import { isNodeReady, zonesOfNodes } from '../../apis/readings.ts';
import type { Demand } from '../types.ts';
import { zoneWeights } from '../zone-weights.ts';
import { amountOf } from '../own.ts';

export interface ClientZones {
  /** In name order. */
  readonly zones: readonly string[];
  /** By CPU of the Nodes, as upstream counts it; where that is unknown, by their number. */
  readonly weights: Demand;
}

/** Clients are where ready Nodes are: a zone whose Nodes all died asks for nothing. */
export const clientZonesOf = (nodes: readonly Node[]): ClientZones => {
  const ready = nodes.filter(isNodeReady);
  const zones = zonesOfNodes(ready);
  const byCpu = zoneWeights({ nodes: ready, by: 'cpu' });
  const known = byCpu.kind === 'known' ? byCpu : zoneWeights({ nodes: ready, by: 'nodes' });
  const weights = known.kind === 'known' ? known.weights : Object.fromEntries(zones.map((zone) => [zone, 1]));
  return { zones, weights: Object.fromEntries(zones.map((zone) => [zone, amountOf(weights, zone)])) };
};
