// Flags of `simulate`: demand, what-ifs, and on what to fail; and the options that follow from them.
import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import { defined } from '../../pkg/apis/defined.ts';
import { VERDICT_REASONS } from '../../pkg/diagnosis/simulate/reasons.ts';
import type { SimulateOptions, SimulationReport } from '../../pkg/diagnosis/simulate/types.ts';
import { REASONS } from '../../pkg/upstream/reasons.ts';
import { UsageError } from './errors.ts';
import {
  addInputFlags,
  addOutputFlag,
  addVersionFlags,
  parseCores,
  demandFlag,
  percentFlag,
  positiveCores,
  weightsFlag,
} from './flags.ts';
import type { InputFlags, OutputFlags, VersionFlags, Weights } from './flags.ts';
import { addPriceFlags, readPrices } from './price-flags.ts';
import type { PriceFlags } from './price-flags.ts';
import { addProxyFlags, statedBy } from './proxy-flags.ts';
import type { ProxyFlags } from './proxy-flags.ts';
import { reasonsFlag } from './reasons-flag.ts';

export interface SimulateFlags extends InputFlags, VersionFlags, ProxyFlags, OutputFlags, PriceFlags {
  port?: string;
  addressType?: string;
  weights?: Weights;
  demand?: Record<string, number>;
  capacity?: number;
  targetUtilization?: number;
  maxOverload?: number;
  replicas?: Record<string, number>;
  nodeCpu?: Record<string, number>;
  failOn?: readonly string[];
}

/** `name=value,name=value`, also repeated; the last word on a name counts. `read` gives NaN for what it does not take. */
const assignments =
  (read: (text: string) => number, expected: string) =>
  (text: string, previous: Readonly<Record<string, number>> = {}): Record<string, number> => {
    const values = new Map(Object.entries(previous));
    for (const part of text.split(',').filter((entry) => entry.trim() !== '')) {
      const at = part.lastIndexOf('=');
      const [name, value] = [part.slice(0, Math.max(at, 0)).trim(), read(part.slice(at + 1).trim())];
      if (name === '' || !Number.isFinite(value))
        throw new InvalidArgumentError(`expected ${expected}, found "${part}".`);
      values.set(name, value);
    }
    return Object.fromEntries(values);
  };

/** More would be a typo. */
const MAX_REPLICAS = 10_000;

const replicasOf = (text: string): number => {
  const count = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  return count <= MAX_REPLICAS ? count : Number.NaN;
};

const aboveZero = (text: string): number => {
  const cores = parseCores(text);
  return cores > 0 ? cores : Number.NaN;
};

const IMPROVABLE = 'improvable';

const failOnFlag = reasonsFlag(
  [IMPROVABLE, ...Object.keys(VERDICT_REASONS), ...Object.keys(REASONS)],
  `neither "${IMPROVABLE}" nor a reason`,
);

/** Whether what was found is what the caller wants to fail on: a better mode, or the verdict on the one in force. */
export const simulationFailsOn = (
  { modes, recommendation }: SimulationReport,
  failOn: readonly string[] = [],
): boolean =>
  (recommendation.improves && failOn.includes(IMPROVABLE)) ||
  modes.some(({ inForce, verdict }) => inForce && failOn.includes(verdict.reason));

const addQuestionFlags = (command: Command): Command =>
  command
    .option('--port <port>', "one of the Service's ports, by name or number; default: the first")
    .addOption(new Option('--address-type <family>', "default: the Service's first family").choices(['IPv4', 'IPv6']))
    .option(
      '--weights <cpu|nodes|zone=weight,...>',
      'how clients are spread over the zones, and the basis of proportional (default: cpu)',
      weightsFlag,
    )
    .option('--demand <zone=cores,...>', 'what the clients of each zone need, in cores; may be repeated', demandFlag)
    .option(
      '--capacity <cores>',
      'with --demand: what one endpoint can serve, in cores; default: CPU requests of its Pod',
      positiveCores,
    )
    .option(
      '--target-utilization <percent>',
      'with --demand: highest load of an endpoint, percent of its capacity (default: 70)',
      percentFlag,
    )
    .option(
      '--max-overload <percent>',
      'how far an endpoint may be above its fair share where capacity is not known, and in proportional (default: 20)',
      percentFlag,
    )
    .option(
      '--replicas <zone=number,...>',
      'what if: this many ready endpoints in these zones',
      assignments(replicasOf, `zone=number such as eu-1a=3, up to ${MAX_REPLICAS}`),
    )
    .option(
      '--node-cpu <node|zone=cores,...>',
      'what if: this much allocatable CPU on a Node, or on each Node of a zone',
      assignments(aboveZero, 'node=cores or zone=cores such as eu-1a=4'),
    );

export const addSimulateFlags = (command: Command): Command => {
  const withInput = addProxyFlags(addInputFlags(command.argument('<service>', 'NAME or NAMESPACE/NAME')));
  const withQuestion = addPriceFlags(addQuestionFlags(withInput), 'the Service');
  return addOutputFlag(addVersionFlags(withQuestion, 'the control plane and of every proxy')).option(
    '--fail-on <what>',
    'exit code 1 if "improvable" by another mode, or on these reasons for the mode in force (comma-separated)',
    failOnFlag,
  );
};

const checkFlags = ({ demand, capacity, targetUtilization, gbPerDay, prices }: SimulateFlags): void => {
  if (demand === undefined && capacity !== undefined) throw new UsageError('--capacity goes with --demand');
  if (demand === undefined && targetUtilization !== undefined) {
    throw new UsageError('--target-utilization goes with --demand');
  }
  if (gbPerDay === undefined && prices !== undefined) throw new UsageError('--prices goes with --gb-per-day');
};

/** `port`: the name of the port that the flag means. Throws UsageError for flags that do not go together. */
export const simulateOptions = async (flags: SimulateFlags, port: string | undefined): Promise<SimulateOptions> => {
  checkFlags(flags);
  const { addressType, weights, demand, capacity, targetUtilization } = flags;
  const { maxOverload, replicas, nodeCpu, gbPerDay } = flags;
  return {
    ...statedBy(flags),
    ...defined({
      port,
      family: addressType,
      weights,
      demand,
      capacity,
      targetUtilization,
      maxOverload,
      replicas,
      nodeCpu,
    }),
    ...(gbPerDay === undefined ? {} : { gigabytesPerDay: gbPerDay, prices: await readPrices(flags.prices) }),
  };
};
