// Renders the reference of configuration files from their schemas, so that documentation cannot drift from what is checked.
import type { SchemaObject } from 'ajv';
import { CONFIG_API_VERSION, type ConfigKind } from '../../pkg/apis/config/load.ts';

interface Row {
  readonly field: string;
  readonly type: string;
  readonly fallback: string;
  readonly text: string;
}

const propertiesOf = (schema: SchemaObject): [string, SchemaObject][] =>
  Object.entries((schema['properties'] ?? {}) as Record<string, SchemaObject>);

const code = (text: string): string => `\`${text}\``;

/** `one of a, b`, `integer 1–9`, `list of string`, `object`. */
const typeOf = (schema: SchemaObject): string => {
  const {
    type,
    enum: values,
    items,
    minimum,
    maximum,
  } = schema as { type?: string; enum?: unknown[]; items?: SchemaObject; minimum?: number; maximum?: number };
  if (values !== undefined) return values.map((value) => code(String(value))).join(', ');
  if (type === 'array') return `list of ${items === undefined ? 'anything' : typeOf(items)}`;
  if (minimum !== undefined || maximum !== undefined) return `${type}, ${minimum ?? ''} to ${maximum ?? ''}`;
  return type ?? 'anything';
};

const fallbackOf = (schema: SchemaObject, required: boolean): string => {
  const value: unknown = schema['default'];
  // A default fills the field before it is required.
  if (required && value === undefined) return 'required';
  return value === undefined || propertiesOf(schema).length > 0 ? '' : code(JSON.stringify(value));
};

const rowsOf = (schema: SchemaObject, path: string): Row[] => {
  const required = (schema['required'] ?? []) as string[];
  return propertiesOf(schema).flatMap(([name, child]) => {
    const field = path === '' ? name : `${path}.${name}`;
    const text = typeof child['description'] === 'string' ? child['description'] : '';
    const row = { field, type: typeOf(child), fallback: fallbackOf(child, required.includes(name)), text };
    const items = child['items'] as SchemaObject | undefined;
    return [row, ...(items === undefined ? rowsOf(child, field) : rowsOf(items, `${field}[]`))];
  });
};

const escape = (text: string): string => text.replaceAll('|', '\\|');

/** One table: a row for every field, those of lists of objects included. */
export const renderFields = (schema: SchemaObject): string => {
  const rows = rowsOf(schema, '').map(
    ({ field, type, fallback, text }) => `| ${code(field)} | ${escape(type)} | ${escape(fallback)} | ${escape(text)} |`,
  );
  const header = ['| field | type | default | meaning |', '| --- | --- | --- | --- |'];
  return [...header, ...rows].join('\n');
};

const sectionOf = ({ kind, schema }: Pick<ConfigKind<unknown>, 'kind' | 'schema'>): string =>
  `## ${kind}\n\n${renderFields(schema)}`;

/** Markdown with one table a kind. */
export const renderConfigurationReference = (
  kinds: readonly Pick<ConfigKind<unknown>, 'kind' | 'schema'>[],
): string => {
  const intro = [
    '# Configuration files',
    '',
    `Every file is YAML (or JSON) with \`apiVersion: ${CONFIG_API_VERSION}\` and its \`kind\`. A field that is`,
    'not listed here, or a value that does not fit, ends the command with exit code 2 and a message that names file, line,',
    'column, field and the allowed values. Flags win over the file.',
  ].join('\n');
  return `${[intro, ...kinds.map(sectionOf)].join('\n\n')}\n`;
};
