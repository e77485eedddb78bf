// Turns the text of a configuration file into a typed, defaulted configuration, or into an error that says where and why not.
import { Ajv } from 'ajv';
import type { ErrorObject, SchemaObject } from 'ajv';
import { LineCounter, parseDocument } from 'yaml';
import type { Document } from 'yaml';
import { defined } from '../defined.ts';
import { parserText } from '../error-text.ts';
import { ConfigError } from './config-error.ts';
import type { ConfigProblem } from './config-error.ts';
import { CONFIG_API_VERSION } from './config-kind.ts';
import type { ConfigKind } from './config-kind.ts';
import { locate, locateKey, pathOfPointer, positionOfOffset, renderPath } from './positions.ts';
import { sentenceOf } from './sentences.ts';

/** Configuration is a page of text; larger input is a mistake (or an attack through aliases), not a configuration. */
const MAX_CHARACTERS = 1_000_000;

interface Source {
  readonly file: string;
  readonly document: Document;
  readonly lines: LineCounter;
}

/**
 * Parses YAML (or JSON) text of one configuration kind, fills defaults and validates it.
 * `file` is only used in messages. Throws `ConfigError` with every problem found: file, line, column, field path and,
 * where a field takes one of a list, the allowed values. Reads nothing from disk.
 */
export const loadConfiguration = <T>(kind: ConfigKind<T>, text: string, file: string): T => {
  const source = parse(text, file);
  const value = valueOf(source);
  checkHeader(kind, value, source);
  // strictTypes stays off: a property may be left open on purpose (feature gates, a Seed's spec).
  const ajv = new Ajv({ allErrors: true, useDefaults: true, strict: true, strictTypes: false, verbose: true });
  const validate = ajv.compile<T>(withHeader(kind.schema));
  if (!validate(value)) throw new ConfigError(file, problemsOf(validate.errors ?? [], source));
  const crossField = (kind.check?.(value) ?? []).map(({ path, message, allowed }) => {
    const { line, column, path: resolved } = locate(source.document, source.lines, path);
    return { line, column, field: renderPath(resolved), message, ...defined({ allowed }) };
  });
  if (crossField.length > 0) throw new ConfigError(file, crossField);
  return value;
};

const parse = (text: string, file: string): Source => {
  const lines = new LineCounter();
  const fail = (offset: number, message: string): never => {
    throw new ConfigError(file, [{ ...positionOfOffset(lines, offset), field: '', message }]);
  };
  if (text.length > MAX_CHARACTERS) fail(0, `the file has more than ${MAX_CHARACTERS} characters.`);
  const document = parseDocument(text, {
    lineCounter: lines,
    uniqueKeys: true,
    prettyErrors: false,
    logLevel: 'error',
  });
  const broken = document.errors[0];
  if (broken !== undefined) {
    const several = broken.code === 'MULTIPLE_DOCS';
    fail(broken.pos[0], several ? 'the file holds more than one document.' : `not valid YAML: ${parserText(broken)}.`);
  }
  if (document.contents === null) fail(0, 'the file is empty.');
  return { file, document, lines };
};

/** Plain values; aliases that lead nowhere, or multiply beyond reason, only come to light here. */
const valueOf = ({ file, document }: Source): unknown => {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    const message = `not valid YAML: ${parserText(error)}.`;
    throw new ConfigError(file, [{ line: 1, column: 1, field: '', message }]);
  }
};

const checkHeader = <T>(kind: ConfigKind<T>, value: unknown, source: Source): void => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ConfigError(source.file, [{ line: 1, column: 1, field: '', message: 'must be a YAML mapping.' }]);
  }
  const problems = (['apiVersion', 'kind'] as const).flatMap((field): ConfigProblem[] => {
    const wanted = field === 'kind' ? kind.kind : (kind.apiVersion ?? CONFIG_API_VERSION);
    const given: unknown = Reflect.get(value, field);
    if (given === wanted) return [];
    const { line, column } = locate(source.document, source.lines, [field]);
    const message = given === undefined ? 'is required.' : 'is another.';
    return [{ line, column, field, message, allowed: [wanted] }];
  });
  if (problems.length > 0) throw new ConfigError(source.file, problems);
};

const withHeader = (schema: SchemaObject & { properties: Readonly<Record<string, SchemaObject>> }): SchemaObject => ({
  ...schema,
  type: 'object',
  additionalProperties: false,
  properties: { apiVersion: { type: 'string' }, kind: { type: 'string' }, ...schema.properties },
});

const problemsOf = (errors: readonly ErrorObject[], { document, lines }: Source): ConfigProblem[] => {
  const problems = errors.flatMap((error): ConfigProblem[] => {
    const sentence = sentenceOf(error);
    if (sentence === undefined) return [];
    const parent = pathOfPointer(error.instancePath);
    const place = locate(document, lines, sentence.key === undefined ? parent : [...parent, sentence.key]);
    const position =
      sentence.unknownKey === undefined ? place : locateKey(document, lines, parent, sentence.unknownKey);
    const path = sentence.unknownKey === undefined ? place.path : [...place.path, sentence.unknownKey];
    const { message, allowed } = sentence;
    const { line, column } = position;
    return [{ line, column, field: renderPath(path), message, ...defined({ allowed }) }];
  });
  if (problems.length === 0) problems.push({ line: 1, column: 1, field: '', message: 'does not match the schema.' });
  return problems.sort((one, other) => one.line - other.line || one.column - other.column);
};
