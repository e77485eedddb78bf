// How clients are spread over the zones: as given, or by Nodes; and what endpoints can serve.
import type { Node } from '../../apis/core.ts';
import { isNodeReady, zoneOfNode } from '../../apis/readings.ts';
import type { Demand } from '../../flow/types.ts';
import { zoneWeights } from '../../flow/zone-weights.ts';
import { isControlPlane } from '../explain/facts.ts';
import { SimulationError, hintFor } from './what-if.ts';
import type { DemandReport, Weights } from './types.ts';
import { byText } from '../../apis/order.ts';

/** Ready Nodes that run workloads; those of a dedicated control plane only where there are no others. */
export const clientNodes = (nodes: readonly Node[]): readonly Node[] => {
  const ready = nodes.filter(isNodeReady);
  const workers = ready.filter((node) => !isControlPlane(node));
  return workers.length > 0 ? workers : ready;
};

export interface DemandOptions {
  readonly weights?: Weights;
  readonly demand?: Demand;
  /** In cores, where neither of the two is given. */
  readonly observed?: Demand;
}

interface Weighed {
  readonly source: DemandReport['source'];
  readonly note: string;
  /** By zone, in any unit; the empty name is for Nodes without zone. */
  readonly weights: Demand;
}

const countNodes = (nodes: readonly Node[]): Map<string, number> => {
  const counts = new Map<string, number>();
  for (const node of nodes) counts.set(zoneOfNode(node), (counts.get(zoneOfNode(node)) ?? 0) + 1);
  return new Map([...counts].sort(([a], [b]) => byText(a, b)));
};

const given = (clients: readonly Node[], source: 'demand' | 'weights', weights: Demand): Weighed => {
  const zones = new Set(clients.map(zoneOfNode));
  const stranger = Object.entries(weights).find(([zone, weight]) => weight > 0 && !zones.has(zone));
  if (stranger !== undefined) {
    const [zone] = stranger;
    throw new SimulationError(
      'UnknownZone',
      `${source}: no ready Node is in zone "${zone}"${hintFor(zone, [...zones])}`,
    );
  }
  if (Object.values(weights).every((weight) => weight === 0)) {
    throw new SimulationError('NoDemand', `${source}: 0 in every zone`);
  }
  return { source, note: '', weights };
};

const byNodes = (clients: readonly Node[], note = ''): Weighed => ({
  source: 'nodes',
  note,
  weights: Object.fromEntries(countNodes(clients)),
});

const byCpu = (nodes: readonly Node[], clients: readonly Node[]): Weighed => {
  const zones = new Set(clients.map(zoneOfNode));
  const found = zoneWeights({ nodes, by: 'cpu' });
  if (found.kind === 'known') return { source: 'cpu', note: '', weights: found.weights };
  // One zone weighs as much as all of itself by any measure.
  const note =
    zones.size < 2 ? '' : `The CPU of each zone is not known (${found.message}), so Nodes are counted instead.`;
  return byNodes(clients, note);
};

/** What was observed in zones that have Nodes now; undefined if that is nothing. */
const observedNow = (clients: readonly Node[], observed: Demand | undefined): Weighed | undefined => {
  const zones = new Set(clients.map(zoneOfNode));
  const there = Object.entries(observed ?? {}).filter(([zone]) => zones.has(zone));
  if (there.every(([, cores]) => cores === 0)) return undefined;
  return { source: 'flowPolicy', note: '', weights: Object.fromEntries(there) };
};

/** Throws a SimulationError for demand in a zone without Nodes: its clients could not be anywhere. */
export const weigh = (nodes: readonly Node[], { weights, demand, observed }: DemandOptions): Weighed => {
  const clients = clientNodes(nodes);
  if (clients.length === 0) {
    throw new SimulationError('NoNodes', 'no ready Node is known, so no prediction is possible');
  }
  if (demand !== undefined) return given(clients, 'demand', demand);
  if (weights === undefined || weights === 'cpu') {
    return (weights === undefined ? observedNow(clients, observed) : undefined) ?? byCpu(nodes, clients);
  }
  return weights === 'nodes' ? byNodes(clients) : given(clients, 'weights', weights);
};

/** `endpoints`: ready ones by zone. */
export const demandReport = (
  { source, note, weights }: Weighed,
  clients: readonly Node[],
  endpoints: ReadonlyMap<string, number>,
): DemandReport => {
  const nodes = countNodes(clients);
  const inCores = source === 'demand' || source === 'flowPolicy';
  const cores = new Map(Object.entries(weights));
  const total = [...nodes.keys()].reduce((sum, zone) => sum + (cores.get(zone) ?? 0), 0);
  const zones = [...new Set([...nodes.keys(), ...endpoints.keys()])].sort(byText).map((zone) => {
    const own = nodes.has(zone) ? (cores.get(zone) ?? 0) : 0;
    return [
      zone,
      {
        share: total === 0 ? 0 : own / total,
        cores: inCores ? own : null,
        nodes: nodes.get(zone) ?? 0,
        endpoints: endpoints.get(zone) ?? 0,
      },
    ] as const;
  });
  return { source, note, cores: inCores ? total : null, zones: Object.fromEntries(zones) };
};
