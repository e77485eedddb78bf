// A flag whose value is a list of words that are known: what is none of them is refused with the nearest one.
import { InvalidArgumentError } from 'commander';
import { nearest } from '../../pkg/diagnosis/nearest.ts';

/** Reads words separated by commas; `none`: what a word that is not in `known` is said to be. */
export const reasonsFlag =
  (known: readonly string[], none: string) =>
  (text: string): readonly string[] => {
    const wanted = text.split(',').map((part) => part.trim());
    for (const part of wanted) {
      if (known.includes(part)) continue;
      const meant = nearest(part, known);
      const hint = meant === undefined ? 'see the reference of reasons.' : `did you mean ${meant}?`;
      throw new InvalidArgumentError(`"${part}" is ${none}; ${hint}`);
    }
    return wanted;
  };
