// The words that every schema is built from: of configuration files, of providerConfigs and of CustomResourceDefinitions.
import * as Type from '@sinclair/typebox';
import { Ajv, type AnySchemaObject, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import { defined, isFields, keptIn, orElse } from './values.ts';

/** Unknown fields are refused, as in files; an API server prunes them. */
export const CLOSED = { additionalProperties: false };

/** A block of fields; others are refused. A field that is neither optional nor has a default is required. */
export const object = <P extends Type.TProperties>(properties: P, more: Type.SchemaOptions = {}) =>
  Type.Object(properties, { ...CLOSED, ...more });

/** A block that a file may leave out, as each of its fields is optional or has a default. */
export const block = <P extends Type.TProperties>(
  description: string,
  properties: P,
  more: Type.SchemaOptions = { default: {} },
) => object(properties, { description, ...more });

/** These fields, each of which may be left out. */
export const optional = <P extends Type.TProperties>(properties: P) =>
  Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, Type.Optional(schema)])) as {
    [K in keyof P]: Type.TOptional<P[K]>;
  };

/** One of a few words. */
export const oneOf = <const V extends readonly string[]>(values: V, more: Type.SchemaOptions = {}) =>
  Type.Unsafe<V[number]>({ type: 'string', enum: [...values], ...more });

/** Any keys, each with a value of this schema. */
export const mapOf = <T>(value: object, more: Type.SchemaOptions = {}) =>
  Type.Unsafe<Record<string, T>>({ type: 'object', additionalProperties: value, ...more });

export const whole = (minimum: number, maximum: number, description: string, value?: number) =>
  Type.Integer({ minimum, maximum, description, ...defined({ default: value }) });

export const flag = (description: string, value?: boolean) =>
  Type.Boolean({ description, ...defined({ default: value }) });

/** Text of one character at least. */
export const text = (description: string, more: Type.StringOptions = {}) =>
  Type.String({ minLength: 1, description, ...more });

/** As `object`, for API servers: they prune fields that they do not know. */
export const fields = <P extends Type.TProperties>(description: string, properties: P, more: Type.SchemaOptions = {}) =>
  Type.Object(properties, { description, ...more });

/** Fields that their author always writes; the definition demands only those in `required`. */
export const written = <P extends Type.TProperties>(description: string, properties: P, required: string[] = []) => {
  const { required: _all, ...schema } = fields(description, properties);
  return Type.Unsafe<Type.Static<Type.TObject<P>>>(required.length === 0 ? schema : { ...schema, required });
};

export const listOf = <T extends Type.TSchema>(description: string, items: T, more: Type.ArrayOptions = {}) =>
  Type.Array(items, { description, ...more });

export const dateTime = (description: string) => Type.String({ format: 'date-time', description });

export const generation = (description: string) => Type.Integer({ format: 'int64', description });

/** A list whose items differ in these fields. */
export const byKeys = (...keys: string[]) => ({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': keys });

const HOLDS = Symbol('the rule in JavaScript');

/** A rule in CEL, for API servers; `check` is the same for files and for objects under an older definition, where there are any. */
export const rule = <T>(cel: string, message: string, check: (self: T) => boolean = () => true) => ({
  rule: cel,
  message,
  [HOLDS]: check as (self: unknown) => boolean,
});

type Rule = ReturnType<typeof rule>;

export const rules = (...list: Rule[]) => ({ 'x-kubernetes-validations': list });

/** One rule alone. */
export const ruled = <T>(...only: Parameters<typeof rule<T>>) => rules(rule(...only));

const requirement = (more: Type.SchemaOptions) =>
  fields(
    'One requirement.',
    {
      key: text('Key of the label.', { maxLength: 317 }),
      operator: oneOf(['In', 'NotIn', 'Exists', 'DoesNotExist'], { description: 'How its value is compared.' }),
      values: Type.Optional(
        Type.Array(Type.String({ maxLength: 63, description: 'A value.' }), {
          maxItems: 50,
          description: 'For `In` and `NotIn`.',
        }),
      ),
    },
    {
      ...more,
      ...ruled<{ operator: string; values?: unknown[] }>(
        "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
        'In and NotIn need values, Exists and DoesNotExist take none',
        ({ operator, values = [] }) => ['In', 'NotIn'].includes(operator) === values.length > 0,
      ),
    },
  );

/** A label selector; `more` is `CLOSED` in files, `own` are keywords of the selector itself. */
export const labelSelector = (description: string, more: Type.SchemaOptions, own: Type.SchemaOptions = {}) =>
  fields(
    description,
    {
      matchLabels: Type.Optional(
        mapOf<string>(
          { type: 'string', maxLength: 63 },
          { maxProperties: 50, description: 'Labels that must be equal.' },
        ),
      ),
      matchExpressions: Type.Optional(listOf('Requirements that must be met.', requirement(more), { maxItems: 20 })),
    },
    { ...more, ...own },
  );

/** As in CEL, a rule is not asked about what has another type than its schema. */
const holds = (one: Rule, value: unknown, type: unknown): boolean =>
  orElse(() => (type === 'object' ? !isFields(value) : typeof value !== type) || one[HOLDS](value), true);

/** ajv with what the schemas here need beyond JSON Schema: rules, and keys of lists, are checked as API servers do. */
const createAjv = (options: Options): Ajv => {
  // Strict mode refuses what is no keyword; a test checks the schemas against the meta-schema, so that no start has to compile it.
  const unchecked = { meta: false, validateSchema: false };
  const ajv = new Ajv({ strict: true, strictTypes: false, discriminator: true, ...unchecked, ...options });
  const compile = (list: Rule[], { type }: AnySchemaObject) => {
    const check: { (value: unknown): boolean; errors?: Partial<ErrorObject>[] } = (value) => {
      const broken = list.filter((one) => !holds(one, value, type));
      check.errors = broken.map(({ message }) => ({ keyword: 'rule', params: {}, message }));
      return broken.length === 0;
    };
    return check;
  };
  const distinct = (keys: string[], list: unknown[]) =>
    new Set(list.map((item) => JSON.stringify(keys.map((key) => isFields(item) && item[key])))).size === list.length;
  ajv.addKeyword({ keyword: 'x-kubernetes-validations', compile });
  ajv.addKeyword({ keyword: 'x-kubernetes-list-type' });
  return ajv.addKeyword({
    keyword: 'x-kubernetes-list-map-keys',
    type: 'array',
    validate: distinct,
    error: { message: ({ schema }) => `holds two items of the same ${(schema as string[]).join(' and ')}` },
  });
};

const compiled = new WeakMap<object, ValidateFunction>();

/**
 * The check of a schema, compiled at its first use, which takes tens of milliseconds; every later one has the same arguments.
 *
 * @param around - makes of it what is compiled
 */
export const checkOf = <T, S extends object = object>(
  schema: S,
  options: Options = {},
  around: (schema: S) => AnySchemaObject = (own) => own,
): ValidateFunction<T> =>
  keptIn(compiled, schema, () => createAjv(options).compile(around(schema))) as ValidateFunction<T>;
