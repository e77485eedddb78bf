// The error that says where a configuration file is wrong and what would be right.

export interface ConfigProblem {
  /** 1-based line in the file. */
  readonly line: number;
  /** 1-based column in the file. */
  readonly column: number;
  /** Field path such as `modes.seed.namespaces[2]`; empty for the document as a whole. */
  readonly field: string;
  /** What is wrong and what to do, one sentence without the place. */
  readonly message: string;
  /** Values the field accepts, where there is a list of them. */
  readonly allowed?: readonly string[];
}

export const withAllowed = ({ message, allowed = [] }: Pick<ConfigProblem, 'message' | 'allowed'>): string =>
  allowed.length === 0 ? message : `${message} (allowed: ${allowed.join(', ')})`;

const render = (file: string, problem: ConfigProblem): string =>
  [`${file}:${problem.line}:${problem.column}`, problem.field, withAllowed(problem)].filter(Boolean).join(': ');

/** A configuration file that cannot be used; the message has one line a problem, in file order. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly file: string;
  readonly problems: readonly ConfigProblem[];

  constructor(file: string, problems: readonly ConfigProblem[]) {
    super(problems.map((problem) => render(file, problem)).join('\n'));
    this.file = file;
    this.problems = problems;
  }
}

export type FieldPath = readonly (string | number)[];

/** `modes.seed.excludedNamespaces[2]`; keys that are not plain words are quoted. */
export const renderPath = (path: FieldPath): string =>
  path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`;
    if (!/^[A-Za-z_][\w-]*$/.test(step)) return `${text}[${JSON.stringify(step)}]`;
    return text === '' ? step : `${text}.${step}`;
  }, '');
