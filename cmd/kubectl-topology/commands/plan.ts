// SPDX-License-Identifier: Apache-2.0
// `kubectl topology plan`: the hints that the planner gives a Service at a demand, and what they lead to.
import { Option } from 'commander';
import { keyOf, refOf, slicesByService, zoneOfNode } from '../../../pkg/diagnosis/models/lookup.ts';
import type { PlanReport } from '../../../pkg/diagnosis/models/plan.ts';
import { itemsOf } from '../../../pkg/diagnosis/snapshot.ts';
import type { ClusterSnapshot } from '../../../pkg/diagnosis/snapshot.ts';
import type { Demand } from '../../../pkg/flow/types.ts';
import { renderTable } from '../../../pkg/report/table.ts';
import { topologyCommand } from '../command.ts';
import { findService, inNamespaceOf } from '../find-service.ts';
import { addInputFlags, addOutputFlag, demandFlag, percent, positiveCores } from '../flags.ts';
import type { InputFlags, OutputFlags } from '../flags.ts';
import { print } from '../print.ts';
import { load } from '../session.ts';

interface Flags extends InputFlags, OutputFlags {
  service: string;
  demand: Record<string, number>;
  capacity: number;
  targetUtilization: number;
}

const HUNDRED = 100;
const percentText = (fraction: number): string => `${Math.round(fraction * HUNDRED)} %`;

const renderPlan = ({ plan, zones, inZoneShare, maxUtilization, bounds }: PlanReport): string => {
  const endpoints = renderTable(
    ['ADDRESS', 'ZONE', 'HINTED FOR'],
    plan.endpoints.map(({ address, zone, forZones }) => [
      address,
      zone === '' ? '-' : zone,
      plan.spread ? '(all: spread)' : forZones.join(','),
    ]),
  );
  const byZone = renderTable(
    ['ZONE', 'DEMAND', 'ENDPOINTS', 'UTILIZATION'],
    Object.entries(zones).map(([zone, { demand, endpoints: count, utilization }]) => [
      zone === '' ? '(none)' : zone,
      String(demand),
      String(count),
      percentText(utilization),
    ]),
  );
  const summary = `In zone: ${percentText(inZoneShare)} (at most ${percentText(bounds.integrality)}); busiest endpoint: ${percentText(maxUtilization)} of its capacity.\n`;
  return `${endpoints}\n${byZone}\n${summary}`;
};

/** Zones of the demand that nothing else mentions: mostly a slip of the pen. */
const unknownZones = ({ nodes, slices }: ClusterSnapshot, demand: Demand): string[] => {
  const endpoints = itemsOf(slices).flatMap((slice) => slice.endpoints ?? []);
  const zones = new Set<string | undefined>([...itemsOf(nodes).map(zoneOfNode), ...endpoints.map(({ zone }) => zone)]);
  return Object.keys(demand).filter((zone) => !zones.has(zone));
};

export const plan = topologyCommand<Flags>({
  name: 'plan',
  summary: 'Hints that keep traffic in its zone as far as the capacity of the endpoints allows',
  examples: [
    [
      'Three zones, the first twice as busy; endpoints of half a core',
      'plan -f cluster.yaml --service shop/web --demand eu-1a=1,eu-1b=0.5,eu-1c=0.5 --capacity 500m --target-utilization 70 -o json',
    ],
  ],
  define(command) {
    addOutputFlag(addInputFlags(command))
      .requiredOption('--service <name>', 'the Service: NAME or NAMESPACE/NAME')
      .requiredOption(
        '--demand <zone=cores,...>',
        'what the clients of each zone need, in cores; may be repeated',
        demandFlag,
      )
      .requiredOption('--capacity <cores>', 'what one endpoint can serve, in cores', positiveCores)
      .addOption(
        new Option('--target-utilization <percent>', 'how much of its capacity an endpoint shall carry at most')
          .argParser(percent)
          .default(0.7, '70'),
      );
  },
  async run(io, flags) {
    const loaded = await load(inNamespaceOf(flags, flags.service), ['nodes', 'services', 'slices'], io);
    const service = findService(loaded, flags.service);
    const slices = slicesByService(itemsOf(loaded.snapshot.slices)).get(keyOf(refOf(service))) ?? [];
    const { demand, capacity, targetUtilization } = flags;
    const strangers = unknownZones(loaded.snapshot, demand);
    if (strangers.length > 0) io.err.write(`warning: no Node and no endpoint is in ${strangers.join(', ')}\n`);
    const { planReport } = await import('../../../pkg/diagnosis/models/plan.ts');
    const report = planReport(service, slices, { demand, capacity, targetUtilization });
    await print(io, flags.output, report, () => renderPlan(report));
    return 0;
  },
});
