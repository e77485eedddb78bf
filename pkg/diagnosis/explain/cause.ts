// Builds causes: the remedy comes from the table of the code.
import { REASONS } from '../../upstream/index.ts';
import type { Reason } from '../../upstream/index.ts';
import { DIAGNOSIS_REASONS } from './reasons.ts';
import type { DiagnosisReason } from './reasons.ts';
import type { Cause, CauseReason, Stage } from './types.ts';

const isDiagnosis = (reason: CauseReason): reason is DiagnosisReason => Object.hasOwn(DIAGNOSIS_REASONS, reason);

const remedyOf = (reason: CauseReason): string =>
  isDiagnosis(reason) ? DIAGNOSIS_REASONS[reason].remedy : REASONS[reason satisfies Reason].remedy;

/** `remedy`: where the evidence allows a more exact one than the table's. */
export const cause = (stage: Stage, reason: CauseReason, evidence: string, remedy?: string): Cause => ({
  reason,
  stage,
  evidence,
  remedy: remedy ?? remedyOf(reason),
});

const SHOWN = 3;

/** `a, b, c and 2 more`. */
export const listed = (names: readonly string[]): string => {
  const sorted = [...new Set(names)].sort();
  const more = sorted.length - SHOWN;
  const shown = sorted.slice(0, SHOWN);
  if (more > 0) return `${shown.join(', ')} and ${more} more`;
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1) ?? ''}`;
};

/** `1 Node`, `2 Nodes`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** Each code once, where it comes first. */
export const firstOfEach = (causes: readonly Cause[]): Cause[] => {
  const seen = new Set<CauseReason>();
  return causes.filter(({ reason }) => !seen.has(reason) && seen.add(reason));
};
