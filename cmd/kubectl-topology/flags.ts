// Flags that commands share, and how their values are read.
import { InvalidArgumentError } from 'commander';
import { unitsOf } from '../../pkg/apis/quantity.ts';
import { nearest } from '../../pkg/diagnosis/models/lookup.ts';
import { BUILT_IN_PRICES, DEFAULT_PRICES, isBuiltInPrices, parsePrices } from '../../pkg/diagnosis/prices.ts';
import type { PriceTable } from '../../pkg/diagnosis/prices.ts';
import type { Weights } from '../../pkg/diagnosis/simulate/types.ts';
import { versionIn } from '../../pkg/routing/version.ts';
import { FEATURE_GATES, type FeatureGate, type FeatureGates } from '../../pkg/upstream/features.ts';
import { collect } from '../shared/flags.ts';
import { type FlagsOf, choiceFlag, flag, switchFlag } from './command.ts';
import { InputError, UsageError } from './io.ts';

export const CLUSTER_FLAGS = {
  kubeconfig: flag('--kubeconfig <file>', 'how to reach the cluster; default: $KUBECONFIG, then ~/.kube/config'),
  context: flag('--context <name>', 'context of the kubeconfig'),
};

/** Where objects come from. `everywhere`: all namespaces are looked at unless one is named. */
export const inputFlags = (everywhere = false) => ({
  filename: flag('-f, --filename <file|dir|->', 'files in place of a cluster (YAML, JSON); may be repeated', collect),
  ...CLUSTER_FLAGS,
  namespace: flag('-n, --namespace <namespace>', `namespace; default: ${everywhere ? 'all' : 'that of the context'}`),
  allNamespaces: switchFlag('-A, --all-namespaces', `all namespaces${everywhere ? ', which is the default' : ''}`),
});

export type ClusterFlags = FlagsOf<typeof CLUSTER_FLAGS>;
export type InputFlags = Partial<FlagsOf<ReturnType<typeof inputFlags>>>;

export const OUTPUT_FORMATS = ['table', 'wide', 'json', 'yaml'] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

export const OUTPUT_FLAG = { output: choiceFlag('-o, --output <format>', 'output format', OUTPUT_FORMATS, 'table') };

/** Reads a flag; `read` gives undefined for what is not as expected. */
export const expecting =
  <T>(expected: string, read: (text: string) => T | undefined) =>
  (text: string): T => {
    const value = read(text);
    if (value === undefined) throw new InvalidArgumentError(`expected ${expected}.`);
    return value;
  };

export const versionFlag = expecting('something like 1.33 or v1.30.4', versionIn);

const gatesFlag = (text: string, previous: FeatureGates = {}): FeatureGates => {
  const gates: Partial<Record<FeatureGate, boolean>> = { ...previous };
  for (const part of text.split(',').filter((entry) => entry !== '')) {
    const [name = '', value] = part.split('=').map((piece) => piece.trim());
    const gate = FEATURE_GATES.find((known) => known === name);
    if (gate === undefined) {
      const meant = nearest(name, FEATURE_GATES);
      const hint = meant === undefined ? `known: ${FEATURE_GATES.join(', ')}.` : `did you mean ${meant}?`;
      throw new InvalidArgumentError(`unknown feature gate "${name}"; ${hint}`);
    }
    if (value !== 'true' && value !== 'false')
      throw new InvalidArgumentError(`expected ${name}=true or ${name}=false.`);
    gates[gate] = value === 'true';
  }
  return gates;
};

export const versionFlags = (of = 'the control plane and of every proxy') => ({
  kubernetesVersion: flag('--kubernetes-version <version>', `version of ${of}; default: as found`, versionFlag),
  featureGates: flag('--feature-gates <gate=bool,...>', `gates of ${of} that differ from its defaults`, gatesFlag),
});

/** Undefined, or no finite number, for what is none. */
type NumberOf = (text: string) => number | undefined;

export const numberFlag = (expected: string, numberOf: NumberOf, fits = (value: number): boolean => value > 0) =>
  expecting(expected, (text) => {
    const value = numberOf(text) ?? Number.NaN;
    return Number.isFinite(value) && fits(value) ? value : undefined;
  });

const positiveCores = numberFlag('cores above 0, like 0.5 or 500m', unitsOf);

const plainNumber = (text: string): number =>
  /^(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text) ? Number(text) : Number.NaN;

/** `70` or `70%` as the fraction 0.7. */
export const percentFlag = numberFlag('a percentage > 0, like 70', (text) => plainNumber(text.replace(/%$/, '')) / 100);

/** Reads `zone=number,zone=number`, also repeated; numbers of the same zone add up unless `combine` says otherwise. */
export const zoneNumbers =
  (expected: string, numberOf: NumberOf = unitsOf, combine = (sum: number, next: number): number => sum + next) =>
  (text: string, previous: Readonly<Record<string, number>> = {}): Record<string, number> => {
    const amounts = new Map(Object.entries(previous));
    for (const part of text.split(',').filter((entry) => entry.trim() !== '')) {
      const at = part.lastIndexOf('=');
      const [zone, amount = -1] = [part.slice(0, Math.max(at, 0)).trim(), numberOf(part.slice(at + 1).trim())];
      if (at === -1 || !(amount >= 0 && Number.isFinite(amount)))
        throw new InvalidArgumentError(`expected ${expected}, found "${part}".`);
      amounts.set(zone, combine(amounts.get(zone) ?? 0, amount));
    }
    return Object.fromEntries(amounts);
  };

/** `when`: with which other flag; `fallback`: what the capacity is by default. */
export const demandFlags = (when = '', fallback = '') => ({
  demand: flag(
    '--demand <zone=cores,...>',
    'what the clients of each zone need, in cores; may be repeated',
    zoneNumbers('zone=cores such as eu-1a=1.5'),
  ),
  capacity: flag('--capacity <cores>', `${when}what one endpoint can serve, in cores${fallback}`, positiveCores),
  targetUtilization: flag(
    '--target-utilization <percent>',
    `${when}highest load of an endpoint, percent of its capacity (default: 70)`,
    percentFlag,
  ),
});

export const weightsFlag = (text: string, previous: Weights = {}): Weights => {
  if (text === 'cpu' || text === 'nodes') return text;
  const read = zoneNumbers('cpu, nodes or zone=weight such as eu-1a=2');
  const weights = read(text, typeof previous === 'string' ? {} : previous);
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

const gigabytes = numberFlag('gigabytes, 0 or more, like 250 or 1.5e3', plainNumber, () => true);

export const PRICES_FLAG = {
  prices: flag(
    '--prices <table|file>',
    `what crossing costs: ${Object.keys(BUILT_IN_PRICES).join(', ')}, or a YAML or JSON file (default: of the cloud that labels of the Nodes show, else ${DEFAULT_PRICES})`,
  ),
};

/** `of`: whose traffic it is, e.g. `the Service`. */
export const priceFlags = (of: string) => ({
  gbPerDay: flag(
    '--gb-per-day <gigabytes>',
    `assumed traffic of ${of} a day, requests and responses together; without it there are shares only`,
    gigabytes,
  ),
  ...PRICES_FLAG,
});

/** The built-in table of that name, else the table in that file; undefined: none is named. Throws an InputError with file, line and field. */
export const readPrices = async (name?: string): Promise<PriceTable | undefined> => {
  if (name === undefined) return undefined;
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
  if (table === undefined || tables.length > 1)
    throw new InputError(name, undefined, `expected one table of prices, found ${tables.length}`);
  return table;
};
