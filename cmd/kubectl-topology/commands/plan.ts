// `kubectl topology plan`: the hints that the planner gives a Service at a demand or by weights, and what they lead to.
import type { EndpointSlice, Service } from '../../../pkg/apis/core.ts';
import { firstFamilyOf, readyEndpoints } from '../../../pkg/diagnosis/models/lookup.ts';
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

const weightsOf = async ({ nodes }: ClusterSnapshot, weights: Weights): Promise<Readonly<Record<string, number>>> => {
  if (typeof weights !== 'string') return weights;
  if (nodes.kind === 'unknown') throw new UsageError(`Nodes cannot be read: ${nodes.why}`);
  const { zoneWeights } = await import('../../../pkg/flow/evaluate.ts');
  const found = zoneWeights({ nodes: nodes.items, by: weights });
  if (found.kind === 'unknown') throw new UsageError(`--weights ${weights}: ${found.message}`);
  return found.weights;
};

type PlanFor =
  | { readonly demand: Demand; readonly capacity: number; readonly targetUtilization: number }
  | { readonly weights: Demand; readonly maxOverload: number };

/** @throws UsageError unless the flags ask for one strategy, and all it needs. */
const optionsOf = async (snapshot: ClusterSnapshot, flags: FlagsOf<typeof FLAGS>): Promise<PlanFor> => {
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

/** Of the Service's first family. By `--weights` an endpoint's even share of the load is 1, and demand is given in such shares. */
const planReport = async (service: Service, slices: readonly EndpointSlice[], wanted: PlanFor) => {
  // Only who asks for a plan waits for what makes them.
  const { planHints, planProportional } = await import('../../../pkg/flow/planner.ts');
  const ready = readyEndpoints(slices, firstFamilyOf(service, slices));
  const endpoints = ready.map(({ address, zone, forZones }) => ({ name: address, zone, forZones }));
  const byLoad = ({ capacity, ...load }: Exclude<PlanFor, { weights: Demand }>) =>
    planHints({ ...load, endpoints: endpoints.map((endpoint) => ({ ...endpoint, capacity })) });
  const plan = 'weights' in wanted ? planProportional({ ...wanted, endpoints }) : byLoad(wanted);
  const zoneOf = (address: string): string => ready.find((own) => own.address === address)?.zone ?? '';
  const hinted = plan.endpoints.map(({ name: address, forZones }) => ({ address, zone: zoneOf(address), forZones }));
  const { spread, zones, inZoneShare, maxUtilization, bounds } = plan;
  const { lp, integrality } = bounds;
  return { plan: { spread, endpoints: hinted }, zones, inZoneShare, maxUtilization, bounds: { lp, integrality } };
};

export type PlanReport = Awaited<ReturnType<typeof planReport>>;

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
    const [zones, named] = [zonesOf(snapshot), 'weights' in options ? options.weights : options.demand];
    const strangers = Object.keys(named).filter((zone) => zone !== '' && !zones.includes(zone));
    if (strangers.length > 0) io.err.write(`warning: no Node and no endpoint is in ${strangers.join(', ')}\n`);
    const report = await planReport(service, slices, options);
    const of = 'weights' in options ? 'an even share' : 'its capacity';
    await print(io, flags.output, report, () => renderPlan(report, of));
    return 0;
  },
});
