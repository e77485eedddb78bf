// The command line of `npm run bench:kep-2004`.
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';

export interface KepOptions {
  /** Every n-th case of the grid for the main table; the other figures never take more than every 401st. */
  readonly every: number;
  readonly threads: number;
  readonly resumeFile?: string | undefined;
  readonly keep: boolean;
}

export const USAGE = `usage: npm run bench:kep-2004 -- [--every N] [--threads N] [--resume FILE] [--keep]

  Computes the 39,273,145 cases of googleinterns/k8s-topology-simulator at theta = 0.2, then every 401st of them for the
  other values of theta and with the simulator's score as objective, and prints the figures beside the published ones.

  --every N      only every N-th case, for a first look (4001: seconds)
  --threads N    default: as many as there are cores
  --resume FILE  finished parts are added to this file and not computed again when it is named again: for a run that was
                 interrupted, with the same code
  --keep         write test/bench/results/kep-2004.json, which the docs are generated from (make generate)
`;

export type Parsed =
  | { readonly kind: 'run'; readonly options: KepOptions }
  | { readonly kind: 'help' }
  | { readonly kind: 'wrong'; readonly message: string };

const wholeNumber = (text: string): number | undefined => (/^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined);

export const parseOptions = (args: readonly string[]): Parsed => {
  let values;
  try {
    ({ values } = parseArgs({
      args: [...args],
      options: {
        every: { type: 'string', default: '1' },
        threads: { type: 'string', default: String(availableParallelism()) },
        resume: { type: 'string' },
        keep: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }));
  } catch (error) {
    return { kind: 'wrong', message: (error as Error).message };
  }
  if (values.help) return { kind: 'help' };
  const [every, threads] = [wholeNumber(values.every), wholeNumber(values.threads)];
  if (every === undefined)
    return { kind: 'wrong', message: `--every takes a whole number above 0, got ${values.every}` };
  if (threads === undefined)
    return { kind: 'wrong', message: `--threads takes a whole number above 0, got ${values.threads}` };
  return { kind: 'run', options: { every, threads, resumeFile: values.resume, keep: values.keep } };
};
