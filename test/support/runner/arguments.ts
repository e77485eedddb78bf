// The command line and .mocharc.yaml, read as mocha reads them.
import { createRequire } from 'node:module';
import type { MochaOptions } from 'mocha';

/** Its types leave out the command line. */
const { loadOptions } = createRequire(import.meta.url)('mocha/lib/cli/options.cjs') as {
  loadOptions(
    argv: readonly string[],
  ): MochaOptions & { readonly _: readonly (string | number)[]; readonly require: readonly string[] };
};

/** `wanted`: sets and globs; the rest is for mocha. */
export const parseArguments = (argv: readonly string[]) => {
  const { _: words, ...options } = loadOptions(argv);
  return { wanted: words.length > 0 ? words.map(String) : ['quick'], options };
};
