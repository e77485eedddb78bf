// Clusters for simulations: Nodes by zone and CPU, one Service, endpoints by zone.
import type { EndpointSlice, Node, Service } from '../../../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../../../pkg/apis/meta.ts';
import { ANNOTATION_TOPOLOGY_MODE } from '../../../../pkg/apis/names.ts';
import type { ModeName, SimulateOptions } from '../../../../pkg/diagnosis/simulate/types.ts';
import { type ModeReport, type SimulationReport, simulate } from '../../../../pkg/diagnosis/simulate/simulate.ts';
import type { Outcome } from '../../../../pkg/diagnosis/simulate/verdict.ts';
import { endpoint, node, service, slice } from '../../../fixtures/core.ts';
import { snapshotOf } from '../../../fixtures/snapshot.ts';

export interface ClusterCase {
  /** Cores of one Node in each zone, or of several. */
  readonly zones: Readonly<Record<string, number | readonly number[]>>;
  /** Zone of each ready endpoint; empty: none. */
  readonly endpoints: readonly string[];
  readonly service?: Parameters<typeof service>[0];
  readonly kubeletVersion?: string;
  /** Hints as they are stored, by endpoint. */
  readonly hints?: readonly (readonly string[])[];
}

export const EQUAL = { a: 4, b: 4, c: 4 };

export const ONE_EACH: ClusterCase = { zones: EQUAL, endpoints: ['a', 'b', 'c'] };

/** CPU shares 4 : 2 : 1 and five endpoints, which the CPU heuristic cannot share. */
export const UNEVEN: ClusterCase = { zones: { a: 16, b: 8, c: 4 }, endpoints: ['a', 'a', 'b', 'b', 'c'] };

export const AUTO = { metadata: { annotations: { [ANNOTATION_TOPOLOGY_MODE]: 'Auto' } } };

export interface Cluster {
  readonly nodes: readonly Node[];
  readonly service: Service;
  readonly slice: EndpointSlice;
  /** Anything else. */
  readonly others?: readonly KubernetesObject[];
}

export const clusterOf = ({
  zones,
  endpoints,
  kubeletVersion = 'v1.34.1',
  hints = [],
  ...rest
}: ClusterCase): Cluster => ({
  nodes: Object.entries(zones).flatMap(([zone, cores]) =>
    [cores].flat().map((own, index) =>
      node({
        zone,
        kubeletVersion,
        metadata: { name: `node-${zone}-${index}` },
        status: {
          conditions: [{ type: 'Ready', status: 'True' }],
          allocatable: own === 0 ? {} : { cpu: String(own) },
          nodeInfo: { kubeletVersion, kubeProxyVersion: kubeletVersion },
        },
      }),
    ),
  ),
  service: service(rest.service),
  slice: slice({
    endpoints: endpoints.map((zone, index) => {
      const { zone: own, nodeName, ...bare } = endpoint({ zone, addresses: [`10.1.0.${index + 1}`] });
      return {
        ...bare,
        ...(zone === '' ? {} : { zone: own!, nodeName: `${nodeName!}-0` }),
        ...(hints[index] === undefined ? {} : { hints: { forZones: hints[index].map((name) => ({ name })) } }),
      };
    }),
  }),
});

export const simulateCluster = (
  { nodes, service: own, slice: endpoints, others = [] }: Cluster,
  options: Partial<SimulateOptions> = {},
) => {
  const snapshot = snapshotOf(...nodes, own, endpoints, ...others);
  const [item] = snapshot.services.kind === 'known' ? snapshot.services.items : [];
  return simulate(snapshot, item!, { proxy: { kind: 'kube-proxy' }, ...options });
};

/** The report; a refusal fails with its message. */
export const reportFor = (cluster: ClusterCase, options: Partial<SimulateOptions> = {}): SimulationReport => {
  const result = simulateCluster(clusterOf(cluster), options);
  if (result.kind === 'refused') throw new Error(`${result.reason}: ${result.message}`);
  return result.report;
};

export const modeOf = ({ modes }: SimulationReport, mode: ModeName): ModeReport => {
  const found = modes.find((candidate) => candidate.mode === mode);
  if (found === undefined) throw new Error(`the report has no mode ${mode}`);
  return found;
};

export const outcomeOf = (report: SimulationReport, mode: ModeName): Outcome => {
  const { outcome, verdict } = modeOf(report, mode);
  if (outcome === null) throw new Error(`${mode}: ${verdict.message}`);
  return outcome;
};

/** Sum of a row, or of all rows. */
export const sumOf = (shares: Readonly<Record<string, number>> | undefined): number =>
  Object.values(shares ?? {}).reduce((sum, share) => sum + share, 0);
