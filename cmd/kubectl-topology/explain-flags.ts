// Flags of `explain`, the options that follow from them, and what a command fails on.
import type { Command } from 'commander';
import type { ExplainOptions } from '../../pkg/diagnosis/explain/types.ts';
import { DIAGNOSIS_REASONS } from '../../pkg/diagnosis/explain/reasons.ts';
import { EVIDENCE, OBJECTS } from '../../pkg/diagnosis/snapshot.ts';
import type { CollectionName } from '../../pkg/diagnosis/snapshot.ts';
import { REASONS } from '../../pkg/upstream/reasons.ts';
import { addInputFlags, addVersionFlags } from './flags.ts';
import type { InputFlags, VersionFlags } from './flags.ts';
import type { Io } from './io.ts';
import { addProxyFlags, statedBy } from './proxy-flags.ts';
import type { ProxyFlags } from './proxy-flags.ts';
import { reasonsFlag } from './reasons-flag.ts';

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
