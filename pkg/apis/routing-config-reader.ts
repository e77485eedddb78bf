// Reads the providerConfig of an Extension: a valid RoutingConfig with its defaults, or what is wrong with it, field by field.
import { Ajv, type ErrorObject, type SchemaObject } from 'ajv';
import { pathOfPointer, sentenceOf } from './config/load.ts';
import { type FieldPath, renderPath } from './config/config-error.ts';
import { ROUTING_CONFIG } from './routing-config-kind.ts';
import { PROVIDER_CONFIG_FIELD } from './routing-config.ts';
import type { RoutingConfig, RoutingConfigProblem, RoutingConfigReading } from './routing-config.ts';

/** Takes anything, changes nothing and never throws. */
export type RoutingConfigReader = (providerConfig: unknown) => RoutingConfigReading;

/** A hundred entries with selectors fit; more would only cost time for every Service. */
const MAX_CHARACTERS = 65_536;
/** More than a person reads at once. */
const MAX_PROBLEMS = 5;

const { apiVersion, kind, schema, check } = ROUTING_CONFIG;

const SCHEMA: SchemaObject = {
  ...schema,
  required: ['apiVersion', 'kind'],
  additionalProperties: false,
  properties: { apiVersion: { const: apiVersion }, kind: { const: kind }, ...schema.properties },
};

const problem = (path: FieldPath, message: string, allowed: readonly string[] = []): RoutingConfigProblem => {
  const below = renderPath(path);
  const hint = allowed.length === 0 ? '' : ` (allowed: ${allowed.join(', ')})`;
  const dot = below === '' || below.startsWith('[') ? '' : '.';
  return { field: `${PROVIDER_CONFIG_FIELD}${dot}${below}`, message: `${message}${hint}` };
};

/** Digits are indices where the schema has lists: no field name is a number. */
const pathOf = (pointer: string): FieldPath =>
  pathOfPointer(pointer).map((step) => (/^\d+$/.test(step) ? Number(step) : step));

const problemOf = (error: ErrorObject): RoutingConfigProblem[] => {
  const sentence = sentenceOf(error);
  if (sentence === undefined) return [];
  const key = sentence.key ?? sentence.unknownKey;
  const path = [...pathOf(error.instancePath), ...(key === undefined ? [] : [key])];
  return [problem(path, sentence.message, sentence.allowed)];
};

const invalid = (problems: readonly RoutingConfigProblem[]): RoutingConfigReading => ({
  kind: 'invalid',
  problems: problems.slice(0, MAX_PROBLEMS),
});

/** Undefined for what is nested deeper than a stack is; an API server takes thousands of levels. */
const textOf = (value: unknown): string | undefined => {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
};

/** Text and back: what the cache holds is shared, and defaults are filled in. */
const copyOf = (value: unknown): { readonly copy: unknown } | RoutingConfigReading => {
  const text = textOf(value);
  if (text === undefined) return invalid([problem([], 'is nested too deep.')]);
  if (text.length <= MAX_CHARACTERS) return { copy: JSON.parse(text) as unknown };
  return invalid([problem([], `has more than ${MAX_CHARACTERS} characters.`)]);
};

/** The schema is compiled once, so that reading costs microseconds: every change of an Extension is read. */
export const createRoutingConfigReader = (): RoutingConfigReader => {
  const ajv = new Ajv({ allErrors: true, useDefaults: true, strict: true, strictTypes: false, verbose: true });
  const validate = ajv.compile<RoutingConfig>(SCHEMA);
  return (providerConfig) => {
    if (providerConfig === undefined || providerConfig === null) return { kind: 'absent' };
    const read = copyOf(providerConfig);
    if ('kind' in read) return read;
    const { copy } = read;
    if (!validate(copy)) return invalid((validate.errors ?? []).flatMap(problemOf));
    const between = (check?.(copy) ?? []).map(({ path, message, allowed }) => problem(path, message, allowed));
    return between.length > 0 ? invalid(between) : { kind: 'valid', config: copy };
  };
};
