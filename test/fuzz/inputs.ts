// Makes the inputs of a target from a seed: the same seed, target and index always give the same input.
import { createHash } from 'node:crypto';
import { createRandom } from '../e2e/chaos-faults.ts';
import type { Random } from '../e2e/chaos-faults.ts';
import { changeFields, damage, wordsOf } from './mutate.ts';
import { print } from './print.ts';
import type { Input, OpenTarget, Sample, Target } from './types.ts';

/** Three of four: well above the half that must be valid documents with a few fields changed. */
const FIELDS_SHARE = 0.75;

const numberOf = (...parts: readonly (string | number)[]): number =>
  createHash('sha256').update(parts.join('/')).digest().readUInt32LE();

const printed = ({ print: asText }: OpenTarget, { name, value }: Sample, random: Random): Buffer => {
  try {
    return Buffer.from(asText === undefined ? print(value) : asText(value, random, name));
  } catch {
    return Buffer.from(print(value));
  }
};

export interface Inputs {
  /** `leaveOut`: indices of changes that are not made. */
  make(index: number, leaveOut?: ReadonlySet<number>): Input;
}

export const createInputs = (target: Target, opened: OpenTarget, seed: number): Inputs => {
  const words = [...wordsOf(opened.samples.map(({ value }) => value))];
  return {
    make(index, leaveOut = new Set()) {
      const own = numberOf(seed, target.name, index);
      const random = createRandom(own);
      const chosen = random.pick(opened.samples);
      const { name: sample, value } = chosen;
      const common = { index, sample, random: createRandom(numberOf(own, 'run')) };
      const style = createRandom(numberOf(own, 'print'));
      if (target.bytes && random.next() >= FIELDS_SHARE) {
        return { ...common, kind: 'bytes', ...damage(printed(opened, chosen, style), random) };
      }
      const seeds = Array.from({ length: 1 + random.below(3) }, (_, change) => numberOf(own, change));
      const changed = changeFields(
        value,
        seeds.filter((_, change) => !leaveOut.has(change)),
        words,
      );
      return {
        ...common,
        kind: 'fields',
        text: printed(opened, { name: sample, value: changed.value }, style),
        changes: changed.changes,
      };
    },
  };
};
