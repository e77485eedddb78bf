// The command line of the benchmarks.
import { parseArgs } from 'node:util';

export const BENCHMARKS = ['webhook', 'kubectl-topology'] as const;
export type Benchmark = (typeof BENCHMARKS)[number];

export interface BenchOptions {
  /** Empty: only write the docs anew from the results that are there. */
  readonly benchmarks: readonly Benchmark[];
  readonly quick: boolean;
  readonly writeDocs: boolean;
  /** Measures nothing but the webhook, beside that of this commit. */
  readonly against: string | undefined;
}

export type ParsedOptions =
  | { readonly kind: 'run'; readonly options: BenchOptions }
  | { readonly kind: 'help' }
  | { readonly kind: 'wrong'; readonly message: string };

export const USAGE = `usage: npm run bench -- [webhook | kubectl-topology | all | docs] [--quick] [--write-docs]
       npm run bench -- webhook --against REVISION [--quick]

  webhook           endpointslice-webhook beside a bare node:https handler and a Go program on controller-runtime
  kubectl-topology  start and audit of 5,000 Services from files and from a cluster, beside kubectl
  all               both (default)
  docs              measure nothing, write docs/development/benchmarks.md from the results in test/bench/results

  --quick           seconds instead of minutes: to see that it works; results are printed and not kept
  --write-docs      also write docs/development/benchmarks.md
  --against REV     CPU time of a review beside that of this commit of git, both in turns; printed, not kept

Examples:
  npm run bench                                 # all, results in test/bench/results
  npm run bench -- webhook --quick              # a first look
  npm run bench -- all --write-docs             # the figures of a release, on an idle machine

The Go programs need Go 1.26 or newer; without it the webhook and kubectl-topology are measured alone.
`;

const wrong = (message: string): ParsedOptions => ({ kind: 'wrong', message });

const benchmarksOf = (name: string): readonly Benchmark[] | undefined => {
  if (name === 'all') return BENCHMARKS;
  if (name === 'docs') return [];
  return BENCHMARKS.filter((benchmark) => benchmark === name);
};

/** Reads the arguments after the program's name. */
export const parseOptions = (args: readonly string[]): ParsedOptions => {
  let parsed;
  try {
    parsed = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        quick: { type: 'boolean', default: false },
        'write-docs': { type: 'boolean', default: false },
        against: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    return wrong((error as Error).message);
  }
  const { values, positionals } = parsed;
  if (values.help) return { kind: 'help' };
  const [name = 'all', ...more] = positionals;
  const benchmarks = benchmarksOf(name);
  if (benchmarks === undefined || (benchmarks.length === 0 && name !== 'docs'))
    return wrong(`there is no benchmark "${name}"`);
  if (more.length > 0) return wrong(`one benchmark at a time, or all: ${positionals.join(' ')}`);
  if (values.quick && values['write-docs']) return wrong('figures of a --quick run are not for the docs');
  if (values.against !== undefined && (name !== 'webhook' || values['write-docs']))
    return wrong('--against is for the webhook, and not for the docs');
  return {
    kind: 'run',
    options: {
      benchmarks,
      quick: values.quick,
      writeDocs: values['write-docs'] || name === 'docs',
      against: values.against,
    },
  };
};
