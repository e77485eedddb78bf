// `kubectl topology simulate`: every mode side by side, where traffic would go, what that costs, and which to take.
import { defined } from '../../../pkg/apis/values.ts';
import { VERDICT_REASONS } from '../../../pkg/diagnosis/simulate/types.ts';
import type { CollectionName } from '../../../pkg/diagnosis/snapshot.ts';
import { REASONS } from '../../../pkg/upstream/reasons.ts';
import { choiceFlag, flag, topologyCommand } from '../command.ts';
import { UsageError } from '../io.ts';
import { asksForPlan, findPort, loadService } from '../session.ts';
import { OUTPUT_FLAG, demandFlags, inputFlags, priceFlags, versionFlags } from '../flags.ts';
import { percentFlag, readPrices, reasonsFlag, weightsFlag, zoneNumbers } from '../flags.ts';
import { print } from '../output.ts';
import { PROXY_FLAGS, failsOn, statedBy } from '../model-flags.ts';

/** More would be a typo. */
const MAX_REPLICAS = 10_000;

const replicasOf = (text: string): number | undefined =>
  /^\d{1,5}$/.test(text) && Number(text) <= MAX_REPLICAS ? Number(text) : undefined;

const IMPROVABLE = 'improvable';

export const simulate = topologyCommand({
  name: 'simulate',
  summary: 'Every way to route a Service by zone, side by side: where traffic goes, overload, cost, and which is best',
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
  argument: ['<service>', 'NAME or NAMESPACE/NAME'],
  flags: {
    ...inputFlags(),
    ...PROXY_FLAGS,
    port: flag('--port <port>', "one of the Service's ports, by name or number; default: the first"),
    addressType: choiceFlag('--address-type <family>', "default: the Service's first family", ['IPv4', 'IPv6']),
    weights: flag(
      '--weights <cpu|nodes|zone=weight,...>',
      'how clients are spread over the zones, and the basis of proportional (default: cpu)',
      weightsFlag,
    ),
    ...demandFlags('with --demand: ', '; default: CPU requests of its Pod'),
    maxOverload: flag(
      '--max-overload <percent>',
      'how far an endpoint may be above its fair share where capacity is not known, and in proportional (default: 20)',
      percentFlag,
    ),
    replicas: flag(
      '--replicas <zone=number,...>',
      'what if: this many ready endpoints in these zones',
      zoneNumbers(`zone=number such as eu-1a=3, up to ${MAX_REPLICAS}`, replicasOf, (_before, count) => count),
    ),
    ...priceFlags('the Service'),
    ...versionFlags(),
    ...OUTPUT_FLAG,
    failOn: flag(
      '--fail-on <what>',
      'exit code 1 if "improvable" by another mode, or on these reasons for the mode in force (comma-separated)',
      reasonsFlag([IMPROVABLE, ...VERDICT_REASONS, ...Object.keys(REASONS)], `neither "${IMPROVABLE}" nor a reason`),
    ),
  },
  async run(io, flags, name = '') {
    const { addressType: family, weights, demand, capacity, targetUtilization, maxOverload, replicas } = flags;
    const { gbPerDay, prices } = flags;
    if (demand === undefined && capacity !== undefined) throw new UsageError('--capacity goes with --demand');
    if (demand === undefined && targetUtilization !== undefined)
      throw new UsageError('--target-utilization goes with --demand');
    if (gbPerDay === undefined && prices !== undefined) throw new UsageError('--prices goes with --gb-per-day');
    const needs: CollectionName[] = ['nodes', 'services', 'slices', 'routers'];
    // Pods only show capacity, which matters only where demand is given.
    if (demand !== undefined && capacity === undefined) needs.push('pods');
    const { service, ...read } = await loadService(flags, name, needs, io);
    const observed = asksForPlan(service) && demand === undefined && weights === undefined;
    const snapshot = await read.withMore(observed ? ['flowPolicies', 'pods'] : []);
    const port = findPort(service, flags.port);
    const options = {
      ...statedBy(flags),
      ...defined({ port, family, weights, demand, capacity, targetUtilization, maxOverload, replicas }),
      ...defined({ gigabytesPerDay: gbPerDay, prices: await readPrices(prices) }),
    };
    const { simulate: simulateService } = await import('../../../pkg/diagnosis/simulate/simulate.ts');
    const result = simulateService(snapshot, service, options);
    if (result.kind === 'refused') throw new UsageError(result.message);
    const { report } = result;
    const { renderSimulation } = await import('../../../pkg/report/simulation.ts');
    await print(io, flags.output, report, (style) => renderSimulation(report, style));
    const reasons = report.modes.filter(({ inForce }) => inForce).map(({ verdict }) => verdict.reason);
    return failsOn(flags.failOn, report.recommendation.improves ? [...reasons, IMPROVABLE] : reasons) ? 1 : 0;
  },
});
