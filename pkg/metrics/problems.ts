// Counts what is wrong with samples, and says it in a few sentences whose length does not depend on the answer.

/** Longest name of an answer that is quoted; a Pod's has at most 253 characters. */
const MAX_QUOTED = 80;

const MAX_SENTENCES = 10;

/** A text of another writer, in quotes, without control characters and not longer than a line. */
export const quoted = (text: string): string => {
  const cut = text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text;
  return JSON.stringify(cut.toWellFormed().replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/gu, '�'));
};

export interface Problems {
  /** Counts one of a kind; `example` is shown for the first, for example the name of a Pod. */
  count(kind: string, example?: string): void;
  /** A sentence as it is; repeated ones are reported once. */
  say(sentence: string): void;
  /** In the order in which they came up first. */
  sentences(): string[];
}

export const createProblems = (): Problems => {
  const kinds = new Map<string, { count: number; readonly example: string | undefined }>();
  const said = new Set<string>();
  return {
    count(kind, example) {
      const known = kinds.get(kind);
      if (known === undefined) kinds.set(kind, { count: 1, example });
      else known.count += 1;
    },
    say(sentence) {
      said.add(sentence);
    },
    sentences() {
      const counted = [...kinds].map(([kind, { count, example }]) => {
        const which = example === undefined ? '' : `, ${count === 1 ? 'of' : 'first of'} ${quoted(example)}`;
        return `${count} ${count === 1 ? 'sample' : 'samples'} left out: ${kind}${which}`;
      });
      const all = [...said, ...counted];
      if (all.length <= MAX_SENTENCES) return all;
      return [...all.slice(0, MAX_SENTENCES), `and ${all.length - MAX_SENTENCES} more problems`];
    },
  };
};

/** Says which of the Pods that were asked for have no sample; nothing where all have one. */
export const sayMissing = (problems: Problems, pods: ReadonlySet<string>, found: ReadonlySet<string>): void => {
  const missing = [...pods].filter((pod) => !found.has(pod)).sort();
  const [first] = missing;
  if (first === undefined) return;
  problems.say(`${missing.length} of ${pods.size} Pods without a sample, first of ${quoted(first)}`);
};
