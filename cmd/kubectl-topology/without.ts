// `audit --without ZONE`: the flags of the question, what it reads, and its answer.
import { type Command, InvalidArgumentError } from 'commander';
import { defined } from '../../pkg/apis/values.ts';
import { type ClusterSnapshot, type CollectionName, itemsOf } from '../../pkg/diagnosis/snapshot.ts';
import { survival, unknownZone } from '../../pkg/diagnosis/survival/survival.ts';
import type { SurvivalOptions } from '../../pkg/diagnosis/survival/service.ts';
import { renderSurvival } from '../../pkg/report/evacuation.ts';
import { type ExitCode, type Io, UsageError, wantsColor } from './io.ts';
import { type InputFlags, type OutputFlags, type PriceFlags, type VersionFlags, percentFlag } from './flags.ts';
import { type MeasuredFlags, readMeasured } from './measured-flags.ts';
import { print } from './output.ts';
import { type ProxyFlags, statedBy } from './model-flags.ts';
import { type Loaded, load } from './session.ts';

/** What may be above before a Service counts as overloaded; fractions. */
export interface LimitFlags {
  maxUtilization?: number;
  maxOverload?: number;
}

export interface WithoutFlags extends InputFlags, VersionFlags, ProxyFlags, OutputFlags, LimitFlags, MeasuredFlags {
  without?: readonly string[];
}

const zonesFlag = (text: string, previous: readonly string[] = []): readonly string[] => {
  const zones = text.split(',').map((zone) => zone.trim());
  if (zones.includes('')) throw new InvalidArgumentError('expected zones such as eu-1a or eu-1a,eu-1b.');
  return [...new Set([...previous, ...zones])];
};

export const addLimitFlags = (command: Command): Command =>
  command
    .option(
      '--max-utilization <percent>',
      'overloaded above this share of capacity, where a FlowPolicy measures load (default: 100)',
      percentFlag,
    )
    .option(
      '--max-overload <percent>',
      'overloaded this far above a fair share of today, where load is not measured (default: 100, twice as much)',
      percentFlag,
    );

export const addWithoutFlags = (command: Command): Command =>
  addLimitFlags(
    command.option(
      '--without <zone,...>',
      'would every Service survive losing this zone? Exit code 1: no. May be repeated, for several at once',
      zonesFlag,
    ),
  );

export const SURVIVAL_NEEDS: readonly CollectionName[] = ['nodes', 'services', 'slices', 'routers', 'flowPolicies'];

/** Pods show what an endpoint can do where a FlowPolicy takes it from their requests: they are read only then. */
const withPods = async ({ snapshot }: Loaded, flags: InputFlags, io: Io): Promise<ClusterSnapshot> => {
  const asked = itemsOf(snapshot.flowPolicies).some(
    ({ demand, capacityFrom }) => demand !== undefined && capacityFrom === 'Requests',
  );
  if (!asked || flags.filename !== undefined) return snapshot;
  return { ...snapshot, pods: (await load(flags, ['pods'], io)).snapshot.pods };
};

/** Reads all that the question needs. @throws UsageError where it cannot be answered. */
export const loadForSurvival = async (flags: InputFlags, io: Io): Promise<Loaded> => {
  const loaded = await load(flags, SURVIVAL_NEEDS, io);
  for (const what of ['services', 'slices'] as const) {
    const collection = loaded.snapshot[what];
    if (collection.kind === 'unknown') throw new UsageError(`${what} cannot be read: ${collection.why}`);
  }
  return { ...loaded, snapshot: await withPods(loaded, flags, io) };
};

/** @throws UsageError for a zone that nothing is in. */
export const refuseUnknownZone = (snapshot: ClusterSnapshot, zones: readonly string[]): void => {
  const stranger = unknownZone(snapshot, zones);
  if (stranger !== undefined) throw new UsageError(stranger);
};

export const limitsOf = ({ maxUtilization, maxOverload }: LimitFlags): Pick<SurvivalOptions, keyof LimitFlags> =>
  defined({ maxUtilization, maxOverload });

const EXCLUDED = ['failOn', 'gbPerDay', 'html', 'prices', 'reverse'] as const;

/** Answers by its exit code as well: 0 yes, 1 no. `flags`: of `audit`, with a namespace or all. */
export const answerWithout = async (
  io: Io,
  flags: WithoutFlags & PriceFlags & { readonly failOn?: unknown; readonly html?: unknown; readonly reverse?: unknown },
  zones: readonly string[],
): Promise<ExitCode> => {
  const other = EXCLUDED.find((name) => flags[name] !== undefined);
  if (other !== undefined) {
    const flag = other.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    throw new UsageError(`--without and --${flag} exclude each other`);
  }
  const { snapshot, namespace } = await loadForSurvival(flags, io);
  refuseUnknownZone(snapshot, zones);
  const measured = await readMeasured(snapshot, flags, io);
  const report = survival(snapshot, {
    zones,
    now: io.now(),
    ...statedBy(flags),
    ...limitsOf(flags),
    ...defined({ measured, namespace }),
  });
  await print(io, flags.output, report, (wide) =>
    renderSurvival(report, { wide, color: wantsColor(io), columns: io.out.columns }),
  );
  return report.survives ? 0 : 1;
};
