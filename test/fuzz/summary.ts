// What a run came to: one row a target, what failed with the command that plays it again, and whether all is well.
import { renderTable } from '../../pkg/report/text.ts';
import { bestOf, sumBranches } from './coverage.ts';
import type { FileBranches } from './coverage.ts';
import type { FuzzOptions } from './options.ts';
import type { Failure } from './protocol.ts';
import type { Fed } from './thread.ts';

const MEBIBYTE = 1024 * 1024;
/** What caches and compiled code may add between a tenth of the inputs and the last; a leak of one document an input is far more. */
const MAX_GROWTH_BYTES = 48 * MEBIBYTE;

export interface TargetSummary {
  readonly target: string;
  readonly inputs: number;
  /** Of them, valid documents with one to three fields changed. */
  readonly fieldsChanged: number;
  readonly inputsPerSecond: number;
  readonly slowest: { readonly index: number; readonly milliseconds: number };
  readonly heapGrowthBytes: number;
  readonly branches: FileBranches;
  readonly failed: number;
  readonly failures: readonly (Failure & { readonly replay: string })[];
}

export interface Summary {
  readonly ok: boolean;
  readonly seed: number;
  readonly inputs: number;
  readonly fieldsChanged: number;
  readonly seconds: number;
  /** Of all files that any target loaded; a file counts with the target that reached most of it. */
  readonly branches: FileBranches;
  readonly targets: readonly TargetSummary[];
}

const NOTHING = {
  inputs: { fields: 0, bytes: 0 },
  failed: 1,
  slowest: { index: 0, milliseconds: 0 },
  milliseconds: 0,
  heap: { early: 0, end: 0 },
  covered: { taken: 0, all: 0 },
  branches: {},
};

const rowOf = ({ target, result, failures }: Fed, seed: number): TargetSummary => {
  const { inputs, failed, slowest, milliseconds, heap, covered } = result ?? NOTHING;
  const all = inputs.fields + inputs.bytes;
  return {
    target,
    inputs: all,
    fieldsChanged: inputs.fields,
    inputsPerSecond: milliseconds === 0 ? 0 : Math.round((all / milliseconds) * 1_000),
    slowest: { ...slowest, milliseconds: Math.round(slowest.milliseconds) },
    heapGrowthBytes: heap.end - heap.early,
    branches: covered,
    failed,
    failures: failures.map((failure) => ({
      ...failure,
      replay: `npm run fuzz -- --seed ${seed} --target ${target} --only ${failure.index}`,
    })),
  };
};

const grows = ({ heapGrowthBytes }: TargetSummary): boolean => heapGrowthBytes > MAX_GROWTH_BYTES;

export const summarize = (
  fed: readonly Fed[],
  { seed, only }: Pick<FuzzOptions, 'seed' | 'only'>,
  milliseconds: number,
): Summary => {
  const targets = fed.map((one) => rowOf(one, seed));
  const sum = (of: (row: TargetSummary) => number): number => targets.reduce((total, row) => total + of(row), 0);
  const [inputs, fieldsChanged] = [sum((row) => row.inputs), sum((row) => row.fieldsChanged)];
  const enough = only !== undefined || fieldsChanged * 2 >= inputs;
  return {
    ok: enough && targets.every((row) => row.failed === 0 && row.failures.length === 0 && !grows(row)),
    seed,
    inputs,
    fieldsChanged,
    seconds: Math.round(milliseconds / 100) / 10,
    branches: sumBranches(bestOf(fed.map(({ result }) => result?.branches ?? {})), ['']),
    targets,
  };
};

const percentOf = ({ taken, all }: FileBranches): string =>
  all === 0 ? '-' : `${((taken / all) * 100).toFixed(1)} % of ${all}`;

const failureText = ({ target }: TargetSummary, failure: TargetSummary['failures'][number]): string => {
  const { index, kind, sample, changes, error, text, replay } = failure;
  const lines = [
    `FAIL ${target}, input ${index} (${kind}${sample === '' ? '' : `, from "${sample}"`})`,
    `  changed: ${changes.join('; ')}`,
    ...error.split('\n').map((line) => `  ${line}`),
    ...(text === '' ? [] : [`  shrunk input: ${JSON.stringify(text)}`]),
    `  again: ${replay}`,
  ];
  return `${lines.join('\n')}\n\n`;
};

/** For people: failures first, then the table. */
export const summaryText = (summary: Summary): string => {
  const { targets, inputs, fieldsChanged, seconds, seed, branches, ok } = summary;
  const failures = targets.flatMap((row) => row.failures.map((failure) => failureText(row, failure)));
  const leaks = targets
    .filter(grows)
    .map((row) => `FAIL ${row.target}: the heap grew by ${Math.round(row.heapGrowthBytes / MEBIBYTE)} MiB\n\n`);
  const table = renderTable(
    ['TARGET', 'INPUTS', 'FIELDS CHANGED', 'A SECOND', 'SLOWEST', 'HEAP', 'BRANCHES', 'FAILED'],
    targets.map((row) => [
      row.target,
      String(row.inputs),
      row.inputs === 0 ? '-' : `${Math.round((row.fieldsChanged / row.inputs) * 100)} %`,
      String(row.inputsPerSecond),
      `${row.slowest.milliseconds} ms (${row.slowest.index})`,
      `${(row.heapGrowthBytes / MEBIBYTE).toFixed(1)} MiB`,
      percentOf(row.branches),
      String(row.failed),
    ]),
  );
  const share = inputs === 0 ? 0 : Math.round((fieldsChanged / inputs) * 100);
  return [
    ...failures,
    ...leaks,
    table,
    `\n${inputs} inputs in ${seconds} s with seed ${seed}, ${share} % of them valid documents with one to three fields changed.\n`,
    `Branches (blocks that V8 counts) of all files that were loaded: ${percentOf(branches)}.\n`,
    `${ok ? 'ok' : 'FAILED'}: no crash, no hang and no answer outside the protocol ${ok ? 'was found' : 'was expected'}.\n`,
  ].join('');
};
