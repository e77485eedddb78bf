// Flags of `npm run fuzz`.
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { SHARES } from './targets/index.ts';

export interface FuzzOptions {
  /** Of all targets together, by their shares. */
  readonly inputs: number;
  readonly seed: number;
  /** Empty: all. */
  readonly targets: readonly string[];
  /** Only the input of this index. */
  readonly only: number | undefined;
  readonly json: boolean;
  readonly coverage: boolean;
  /** Targets that are fed at the same time. */
  readonly threads: number;
  /** A thread that is at one input for so long hangs. */
  readonly hangSeconds: number;
}

export const USAGE = `Feeds hostile documents to everything that reads what others wrote.

  --inputs N        of all targets together, default 100000
  --seed N          default: one that the time gives, and that is printed
  --target NAME     only this one, may be repeated: ${Object.keys(SHARES).join(', ')}
  --only INDEX      only the input of this index; needs --target and --seed
  --hang-seconds N  a thread that reckons at one input for so long hangs; default 30
  --threads N       targets at a time, default: one a processor
  --no-coverage     do not measure branches
  --json            print the result as JSON
`;

/** Far more than any input takes on a busy machine. */
const HANG_SECONDS = '30';

const whole = (name: string, text: string | undefined): number => {
  if (text === undefined || !/^\d{1,9}$/.test(text)) throw new Error(`--${name} must be a whole number`);
  return Number(text);
};

export const readOptions = (args: readonly string[], seed: number): FuzzOptions | undefined => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      inputs: { type: 'string', default: '100000' },
      seed: { type: 'string', default: String(seed) },
      target: { type: 'string', multiple: true, default: [] },
      only: { type: 'string' },
      'hang-seconds': { type: 'string', default: HANG_SECONDS },
      threads: { type: 'string', default: String(availableParallelism()) },
      'no-coverage': { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  const unknown = values.target.find((name) => SHARES[name] === undefined);
  if (unknown !== undefined) throw new Error(`there is no target ${unknown}: ${Object.keys(SHARES).join(', ')}`);
  return {
    inputs: whole('inputs', values.inputs),
    seed: whole('seed', values.seed),
    targets: values.target,
    only: values.only === undefined ? undefined : whole('only', values.only),
    json: values.json,
    coverage: !values['no-coverage'],
    threads: Math.max(1, whole('threads', values.threads)),
    hangSeconds: whole('hang-seconds', values['hang-seconds']),
  };
};
