// The names most like one that does not exist, by edit distance.

/** Fewest insertions, deletions, replacements and swaps of neighbours that turn one text into the other. */
export const editDistance = (left: string, right: string): number => {
  let before: number[] = [];
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const same = left[row - 1] === right[column - 1];
      let best = Math.min(
        (previous[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (previous[column - 1] ?? 0) + (same ? 0 : 1),
      );
      const swapped =
        row > 1 && column > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      if (swapped) best = Math.min(best, (before[column - 2] ?? 0) + 1);
      current.push(best);
    }
    [before, previous] = [previous, current];
  }
  return previous[right.length] ?? 0;
};

/** The nearest of the candidates; undefined where none is near enough to be meant. Ties go to the first in text order. */
export const nearest = (wanted: string, candidates: readonly string[]): string | undefined => {
  let best: string | undefined;
  let least = Math.max(2, Math.floor(wanted.length / 3));
  for (const candidate of [...candidates].sort()) {
    const distance = editDistance(wanted.toLowerCase(), candidate.toLowerCase());
    if (distance < least || (distance === least && best === undefined)) [best, least] = [candidate, distance];
  }
  return best ?? candidates.find((candidate) => wanted !== '' && candidate.startsWith(wanted));
};
