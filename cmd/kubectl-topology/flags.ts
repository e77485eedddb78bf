// Flags that commands share, and how their values are read.
// Flags that give bytes and prices: commands show costs only with them.
import { type Command, InvalidArgumentError, Option } from 'commander';
import { unitsOf } from '../../pkg/apis/quantity.ts';
import { nearest } from '../../pkg/diagnosis/models/lookup.ts';
import { BUILT_IN_PRICES, DEFAULT_PRICES, isBuiltInPrices, parsePrices } from '../../pkg/diagnosis/prices.ts';
import type { PriceTable } from '../../pkg/diagnosis/prices.ts';
import type { KubernetesVersion } from '../../pkg/routing/types.ts';
import { InvalidVersionError, parseVersion } from '../../pkg/routing/version.ts';
import { FEATURE_GATES, type FeatureGate, type FeatureGates } from '../../pkg/upstream/features.ts';
import { InputError, UsageError } from './io.ts';

export const OUTPUT_FORMATS = ['table', 'wide', 'json', 'yaml'] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** Where objects come from. */
export interface InputFlags {
  filename?: string[];
  kubeconfig?: string;
  context?: string;
  namespace?: string;
  allNamespaces?: boolean;
}

export interface VersionFlags {
  kubernetesVersion?: KubernetesVersion;
  featureGates?: FeatureGates;
}

export interface OutputFlags {
  output: OutputFormat;
}

export const collect = (value: string, previous: string[] | undefined): string[] => [...(previous ?? []), value];

/** `everywhere`: all namespaces are looked at unless one is named. */
export const addInputFlags = (command: Command, everywhere = false): Command =>
  command
    .option(
      '-f, --filename <file|dir|->',
      'objects from YAML, JSON or a snapshot instead of a cluster; may be repeated',
      collect,
    )
    .option('--kubeconfig <file>', 'how to reach the cluster; default: $KUBECONFIG, then ~/.kube/config')
    .option('--context <name>', 'context of the kubeconfig')
    .option('-n, --namespace <namespace>', `namespace; default: ${everywhere ? 'all' : 'that of the context'}`)
    .option('-A, --all-namespaces', `all namespaces${everywhere ? ', which is the default' : ''}`);

export const addOutputFlag = (command: Command): Command =>
  command.addOption(new Option('-o, --output <format>', 'output format').choices(OUTPUT_FORMATS).default('table'));

export const versionFlag = (text: string): KubernetesVersion => {
  try {
    return parseVersion(text);
  } catch (error) {
    if (error instanceof InvalidVersionError)
      throw new InvalidArgumentError('expected something like 1.33 or v1.30.4.');
    throw error;
  }
};

const isGate = (name: string): name is FeatureGate => (FEATURE_GATES as readonly string[]).includes(name);

const gatesFlag = (text: string, previous: FeatureGates = {}): FeatureGates => {
  const gates: Partial<Record<FeatureGate, boolean>> = { ...previous };
  for (const part of text.split(',').filter((entry) => entry !== '')) {
    const [name = '', value] = part.split('=').map((piece) => piece.trim());
    if (!isGate(name)) {
      const meant = nearest(name, FEATURE_GATES);
      const hint = meant === undefined ? `known: ${FEATURE_GATES.join(', ')}.` : `did you mean ${meant}?`;
      throw new InvalidArgumentError(`unknown feature gate "${name}"; ${hint}`);
    }
    if (value !== 'true' && value !== 'false') {
      throw new InvalidArgumentError(`expected ${name}=true or ${name}=false.`);
    }
    gates[name] = value === 'true';
  }
  return gates;
};

/** `of`: whose version and gates they are. */
export const addVersionFlags = (command: Command, of: string): Command =>
  command
    .option(
      '--kubernetes-version <version>',
      `version of ${of}; default: as found in the objects or the cluster`,
      versionFlag,
    )
    .option('--feature-gates <gate=bool,...>', `feature gates of ${of} that differ from its defaults`, gatesFlag);

const NUMBER = /^(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

/** Cores as a number (`0.5`) or a quantity (`500m`); NaN for anything else. */
export const parseCores = (text: string): number => unitsOf(text) ?? Number.NaN;

export const positiveCores = (text: string): number => {
  const cores = parseCores(text);
  if (!(cores > 0 && Number.isFinite(cores)))
    throw new InvalidArgumentError('expected cores above 0, like 0.5 or 500m.');
  return cores;
};

/** `70` or `70%` as the fraction 0.7. */
export const percentFlag = (text: string): number => {
  const bare = text.endsWith('%') ? text.slice(0, -1) : text;
  const value = NUMBER.test(bare) ? Number(bare) : Number.NaN;
  if (!(value > 0 && Number.isFinite(value))) throw new InvalidArgumentError('expected a percentage above 0, like 70.');
  return value / 100;
};

/** `zone=number,zone=number`, also repeated, where numbers add up. */
const byZone = (text: string, previous: Readonly<Record<string, number>>, expected: string): Record<string, number> => {
  const amounts = new Map(Object.entries(previous));
  for (const part of text.split(',').filter((entry) => entry.trim() !== '')) {
    const at = part.lastIndexOf('=');
    const [zone, amount] = [part.slice(0, Math.max(at, 0)).trim(), parseCores(part.slice(at + 1).trim())];
    if (at === -1 || !(amount >= 0 && Number.isFinite(amount))) {
      throw new InvalidArgumentError(`expected ${expected}, found "${part}".`);
    }
    amounts.set(zone, (amounts.get(zone) ?? 0) + amount);
  }
  return Object.fromEntries(amounts);
};

/** `zone=cores,zone=cores`, also repeated. */
export const demandFlag = (text: string, previous: Readonly<Record<string, number>> = {}): Record<string, number> =>
  byZone(text, previous, 'zone=cores such as eu-1a=1.5');

/** Where weights of zones come from: the Nodes, or as given. */
export type Weights = 'cpu' | 'nodes' | Readonly<Record<string, number>>;

/** `cpu`, `nodes` or `zone=weight,zone=weight`, also repeated. */
export const weightsFlag = (text: string, previous: Weights = {}): Weights => {
  if (text === 'cpu' || text === 'nodes') return text;
  const weights = byZone(
    text,
    typeof previous === 'string' ? {} : previous,
    'cpu, nodes or zone=weight such as eu-1a=2',
  );
  if (Object.values(weights).some((weight) => weight > 0)) return weights;
  throw new InvalidArgumentError('expected at least one weight above 0.');
};

/** Reads words separated by commas; `none`: what a word that is not in `known` is said to be. */
export const reasonsFlag =
  (known: readonly string[], none: string) =>
  (text: string): readonly string[] => {
    const wanted = text.split(',').map((part) => part.trim());
    for (const part of wanted) {
      if (known.includes(part)) continue;
      const meant = nearest(part, known);
      const hint = meant === undefined ? 'see the reference of reasons.' : `did you mean ${meant}?`;
      throw new InvalidArgumentError(`"${part}" is ${none}; ${hint}`);
    }
    return wanted;
  };

export interface PriceFlags {
  gbPerDay?: number;
  prices?: string;
}

const gigabytes = (text: string): number => {
  const value = NUMBER.test(text) ? Number(text) : Number.NaN;
  if (!Number.isFinite(value)) throw new InvalidArgumentError('expected gigabytes, 0 or more, like 250 or 1.5e3.');
  return value;
};

export const addPricesFlag = (command: Command): Command =>
  command.option(
    '--prices <table|file>',
    `what crossing costs: ${Object.keys(BUILT_IN_PRICES).join(', ')}, or a YAML or JSON file (default: ${DEFAULT_PRICES})`,
  );

/** `of`: whose traffic it is, e.g. `the Service`. */
export const addPriceFlags = (command: Command, of: string): Command =>
  addPricesFlag(
    command.option(
      '--gb-per-day <gigabytes>',
      `assumed traffic of ${of} a day, requests and responses together; without it there are shares only`,
      gigabytes,
    ),
  );

/** The built-in table of that name, else the table in that file. Throws an InputError with file, line and field. */
export const readPrices = async (name: string = DEFAULT_PRICES): Promise<PriceTable> => {
  if (isBuiltInPrices(name)) return BUILT_IN_PRICES[name];
  const [{ readNamed }, { readYaml }] = await Promise.all([import('./input/files.ts'), import('./input/documents.ts')]);
  const content = await readNamed(name).catch((error: unknown) => {
    if (!(error instanceof InputError)) throw error;
    throw new UsageError(`${error.message}; built-in tables of prices are ${Object.keys(BUILT_IN_PRICES).join(', ')}`);
  });
  const tables: PriceTable[] = [];
  // JSON is YAML, too.
  readYaml(content.toString('utf8'), name, (object) => tables.push(parsePrices(object)));
  const [table] = tables;
  if (table === undefined || tables.length > 1) {
    throw new InputError(name, undefined, `expected one table of prices, found ${tables.length}`);
  }
  return table;
};
