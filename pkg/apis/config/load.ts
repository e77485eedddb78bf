// Turns the text of a configuration file into a typed, defaulted configuration, or into an error that says where and why not.
import { ConfigError, type ConfigProblem, type FieldPath, renderPath, withAllowed } from './config-error.ts';
import type { ErrorObject, SchemaObject } from 'ajv';
import { checkOf } from '../schema.ts';
import { type Document, LineCounter, type Pair, isMap, isNode, isScalar, parseDocument } from 'yaml';
import { defined, isFields, orElse, parserText } from '../values.ts';
import { CONFIG_GROUP } from '../names.ts';

export const CONFIG_API_VERSION = `${CONFIG_GROUP}/v1alpha1`;

/**
 * One kind of configuration file. `schema` describes the fields beside apiVersion and kind: a JSON Schema object whose
 * `default`s are filled in by the loader, so that `T` is the type after defaulting.
 */
export interface ConfigKind<T> {
  /** Default: that of configuration files. */
  readonly apiVersion?: string;
  readonly kind: string;
  readonly schema: SchemaObject & { readonly properties: Readonly<Record<string, SchemaObject>> };
  /** Checks that a schema cannot express (one field against another), on the defaulted value. */
  readonly check?: (config: T) => readonly CrossFieldProblem[];
}

type Said = Pick<ConfigProblem, 'message' | 'allowed'>;

/** A problem between fields; `path` leads to the node that the error should point at. */
export interface CrossFieldProblem extends Said {
  readonly path: FieldPath;
}

/** Steps of a JSON pointer (`/a/b~1c/0`). Digits are indices: no field name is a number. */
const stepsOf = (pointer: string): FieldPath =>
  pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((step) => (/^\d+$/.test(step) ? Number(step) : step));

/** The field's node, or that of the nearest parent that the document holds. */
const nodeAt = (document: Document, path: FieldPath): unknown => {
  const node: unknown = path.length === 0 ? document.contents : document.getIn(path, true);
  return isNode(node) || path.length === 0 ? node : nodeAt(document, path.slice(0, -1));
};

/** The key of a field, for one that should not be there. */
const keyAt = (document: Document, path: FieldPath): unknown => {
  const parent = nodeAt(document, path.slice(0, -1));
  const isKey = ({ key }: Pair): boolean => isScalar(key) && String(key.value) === path.at(-1);
  return isMap(parent) ? parent.items.find(isKey)?.key : undefined;
};

const positionOf = (lines: LineCounter, offset = 0): Pick<ConfigProblem, 'line' | 'column'> => {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(line, 1), column: Math.max(col, 1) };
};

/** Where a field is; of one that should not be there, where its key is. */
const locate = ({ document, lines }: Source, path: FieldPath, unknownKey = false) => {
  const node = (unknownKey ? keyAt(document, path) : undefined) ?? nodeAt(document, path);
  return positionOf(lines, isNode(node) ? node.range?.[0] : 0);
};

/** `key` is a field below the error's path: one that is missing, or `unknown` and should not be there. */
interface Sentence extends Said {
  readonly key?: string;
  readonly unknown?: boolean;
}

/** JSON, shortened; an alias can make a value that contains itself, and brackets one that is too deep to print. */
const show = (value: unknown): string => {
  const text = orElse(() => JSON.stringify(value) ?? 'undefined', 'a value that contains itself');
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
};

const param = (error: ErrorObject, name: string): unknown => Reflect.get(error.params, name);

const knownFields = (error: ErrorObject): string[] => {
  const properties: unknown = error.parentSchema?.['properties'];
  return isFields(properties) ? Object.keys(properties) : [];
};

/** Allowed values of the discriminator field of a union. */
const discriminated = ({ parentSchema }: ErrorObject, tag: string): string[] =>
  ((parentSchema?.['oneOf'] ?? []) as SchemaObject[]).map(({ properties }) => String(properties[tag].const));

const bounds = (error: ErrorObject): string[] => {
  const { minimum, maximum } = (error.parentSchema ?? {}) as { minimum?: number; maximum?: number };
  return [`${minimum ?? 'any'} to ${maximum ?? 'any'}`];
};

const typeSentence = (error: ErrorObject): Sentence => {
  const wanted = param(error, 'type');
  const types = Array.isArray(wanted) ? wanted.map(String) : [String(wanted)];
  // A key with nothing behind it is null in YAML; what was meant is mostly "with defaults".
  const remedy = error.data === null && types.includes('object') ? '; write {} for the defaults' : '';
  return { message: `must be of type ${types.join(' or ')}, not ${show(error.data)}${remedy}.` };
};

const sentences: Record<string, (error: ErrorObject) => Sentence | undefined> = {
  type: typeSentence,
  required: (error) => ({ message: 'is required.', key: String(param(error, 'missingProperty')) }),
  additionalProperties: (error) => ({
    message: 'is not a field of this kind.',
    key: String(param(error, 'additionalProperty')),
    unknown: true,
    allowed: knownFields(error),
  }),
  enum: (error) => ({
    message: `is ${show(error.data)}.`,
    allowed: (param(error, 'allowedValues') as unknown[]).map(String),
  }),
  // Its error is about the object; the sentence, about the field that says which of several kinds it is.
  discriminator: (error) => {
    const { tag, tagValue } = error.params as { tag: string; tagValue: unknown };
    const message = tagValue === undefined ? 'is required.' : `is ${show(tagValue)}.`;
    return { message, key: tag, allowed: discriminated(error, tag) };
  },
  const: (error) => ({ message: `is ${show(error.data)}.`, allowed: [String(param(error, 'allowedValue'))] }),
  minimum: (error) => ({ message: `is ${show(error.data)}.`, allowed: bounds(error) }),
  maximum: (error) => ({ message: `is ${show(error.data)}.`, allowed: bounds(error) }),
  minLength: () => ({ message: 'must not be empty.' }),
  maxLength: (error) => ({ message: `is longer than ${String(param(error, 'limit'))} characters.` }),
  minItems: (error) => ({ message: `needs at least ${String(param(error, 'limit'))} item(s).` }),
  minProperties: (error) => ({ message: 'needs at least one field.', allowed: knownFields(error) }),
  uniqueItems: () => ({ message: 'holds the same item twice.' }),
  pattern: (error) => ({ message: `is ${show(error.data)}; it must match ${String(param(error, 'pattern'))}.` }),
};

/** Undefined for errors that only repeat others (`if`, `anyOf` around their branches). */
const sentenceOf = (error: ErrorObject): Sentence | undefined => {
  if (['if', 'anyOf', 'oneOf', 'allOf', 'propertyNames'].includes(error.keyword)) return undefined;
  const known = sentences[error.keyword];
  return known === undefined ? { message: `${error.message ?? 'is not valid'}.` } : known(error);
};

const sentencesOf = (errors: readonly ErrorObject[]): readonly (Sentence & { readonly path: FieldPath })[] =>
  errors.flatMap((error) => {
    const sentence = sentenceOf(error);
    if (sentence === undefined) return [];
    const path = stepsOf(error.instancePath);
    return [{ ...sentence, path: sentence.key === undefined ? path : [...path, sentence.key] }];
  });

/** What is wrong, by field, with a value that was in no file. */
export const fieldProblems = (errors: readonly ErrorObject[]): { readonly field: string; readonly message: string }[] =>
  sentencesOf(errors).map(({ path, ...sentence }) => ({ field: renderPath(path), message: withAllowed(sentence) }));

/** Configuration is a page of text; larger input is a mistake (or an attack through aliases), not a configuration. */
const MAX_CHARACTERS = 1_000_000;

interface Source {
  readonly file: string;
  readonly document: Document;
  readonly lines: LineCounter;
}

/**
 * Parses YAML (or JSON) text of one configuration kind, fills defaults and validates it. `file` is only used in messages. Throws `ConfigError` with
 * every problem found: file, line, column, field path and, where a field takes one of a list, the allowed values. Reads nothing from disk.
 */
export const loadConfiguration = <T>(kind: ConfigKind<T>, text: string, file: string): T => {
  const source = parse(text, file);
  const value = valueOf(source);
  checkHeader(kind, value, source);
  // strictTypes stays off: a property may be left open on purpose (feature gates, a Seed's spec).
  const validate = checkOf<T, ConfigKind<T>['schema']>(
    kind.schema,
    { allErrors: true, useDefaults: true, verbose: true },
    withHeader,
  );
  if (!validate(value)) throw new ConfigError(file, problemsOf(validate.errors ?? [], source));
  const crossField = (kind.check?.(value) ?? []).map(({ path, ...problem }) => ({
    ...locate(source, path),
    field: renderPath(path),
    ...problem,
  }));
  if (crossField.length > 0) throw new ConfigError(file, crossField);
  return value;
};

/** What is wrong with the file as a whole. */
const unusable = (file: string, message: string, at = { line: 1, column: 1 }): ConfigError =>
  new ConfigError(file, [{ ...at, field: '', message }]);

const parse = (text: string, file: string): Source => {
  if (text.length > MAX_CHARACTERS) throw unusable(file, `the file has more than ${MAX_CHARACTERS} characters.`);
  const lines = new LineCounter();
  const options = { lineCounter: lines, uniqueKeys: true, prettyErrors: false, logLevel: 'error' } as const;
  const document = parseDocument(text, options);
  const [broken] = document.errors;
  if (broken !== undefined) {
    const isOne = broken.code !== 'MULTIPLE_DOCS';
    const message = isOne ? `not valid YAML: ${parserText(broken)}.` : 'the file holds more than one document.';
    throw unusable(file, message, positionOf(lines, broken.pos[0]));
  }
  if (document.contents === null) throw unusable(file, 'the file is empty.');
  return { file, document, lines };
};

/** Plain values; aliases that lead nowhere, or multiply beyond reason, only come to light here. */
const valueOf = ({ file, document }: Source): unknown => {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw unusable(file, `not valid YAML: ${parserText(error)}.`);
  }
};

const checkHeader = <T>(kind: ConfigKind<T>, value: unknown, source: Source): void => {
  if (!isFields(value)) throw unusable(source.file, 'must be a YAML mapping.');
  const problems = (['apiVersion', 'kind'] as const).flatMap((field): ConfigProblem[] => {
    const wanted = field === 'kind' ? kind.kind : (kind.apiVersion ?? CONFIG_API_VERSION);
    if (value[field] === wanted) return [];
    const message = value[field] === undefined ? 'is required.' : 'is another.';
    return [{ ...locate(source, [field]), field, message, allowed: [wanted] }];
  });
  if (problems.length > 0) throw new ConfigError(source.file, problems);
};

const withHeader = (schema: SchemaObject & { properties: Readonly<Record<string, SchemaObject>> }): SchemaObject => ({
  ...schema,
  type: 'object',
  additionalProperties: false,
  properties: { apiVersion: { type: 'string' }, kind: { type: 'string' }, ...schema.properties },
});

const problemsOf = (errors: readonly ErrorObject[], source: Source): ConfigProblem[] => {
  const problems = sentencesOf(errors).map(({ path, message, allowed, unknown }): ConfigProblem => ({
    ...locate(source, path, unknown),
    field: renderPath(path),
    message,
    ...defined({ allowed }),
  }));
  if (problems.length === 0) problems.push({ line: 1, column: 1, field: '', message: 'does not match the schema.' });
  return problems.sort((one, other) => one.line - other.line || one.column - other.column);
};
