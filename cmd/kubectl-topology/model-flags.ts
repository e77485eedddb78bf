// Flags of `explain`, the options that follow from them, and what a command fails on.
// Flags that say which proxy routes, and with which of its options.
// Flags of `simulate`: demand, what-ifs, and on what to fail; and the options that follow from them.
import { type Command, InvalidArgumentError, Option } from 'commander';
import { defined } from '../../pkg/apis/values.ts';
import { DIAGNOSIS_REASONS } from '../../pkg/diagnosis/explain/reasons.ts';
import type { ExplainOptions } from '../../pkg/diagnosis/explain/types.ts';
import { imageVersion } from '../../pkg/diagnosis/routers/kube-proxy.ts';
import type { Stated } from '../../pkg/diagnosis/routers/types.ts';
import { type SimulateOptions, VERDICT_REASONS } from '../../pkg/diagnosis/simulate/types.ts';
import type { SimulationReport } from '../../pkg/diagnosis/simulate/simulate.ts';
import { type CollectionName, EVIDENCE, OBJECTS } from '../../pkg/diagnosis/snapshot.ts';
import type { RouterVersion } from '../../pkg/upstream/proxy/hint-rule.ts';
import { REASONS } from '../../pkg/upstream/reasons.ts';
import { type Io, UsageError } from './io.ts';
import {
  addInputFlags,
  addOutputFlag,
  addPriceFlags,
  addVersionFlags,
  demandFlag,
  percentFlag,
  positiveCores,
  readPrices,
  reasonsFlag,
  weightsFlag,
} from './flags.ts';
import type { InputFlags, OutputFlags, PriceFlags, VersionFlags, Weights } from './flags.ts';

const PROXIES = ['kube-proxy', 'cilium', 'linkerd'] as const;

export interface ProxyFlags {
  proxy?: (typeof PROXIES)[number];
  ciliumServiceTopology?: boolean;
  ciliumVersion?: RouterVersion;
  /** `--no-linkerd-endpoint-slices` makes it false. */
  linkerdEndpointSlices: boolean;
}

export const ciliumVersionFlag = (text: string): RouterVersion => {
  const version = imageVersion(`:${text}`);
  if (version === undefined) throw new InvalidArgumentError('expected something like 1.18 or v1.18.1.');
  return version;
};

export const addProxyFlags = (command: Command): Command =>
  command
    .addOption(
      new Option(
        '--proxy <name>',
        'data plane of every Node (default: what DaemonSets, Pods, ConfigMaps and Nodes show)',
      ).choices(PROXIES),
    )
    .option(
      '--cilium-service-topology',
      'Cilium has loadBalancer.serviceTopology on; default: as in its ConfigMap, else off',
    )
    .option('--cilium-version <version>', 'version of Cilium; 1.18 and 1.19 read PreferClose only', ciliumVersionFlag)
    .option('--no-linkerd-endpoint-slices', 'Linkerd was installed with enableEndpointSlices=false');

/** The data plane as flags state it; what they leave open is read from objects. */
export const statedBy = (flags: ProxyFlags & VersionFlags): Stated => {
  const { proxy: kind, ciliumServiceTopology: serviceTopology, ciliumVersion, kubernetesVersion, featureGates } = flags;
  const cilium = {
    ...defined({ serviceTopology, ciliumVersion }),
  };
  const proxy = (): Pick<Stated, 'proxy'> => {
    if (kind === undefined) return {};
    if (kind === 'cilium') return { proxy: { kind, ...cilium } };
    return { proxy: kind === 'linkerd' ? { kind, endpointSlices: flags.linkerdEndpointSlices } : { kind } };
  };
  return {
    ...proxy(),
    cilium,
    ...defined({ version: kubernetesVersion, gates: featureGates }),
  };
};

export interface ExplainFlags extends InputFlags, VersionFlags, ProxyFlags {
  crossing?: boolean;
}

/** Everything that an explanation of any Service looks at. */
export const EXPLAIN_NEEDS: readonly CollectionName[] = [...OBJECTS, ...EVIDENCE];

export const addExplainFlags = (command: Command): Command =>
  addVersionFlags(
    addProxyFlags(addInputFlags(command)).option(
      '--crossing',
      'traffic was measured to cross zones although everything looks right: list causes that objects cannot show',
    ),
    'the control plane and of every proxy',
  );

export const explainOptions = (flags: ExplainFlags, io: Io): ExplainOptions => ({
  now: io.now(),
  crossing: flags.crossing ?? false,
  ...statedBy(flags),
});

const ANY = 'any';
const INEFFECTIVE = 'ineffective';

/** `any`, `ineffective` or reasons, separated by commas; `more`: reasons beside those of explain. */
export const failOnReasons = (more: readonly string[]): ((text: string) => readonly string[]) =>
  reasonsFlag([ANY, INEFFECTIVE, ...Object.keys(REASONS), ...Object.keys(DIAGNOSIS_REASONS), ...more], 'no reason');

export const failOnFlag = failOnReasons([]);

/** Whether what was found is what the caller wants to fail on. */
export const failsOn = (
  failOn: readonly string[] | undefined,
  { reasons, effective }: { readonly reasons: readonly string[]; readonly effective: boolean },
): boolean =>
  failOn !== undefined &&
  ((failOn.includes(ANY) && (reasons.length > 0 || !effective)) ||
    (failOn.includes(INEFFECTIVE) && !effective) ||
    reasons.some((reason) => failOn.includes(reason)));

export interface SimulateFlags extends InputFlags, VersionFlags, ProxyFlags, OutputFlags, PriceFlags {
  port?: string;
  addressType?: string;
  weights?: Weights;
  demand?: Record<string, number>;
  capacity?: number;
  targetUtilization?: number;
  maxOverload?: number;
  replicas?: Record<string, number>;
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

const IMPROVABLE = 'improvable';

const simulationFailOnFlag = reasonsFlag(
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
    );

export const addSimulateFlags = (command: Command): Command => {
  const withInput = addProxyFlags(addInputFlags(command.argument('<service>', 'NAME or NAMESPACE/NAME')));
  const withQuestion = addPriceFlags(addQuestionFlags(withInput), 'the Service');
  return addOutputFlag(addVersionFlags(withQuestion, 'the control plane and of every proxy')).option(
    '--fail-on <what>',
    'exit code 1 if "improvable" by another mode, or on these reasons for the mode in force (comma-separated)',
    simulationFailOnFlag,
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
  const { maxOverload, replicas, gbPerDay } = flags;
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
    }),
    ...(gbPerDay === undefined ? {} : { gigabytesPerDay: gbPerDay, prices: await readPrices(flags.prices) }),
  };
};
