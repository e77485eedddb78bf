// `kubectl topology plan`: the hints that the planner gives a Service at a demand or by weights, and what they lead to.
import type { PlanReport } from '../../../pkg/diagnosis/models/plan.ts';
import { DEFAULT_OVERLOAD, DEFAULT_TARGET, type Weights } from '../../../pkg/diagnosis/simulate/types.ts';
import { type ClusterSnapshot, OBJECTS } from '../../../pkg/diagnosis/snapshot.ts';
import { zonesOf } from '../../../pkg/diagnosis/survival/survival.ts';
import type { Demand } from '../../../pkg/flow/types.ts';
import { coresText, percentText } from '../../../pkg/report/figures.ts';
import { renderTable } from '../../../pkg/report/text.ts';
import { flag, type FlagsOf, requiredFlag, topologyCommand } from '../command.ts';
import { UsageError } from '../io.ts';
import { loadService } from '../session.ts';
import { OUTPUT_FLAG, demandFlags, inputFlags, percentFlag, weightsFlag } from '../flags.ts';
import { print } from '../output.ts';

const FLAGS = {
  ...inputFlags(),
  ...OUTPUT_FLAG,
  service: requiredFlag('--service <name>', 'the Service: NAME or NAMESPACE/NAME'),
  ...demandFlags(),
  weights: flag(
    '--weights <cpu|nodes|zone=weight,...>',
    'instead of a demand: clients are as many as the CPU of the Nodes, as the Nodes, or as given',
    weightsFlag,
  ),
  maxOverload: flag(
    '--max-overload <percent>',
    'with --weights: how far an endpoint may be above its even share (default: 20)',
    percentFlag,
  ),
};

/** `of`: what the utilization of an endpoint is a share of. */
const renderPlan = ({ plan, zones, inZoneShare, maxUtilization, bounds }: PlanReport, of: string): string => {
  const hintedFor = (all: readonly string[]): string => (plan.spread ? '(all: spread)' : all.join(','));
  const endpoints = renderTable(
    ['ADDRESS', 'ZONE', 'HINTED FOR'],
    plan.endpoints.map(({ address, zone, forZones }) => [address, zone || '-', hintedFor(forZones)]),
  );
  const byZone = renderTable(
    ['ZONE', 'DEMAND', 'ENDPOINTS', 'UTILIZATION'],
    Object.entries(zones).map(([zone, { demand, endpoints: count, utilization }]) => [
      zone === '' ? '(none)' : zone,
      coresText(demand),
      String(count),
      percentText(utilization),
    ]),
  );
  const summary = `In zone: ${percentText(inZoneShare)} (at most ${percentText(bounds.integrality)}); busiest endpoint: ${percentText(maxUtilization)} of ${of}.\n`;
  return `${endpoints}\n${byZone}\n${summary}`;
};

/** Zones of the demand that nothing else mentions: usually typos. */
const unknownZones = (snapshot: ClusterSnapshot, demand: Demand): string[] => {
  const zones = new Set(['', ...zonesOf(snapshot)]);
  return Object.keys(demand).filter((zone) => !zones.has(zone));
};

/** The weights of the zones, from the Nodes where they are to say. */
const weightsOf = async ({ nodes }: ClusterSnapshot, weights: Weights): Promise<Readonly<Record<string, number>>> => {
  if (typeof weights !== 'string') return weights;
  if (nodes.kind === 'unknown') throw new UsageError(`Nodes cannot be read: ${nodes.why}`);
  const { zoneWeights } = await import('../../../pkg/flow/evaluate.ts');
  const found = zoneWeights({ nodes: nodes.items, by: weights });
  if (found.kind === 'unknown') throw new UsageError(`--weights ${weights}: ${found.message}`);
  return found.weights;
};

/** @throws UsageError unless the flags ask for one strategy, and all it needs. */
const optionsOf = async (snapshot: ClusterSnapshot, flags: FlagsOf<typeof FLAGS>) => {
  const { demand, capacity, targetUtilization, weights, maxOverload } = flags;
  if (weights !== undefined) {
    if (demand !== undefined || capacity !== undefined || targetUtilization !== undefined)
      throw new UsageError('--weights plans without load: leave out --demand, --capacity and --target-utilization');
    return { weights: await weightsOf(snapshot, weights), maxOverload: maxOverload ?? DEFAULT_OVERLOAD };
  }
  if (demand === undefined || capacity === undefined)
    throw new UsageError('expected --demand and --capacity, or --weights');
  if (maxOverload !== undefined) throw new UsageError('--max-overload goes with --weights');
  return { demand, capacity, targetUtilization: targetUtilization ?? DEFAULT_TARGET };
};

export const plan = topologyCommand({
  name: 'plan',
  hidden: true,
  summary: 'Hints that keep traffic in its zone as far as the capacity of the endpoints allows',
  examples: [
    [
      'Three zones, the first twice as busy; endpoints of half a core',
      'plan -f cluster.yaml --service shop/web --demand eu-1a=1,eu-1b=0.5,eu-1c=0.5 --capacity 500m --target-utilization 70 -o json',
    ],
    [
      'In proportion to the CPU of the Nodes, no endpoint more than 20 % above its even share',
      'plan -f cluster.yaml --service shop/web --weights cpu',
    ],
  ],
  flags: FLAGS,
  async run(io, flags) {
    const { snapshot, service, slices } = await loadService(flags, flags.service, OBJECTS, io);
    const options = await optionsOf(snapshot, flags);
    const strangers = unknownZones(snapshot, 'weights' in options ? options.weights : options.demand);
    if (strangers.length > 0) io.err.write(`warning: no Node and no endpoint is in ${strangers.join(', ')}\n`);
    const { planReport } = await import('../../../pkg/diagnosis/models/plan.ts');
    const report = planReport(service, slices, options);
    const of = 'weights' in options ? 'an even share' : 'its capacity';
    await print(io, flags.output, report, () => renderPlan(report, of));
    return 0;
  },
});
