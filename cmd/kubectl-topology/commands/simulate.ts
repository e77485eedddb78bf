// `kubectl topology simulate`: every mode side by side, where traffic would go, what that costs, and which to take.
import type { Service } from '../../../pkg/apis/core.ts';
import { serviceRefOf } from '../../../pkg/diagnosis/models/lookup.ts';
import type { ClusterSnapshot, CollectionName } from '../../../pkg/diagnosis/snapshot.ts';
import { type Io, UsageError, topologyCommand, wantsColor } from '../io.ts';
import { asksForPlan, findPort, findService, inNamespaceOf, load } from '../session.ts';
import { print } from '../output.ts';
import { type SimulateFlags, addSimulateFlags, simulateOptions, simulationFailsOn } from '../model-flags.ts';

/** Pods only show capacity, which matters only where demand is given. */
const needsOf = ({ demand, capacity }: SimulateFlags): readonly CollectionName[] => [
  'nodes',
  'services',
  'slices',
  'routers',
  ...(demand !== undefined && capacity === undefined ? (['pods'] as const) : []),
];

/**
 * Adds the FlowPolicy and the Pods of a Service that asks for a planned strategy: only such a one has any, and only a
 * cluster has to be asked again.
 */
const withObserved = async (
  snapshot: ClusterSnapshot,
  service: Service,
  flags: SimulateFlags,
  io: Io,
): Promise<ClusterSnapshot> => {
  if (
    !asksForPlan(service) ||
    flags.filename !== undefined ||
    flags.demand !== undefined ||
    flags.weights !== undefined
  ) {
    return snapshot;
  }
  const { namespace } = serviceRefOf(service);
  const observed = await load({ ...flags, namespace, allNamespaces: false }, ['flowPolicies', 'pods'], io);
  return { ...snapshot, flowPolicies: observed.snapshot.flowPolicies, pods: observed.snapshot.pods };
};

export const simulate = topologyCommand<SimulateFlags>({
  name: 'simulate',
  summary:
    'Every way to route a Service by zone, side by side: where traffic goes, overload, cost, and which one to choose',
  examples: [
    ['Clients assumed to be where the CPU of the Nodes is', 'simulate web -n shop'],
    ['What 500 GB a day costs in each mode, at AWS prices', 'simulate shop/web --gb-per-day 500'],
    [
      'Uneven demand, from files: what load-aware hints would keep',
      'simulate shop/web -f cluster.yaml --demand eu-1a=1,eu-1b=0.5,eu-1c=0.5 --capacity 500m',
    ],
    ['What if there were a third replica in one zone?', 'simulate shop/web --replicas eu-1a=3'],
    ['In a pipeline: exit code 1 if another mode would be better', 'simulate shop/web --fail-on improvable -o json'],
  ],
  define(command) {
    addSimulateFlags(command);
  },
  async run(io, flags, [name = '']) {
    const loaded = await load(inNamespaceOf(flags, name), needsOf(flags), io);
    const service = findService(loaded, name);
    const snapshot = await withObserved(loaded.snapshot, service, flags, io);
    const port = flags.port === undefined ? undefined : findPort(service, flags.port);
    const options = await simulateOptions(flags, port);
    const { simulate: simulateService } = await import('../../../pkg/diagnosis/simulate/simulate.ts');
    const result = simulateService(snapshot, service, options);
    if (result.kind === 'refused') throw new UsageError(result.message);
    const { report } = result;
    const { renderSimulation } = await import('../../../pkg/report/simulation.ts');
    await print(io, flags.output, report, (wide) =>
      renderSimulation(report, { wide, color: wantsColor(io), columns: io.out.columns }),
    );
    return simulationFailsOn(report, flags.failOn) ? 1 : 0;
  },
});
