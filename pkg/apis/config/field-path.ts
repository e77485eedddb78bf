// Paths of fields, as messages show them.

export type FieldPath = readonly (string | number)[];

/** `modes.seed.excludedNamespaces[2]`; keys that are not plain words are quoted. */
export const renderPath = (path: FieldPath): string =>
  path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`;
    if (!/^[A-Za-z_][\w-]*$/.test(step)) return `${text}[${JSON.stringify(step)}]`;
    return text === '' ? step : `${text}.${step}`;
  }, '');
