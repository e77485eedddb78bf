// The layers of the project as data, and the rule that arrows between them only point down.
import { isBuiltin } from 'node:module';
import { type SourceFile, withoutComments } from './sources.ts';

interface Layer {
  /** Other layers that this one may import. */
  readonly layers: readonly string[];
  /** Packages from the registry that it may import. */
  readonly packages: readonly string[];
  /** Node's built-in modules that it may import; `all` for layers that do I/O. */
  readonly builtins: readonly string[] | 'all';
  /** Decisions only: no clock, no randomness, no process, no timers. */
  readonly pure: boolean;
}

const PURE = [
  'routing',
  'gardener',
  'hints',
  'evacuation',
  'upstream',
  'flow',
  'diagnosis',
  'kubeedge',
  'traffic',
] as const;
const pure = (...layers: string[]): Layer => ({ layers: ['apis', ...layers], packages: [], builtins: [], pure: true });
const io = (layers: readonly string[], ...packages: string[]): Layer => ({
  layers: ['apis', ...layers],
  packages,
  builtins: 'all',
  pure: false,
});

/** Which layer may import what. `cmd` is each command's composition root and may import everything below it. */
export const LAYERS: Readonly<Record<string, Layer>> = {
  apis: { layers: [], packages: ['@sinclair/typebox', 'ajv', 'js-yaml', 'yaml'], builtins: [], pure: true },
  routing: pure(),
  gardener: pure('routing'),
  hints: pure('routing'),
  evacuation: pure('routing', 'hints'),
  upstream: pure('routing'),
  flow: pure('routing', 'upstream', 'hints', 'evacuation'),
  diagnosis: pure('routing', 'gardener', 'hints', 'evacuation', 'upstream', 'flow', 'traffic'),
  kubeedge: pure('routing'),
  traffic: pure('hints'),
  telemetry: io([], 'winston', 'prom-client', 'express'),
  kubernetes: io(['telemetry'], 'undici', '@kubernetes/client-node', 'yaml'),
  metrics: io(['telemetry', 'kubernetes', 'flow', 'traffic'], 'undici'),
  installation: io(['telemetry', 'kubernetes']),
  webhook: io([...PURE, 'telemetry', 'kubernetes', 'installation'], 'express'),
  controllers: io([...PURE, 'telemetry', 'kubernetes', 'metrics', 'installation']),
  report: io([...PURE], 'yaml'),
  cmd: io(
    [...PURE, 'telemetry', 'kubernetes', 'metrics', 'installation', 'webhook', 'controllers', 'report'],
    'commander',
    'js-yaml',
    'yaml',
  ),
};

/** The only file that loads client-node at run time; all others use its types. */
const CLIENT_NODE_FILE = 'pkg/kubernetes/kubeconfig.ts';

const IMPURE = [
  [/\bDate\.now\b|\bnew Date\(\s*\)/, 'reads the clock'],
  [/\bMath\.random\b|\bcrypto\b/, 'reads random numbers'],
  [/\bperformance\./, 'reads the clock'],
  [/\bprocess\./, 'reads the process'],
  [/\bset(?:Timeout|Interval|Immediate)\b/, 'starts a timer'],
  [/\bfetch\(/, 'talks to the network'],
  [/\bconsole\./, 'writes output'],
] as const;

export const layerOf = (path: string): string | undefined => {
  const [top, second] = path.split('/');
  if (top === 'cmd') return 'cmd';
  return top === 'pkg' ? second : undefined;
};

const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

const checkImport = (
  file: SourceFile,
  name: string,
  layer: Layer,
  statement: SourceFile['imports'][number],
): string[] => {
  const at = `${file.path}:${statement.line}`;
  if (statement.target !== undefined) {
    const target = layerOf(statement.target);
    if (target === undefined) return [`${at}: imports ${statement.target}, which is not part of the product`];
    if (target === 'cmd' && name === 'cmd') {
      const same =
        file.path.split('/')[1] === statement.target.split('/')[1] || statement.target.startsWith('cmd/shared/');
      return same ? [] : [`${at}: one command imports another: ${statement.target}`];
    }
    if (target === name || layer.layers.includes(target)) return [];
    return [`${at}: layer ${name} must not import layer ${target} (${statement.target})`];
  }
  if (isBuiltin(statement.specifier)) {
    if (layer.builtins === 'all' || layer.builtins.includes(statement.specifier)) return [];
    return [`${at}: layer ${name} does no I/O and must not import ${statement.specifier}`];
  }
  const imported = packageOf(statement.specifier);
  if (imported === '@kubernetes/client-node' && (statement.typeOnly || file.path === CLIENT_NODE_FILE)) return [];
  if (imported === '@kubernetes/client-node') return [`${at}: only ${CLIENT_NODE_FILE} loads client-node at run time`];
  return layer.packages.includes(imported) ? [] : [`${at}: layer ${name} must not import package ${imported}`];
};

const checkPurity = (file: SourceFile): string[] =>
  withoutComments(file.text)
    .replaceAll(/'(?:[^'\\\n]|\\.)*'/g, "''")
    .split('\n')
    .flatMap((line, index) =>
      IMPURE.filter(([pattern]) => pattern.test(line)).map(
        ([, what]) => `${file.path}:${index + 1}: a pure package ${what}: ${line.trim()}`,
      ),
    );

/** A file of another layer that calls itself pure in its first sentence: a decision next to the code that carries it out. */
const callsItselfPure = ({ text }: SourceFile): boolean => /^(?:\/\/.*\n)*\/\/.*\bPure\.\n/.test(text);

/** Compares, and does nothing else. */
const PURE_BUILTINS = new Set(['node:util']);

/** What such a file runs is pure as well: packages that are, and files that call themselves so. Types may come from anywhere. */
const checkDeclared = (file: SourceFile, pureFiles: ReadonlySet<string>): string[] =>
  file.imports
    .filter(({ typeOnly }) => !typeOnly)
    .flatMap(({ target, specifier, line }) => {
      const ok =
        target === undefined
          ? PURE_BUILTINS.has(specifier)
          : pureFiles.has(target) || LAYERS[layerOf(target) ?? '']?.pure === true;
      return ok ? [] : [`${file.path}:${line}: a file that calls itself pure must not run ${target ?? specifier}`];
    });

/** One message per arrow that points up or sideways and per impurity; empty when the structure holds. */
export const checkLayers = (files: readonly SourceFile[]): string[] => {
  const declared = files.filter((file) => layerOf(file.path) !== undefined && callsItselfPure(file));
  const pureFiles = new Set(declared.map(({ path }) => path));
  return files.flatMap((file) => {
    const name = layerOf(file.path);
    if (name === undefined) return [];
    const layer = LAYERS[name];
    if (layer === undefined) return [`${file.path}: pkg/${name} is not a known layer; add it to hack/lib/layers.ts`];
    const beside = !layer.pure && pureFiles.has(file.path);
    return [
      ...file.imports.flatMap((statement) => checkImport(file, name, layer, statement)),
      ...(layer.pure || beside ? checkPurity(file) : []),
      ...(beside ? checkDeclared(file, pureFiles) : []),
    ];
  });
};
