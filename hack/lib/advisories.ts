// Reads what `npm audit --json` prints: advisories, none, or that the registry would not say.

export interface Advisories {
  /** `unknown`: the source could not be asked, which is not the same as none. */
  readonly kind: 'none' | 'found' | 'unknown';
  readonly lines: readonly string[];
}

interface Vulnerability {
  readonly severity?: string;
  readonly range?: string;
  readonly via?: readonly (string | { readonly title?: string; readonly url?: string })[];
}

const lineOf = (name: string, { severity = 'unknown', range = '', via = [] }: Vulnerability): string => {
  const titles = via.flatMap((cause) =>
    typeof cause === 'string' ? [`by ${cause}`] : [`${cause.title} ${cause.url}`],
  );
  return `${severity}: ${name} ${range} (${titles.join('; ')})`;
};

const parsed = (text: string): Readonly<Record<string, unknown>> => {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
};

/** `failure`: why npm could not be run at all. */
export const advisoriesIn = (text: string, failure?: string): Advisories => {
  const { vulnerabilities, message } = parsed(text) as {
    vulnerabilities?: Readonly<Record<string, Vulnerability>>;
    message?: string;
  };
  if (vulnerabilities === undefined) {
    const why = (failure ?? message ?? 'npm printed no report').replace(/ - .*/, '');
    return { kind: 'unknown', lines: [`not known, the registry could not be asked (${why})`] };
  }
  const lines = Object.entries(vulnerabilities).map(([name, found]) => lineOf(name, found));
  return lines.length === 0 ? { kind: 'none', lines: ['none'] } : { kind: 'found', lines };
};
