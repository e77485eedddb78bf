// `audit --without ZONE`: the flags of the question, what it reads, and its answer.
import { InvalidArgumentError } from 'commander';
import { defined } from '../../pkg/apis/values.ts';
import { type CollectionName, itemsOf, unseenOf } from '../../pkg/diagnosis/snapshot.ts';
import { survival, unknownZone } from '../../pkg/diagnosis/survival/survival.ts';
import { renderSurvival } from '../../pkg/report/evacuation.ts';
import { type FlagsOf, flag } from './command.ts';
import { type ExitCode, type Io, UsageError } from './io.ts';
import { type InputFlags, type OutputFormat, percentFlag } from './flags.ts';
import { readMeasured } from './measured-flags.ts';
import { print } from './output.ts';
import { statedBy } from './model-flags.ts';
import { type Loaded, load, withMore } from './session.ts';

const zonesFlag = (text: string, previous: readonly string[] = []): readonly string[] => {
  const zones = text.split(',').map((zone) => zone.trim());
  if (zones.includes('')) throw new InvalidArgumentError('expected zones such as eu-1a or eu-1a,eu-1b.');
  return [...new Set([...previous, ...zones])];
};

/** What may be above before a Service counts as overloaded; fractions. */
export const LIMIT_FLAGS = {
  maxUtilization: flag(
    '--max-utilization <percent>',
    'overloaded above this share of capacity, where a FlowPolicy measures load (default: 100)',
    percentFlag,
  ),
  maxOverload: flag(
    '--max-overload <percent>',
    'overloaded this far above a fair share of today, where load is not measured (default: 100, twice as much)',
    percentFlag,
  ),
};

export const WITHOUT_FLAGS = {
  without: flag(
    '--without <zone,...>',
    'would every Service survive losing this zone? Exit code 1: no. May be repeated, for several at once',
    zonesFlag,
  ),
  ...LIMIT_FLAGS,
};

export const limitsOf = ({ maxUtilization, maxOverload }: FlagsOf<typeof LIMIT_FLAGS>) =>
  defined({ maxUtilization, maxOverload });

const NEEDS: readonly CollectionName[] = ['nodes', 'services', 'slices', 'routers', 'flowPolicies'];

/** Reads all that the question needs. @throws UsageError where it cannot be answered, as for a zone that nothing is in. */
export const loadForSurvival = async (flags: InputFlags, zones: readonly string[], io: Io): Promise<Loaded> => {
  const { snapshot, namespace } = await load(flags, NEEDS, io);
  const [unseen] = unseenOf(snapshot, ['services', 'slices']);
  if (unseen !== undefined) throw new UsageError(`${unseen.what} cannot be read: ${unseen.why}`);
  const stranger = unknownZone(snapshot, zones);
  if (stranger !== undefined) throw new UsageError(stranger);
  // Pods show what an endpoint can do where a FlowPolicy takes it from their requests: they are read only then.
  const needsPods = itemsOf(snapshot.flowPolicies).some((own) => own.demand && own.capacityFrom === 'Requests');
  return { snapshot: needsPods ? await withMore(snapshot, ['pods'], flags, io) : snapshot, namespace };
};

const EXCLUDED = ['failOn', 'gbPerDay', 'html', 'prices', 'reverse'] as const;

type AuditFlags = Parameters<typeof statedBy>[0] &
  Parameters<typeof readMeasured>[1] &
  FlagsOf<typeof LIMIT_FLAGS> & { readonly [K in (typeof EXCLUDED)[number]]?: unknown } & {
    readonly output: OutputFormat | 'sarif';
  };

/** Answers by its exit code as well: 0 yes, 1 no. `flags`: of `audit`, with a namespace or all. */
export const answerWithout = async (io: Io, flags: AuditFlags, zones: readonly string[]): Promise<ExitCode> => {
  const { output } = flags;
  if (output === 'sarif') throw new UsageError(`--without has no output ${output}`);
  const other = EXCLUDED.find((name) => flags[name] !== undefined);
  if (other !== undefined) {
    const name = other.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    throw new UsageError(`--without and --${name} exclude each other`);
  }
  const { snapshot, namespace } = await loadForSurvival(flags, zones, io);
  const measured = await readMeasured(snapshot, flags, io);
  const asked = { zones, now: io.now(), ...limitsOf(flags), ...defined({ measured, namespace }) };
  const report = survival(snapshot, { ...asked, ...statedBy(flags) });
  await print(io, output, report, (style) => renderSurvival(report, style));
  return report.survives ? 0 : 1;
};
