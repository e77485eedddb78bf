// Structural schemas of CRDs: pruning of unknown fields, defaults, and the validations that are commonly relied on.
import type { FieldError } from './errors.ts';
import { asArray, asRecord, asString, clone, isRecord, type JsonRecord, type StoredObject } from './object.ts';

type Schema = JsonRecord;

const KEPT_AT_ROOT = new Set(['apiVersion', 'kind', 'metadata']);

const propertiesOf = (schema: Schema): JsonRecord => asRecord(schema['properties']);

const additionalOf = (schema: Schema): Schema | undefined => {
  const additional = schema['additionalProperties'];
  if (additional === true) return { 'x-kubernetes-preserve-unknown-fields': true };
  return isRecord(additional) ? additional : undefined;
};

/** Removes, in place, every field that the schema does not know. */
export const prune = (value: unknown, schema: Schema, root = false): void => {
  if (Array.isArray(value)) {
    const items = asRecord(schema['items']);
    for (const item of value) prune(item, items);
    return;
  }
  if (!isRecord(value)) return;
  const properties = propertiesOf(schema);
  const additional = additionalOf(schema);
  const preserve = schema['x-kubernetes-preserve-unknown-fields'] === true;
  const embedded = root || schema['x-kubernetes-embedded-resource'] === true;
  for (const key of Object.keys(value)) {
    if (embedded && KEPT_AT_ROOT.has(key)) continue;
    if (Object.hasOwn(properties, key)) prune(value[key], asRecord(properties[key]));
    else if (additional !== undefined) prune(value[key], additional);
    else if (!preserve) delete value[key];
  }
};

/** Fills, in place, missing fields that have a default; null counts as missing where it is not allowed. */
export const fillDefaults = (value: unknown, schema: Schema): void => {
  if (Array.isArray(value)) {
    for (const item of value) fillDefaults(item, asRecord(schema['items']));
    return;
  }
  if (!isRecord(value)) return;
  for (const [key, property] of Object.entries(propertiesOf(schema))) {
    const own = asRecord(property);
    if (own['default'] !== undefined && (value[key] === undefined || (value[key] === null && own['nullable'] !== true)))
      value[key] = clone(own['default']);
    if (Object.hasOwn(value, key)) fillDefaults(value[key], own);
  }
  const additional = additionalOf(schema);
  if (additional !== undefined) for (const item of Object.values(value)) fillDefaults(item, additional);
};

const typeOf = (value: unknown): string => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
};

const fitsType = (value: unknown, schema: Schema): boolean => {
  const actual = typeOf(value);
  if (schema['x-kubernetes-int-or-string'] === true) return actual === 'integer' || actual === 'string';
  const wanted = schema['type'];
  return wanted === undefined || wanted === actual || (wanted === 'number' && actual === 'integer');
};

const bad = (field: string, value: unknown, text: string): FieldError => ({
  field,
  reason: 'FieldValueInvalid',
  message: `Invalid value: ${JSON.stringify(value)}: ${field} in body ${text}`,
});

const validateScalar = (value: unknown, schema: Schema, field: string): FieldError[] => {
  const errors: FieldError[] = [];
  const options = schema['enum'];
  if (Array.isArray(options) && !options.includes(value)) {
    const supported = options.map((option) => JSON.stringify(option)).join(', ');
    errors.push({
      field,
      reason: 'FieldValueNotSupported',
      message: `Unsupported value: ${JSON.stringify(value)}: supported values: ${supported}`,
    });
  }
  if (typeof value === 'string') {
    const { pattern, minLength, maxLength } = schema;
    if (typeof pattern === 'string' && !new RegExp(pattern, 'u').test(value))
      errors.push(bad(field, value, `should match '${pattern}'`));
    if (typeof minLength === 'number' && value.length < minLength)
      errors.push(bad(field, value, `should be at least ${minLength} chars long`));
    if (typeof maxLength === 'number' && value.length > maxLength)
      errors.push(bad(field, value, `should be at most ${maxLength} chars long`));
  }
  if (typeof value === 'number') {
    const { minimum, maximum } = schema;
    if (typeof minimum === 'number' && value < minimum)
      errors.push(bad(field, value, `should be greater than or equal to ${minimum}`));
    if (typeof maximum === 'number' && value > maximum)
      errors.push(bad(field, value, `should be less than or equal to ${maximum}`));
  }
  return errors;
};

const validateRecord = (value: JsonRecord, schema: Schema, field: string): FieldError[] => {
  const at = (key: string): string => (field === '' ? key : `${field}.${key}`);
  const missing = asArray(schema['required'])
    .filter((key) => !Object.hasOwn(value, asString(key)))
    .map((key): FieldError => ({ field: at(asString(key)), reason: 'FieldValueRequired', message: 'Required value' }));
  const properties = propertiesOf(schema);
  const additional = additionalOf(schema);
  const nested = Object.entries(value).flatMap(([key, item]) => {
    const own = Object.hasOwn(properties, key) ? asRecord(properties[key]) : additional;
    return own === undefined || (field === '' && KEPT_AT_ROOT.has(key)) ? [] : validateSchema(item, own, at(key));
  });
  return [...missing, ...nested];
};

const validateArray = (value: unknown[], schema: Schema, field: string): FieldError[] => {
  const { minItems, maxItems } = schema;
  const errors = value.flatMap((item, index) => validateSchema(item, asRecord(schema['items']), `${field}[${index}]`));
  if (typeof minItems === 'number' && value.length < minItems)
    errors.push(bad(field, value.length, `should have at least ${minItems} items`));
  if (typeof maxItems === 'number' && value.length > maxItems)
    errors.push({
      field,
      reason: 'FieldValueTooMany',
      message: `Too many: ${value.length}: must have at most ${maxItems} items`,
    });
  return errors;
};

/** All violations of the schema; field paths as the real server writes them. */
export const validateSchema = (value: unknown, schema: Schema, field = ''): FieldError[] => {
  if (value === null && schema['nullable'] === true) return [];
  if (!fitsType(value, schema)) {
    const wanted = asString(schema['type']);
    const text = `${field} in body must be of type ${wanted}: ${JSON.stringify(typeOf(value))}`;
    return [
      {
        field: field === '' ? '<nil>' : field,
        reason: 'FieldValueInvalid',
        message: `Invalid value: ${JSON.stringify(typeOf(value))}: ${text}`,
      },
    ];
  }
  const own = validateScalar(value, schema, field);
  if (Array.isArray(value)) return [...own, ...validateArray(value, schema, field)];
  return isRecord(value) ? [...own, ...validateRecord(value, schema, field)] : own;
};

/** Drops null fields that the schema does not allow to be null and that have a default, prunes and fills in: what a write goes through. */
export const conform = (object: StoredObject, schema: Schema): void => {
  prune(object, schema, true);
  fillDefaults(object, schema);
};
