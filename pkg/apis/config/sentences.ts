// Says in a sentence what a schema error means for the person who wrote the file.
import type { ErrorObject } from 'ajv';

/** The sentence; `key` is a missing field below the error's path, `unknownKey` one that should not be there. */
export interface Sentence {
  readonly message: string;
  readonly allowed?: readonly string[];
  readonly key?: string;
  readonly unknownKey?: string;
}

/** JSON, shortened; an alias can make a value that contains itself, and brackets one that is too deep to print. */
const show = (value: unknown): string => {
  try {
    const text = JSON.stringify(value) ?? 'undefined';
    return text.length > 80 ? `${text.slice(0, 77)}...` : text;
  } catch {
    return 'a value that contains itself';
  }
};

const param = (error: ErrorObject, name: string): unknown => Reflect.get(error.params, name);

const knownFields = (error: ErrorObject): string[] => {
  const properties: unknown = error.parentSchema === undefined ? undefined : error.parentSchema['properties'];
  return typeof properties === 'object' && properties !== null ? Object.keys(properties) : [];
};

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
    unknownKey: String(param(error, 'additionalProperty')),
    allowed: knownFields(error),
  }),
  enum: (error) => ({
    message: `is ${show(error.data)}.`,
    allowed: (param(error, 'allowedValues') as unknown[]).map(String),
  }),
  const: (error) => ({ message: `is ${show(error.data)}.`, allowed: [String(param(error, 'allowedValue'))] }),
  minimum: (error) => ({ message: `is ${show(error.data)}.`, allowed: bounds(error) }),
  maximum: (error) => ({ message: `is ${show(error.data)}.`, allowed: bounds(error) }),
  minLength: () => ({ message: 'must not be empty.' }),
  maxLength: (error) => ({ message: `is longer than ${String(param(error, 'limit'))} characters.` }),
  minItems: (error) => ({ message: `needs at least ${String(param(error, 'limit'))} item(s).` }),
  minProperties: (error) => ({ message: 'needs at least one field.', allowed: knownFields(error) }),
  maxProperties: (error) => ({ message: 'takes only one field.', allowed: knownFields(error) }),
  uniqueItems: () => ({ message: 'holds the same item twice.' }),
  pattern: (error) => ({ message: `is ${show(error.data)}; it must match ${String(param(error, 'pattern'))}.` }),
};

/** Undefined for errors that only repeat others (`if`, `anyOf` around their branches). */
export const sentenceOf = (error: ErrorObject): Sentence | undefined => {
  if (['if', 'anyOf', 'oneOf', 'allOf', 'propertyNames'].includes(error.keyword)) return undefined;
  const known = sentences[error.keyword];
  return known === undefined ? { message: `${error.message ?? 'is not valid'}.` } : known(error);
};
