// SPDX-License-Identifier: Apache-2.0
// How an operation on an Extension ends: only a configuration that cannot be followed is an error, and it is the user's. Pure.
import type { OperationType } from '../../apis/extension.ts';
import { assessReading, describeProblems } from './assess.ts';
import { extensionClassOf, extensionNameOf } from './governing.ts';
import type { Outcome } from './status.ts';
import type { Governing, ReadExtension } from './types.ts';

export interface OutcomeInput {
  readonly extension: ReadExtension;
  readonly type: OperationType;
  /** Where the class of this Extension is read from. */
  readonly home: string;
  /** The Extension whose configuration counts there; undefined while the cache has none yet. */
  readonly governing: Governing | undefined;
}

const SUCCEEDED: Outcome = { kind: 'succeeded' };

const misconfigured = (description: string): Outcome => ({
  kind: 'failed',
  description,
  code: 'ERR_CONFIGURATION_PROBLEM',
});

/**
 * Effect is not waited for: routing that does nothing is what the condition tells. Who leaves (Delete, Migrate) leaves,
 * whatever the configuration says.
 */
export const decideOutcome = ({ extension, type, home, governing }: OutcomeInput): Outcome => {
  if (type === 'Delete' || type === 'Migrate') return SUCCEEDED;
  const name = extensionNameOf(extension);
  const own = extensionClassOf(extension) ?? 'shoot';
  if (extension.metadata?.namespace !== home) {
    return misconfigured(`Extension ${name}: class ${own} counts in namespace ${home} only`);
  }
  if (governing !== undefined && governing.name !== name) {
    return misconfigured(`Extension ${name}: Extension ${governing.name} of the same class counts here; remove one`);
  }
  const reading = assessReading(extension.reading ?? { kind: 'absent' }, own);
  return reading.kind === 'invalid' ? misconfigured(describeProblems(name, reading.problems)) : SUCCEEDED;
};
