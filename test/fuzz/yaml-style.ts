// Prints documents as people write them: YAML in blocks, in one line, or the JSON that YAML takes as well.
import { stringify } from 'yaml';
import type { Random } from '../e2e/chaos-faults.ts';
import { hasRaw, print } from './print.ts';

/** Throws where YAML cannot say it. */
export const yamlStyle = (value: unknown, random: Random): string => {
  const dice = random.below(4);
  if (hasRaw(value)) return print(value);
  switch (dice) {
    case 0:
      return print(value);
    case 1:
      return stringify(value, { collectionStyle: 'flow' });
    default:
      return stringify(value, { aliasDuplicateObjects: false });
  }
};
