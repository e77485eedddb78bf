// The pieces that the schemas of configuration files are built from; the types of configuration are derived from the same.
import * as Type from '@sinclair/typebox';
import type { SchemaOptions, TProperties } from '@sinclair/typebox';

/** A block of fields; others are refused. A field that is neither optional nor has a default is required. */
export const object = <P extends TProperties>(properties: P, more: SchemaOptions = {}) =>
  Type.Object(properties, { additionalProperties: false, ...more });

/** One of a few words. */
export const oneOf = <const V extends readonly string[]>(values: V, more: SchemaOptions = {}) =>
  Type.Unsafe<V[number]>({ type: 'string', enum: [...values], ...more });

/** Any keys, each with a value of this schema. */
export const mapOf = <T>(value: object, more: SchemaOptions = {}) =>
  Type.Unsafe<Record<string, T>>({ type: 'object', additionalProperties: value, ...more });

export const whole = (minimum: number, maximum: number, description: string, more: SchemaOptions = {}) =>
  Type.Integer({ minimum, maximum, description, ...more });

export const flag = (description: string, more: SchemaOptions = {}) => Type.Boolean({ description, ...more });

/** Text of one character at least. */
export const text = (description: string, more: Type.StringOptions = {}) =>
  Type.String({ minLength: 1, description, ...more });

export const namespaceName = (description: string, more: Type.StringOptions = {}) =>
  text(description, { maxLength: 63, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$', ...more });

export const objectName = (description: string, more: Type.StringOptions = {}) =>
  text(description, { maxLength: 253, pattern: '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$', ...more });

export const userName = (more: Type.StringOptions = {}) => Type.String({ minLength: 1, maxLength: 512, ...more });

/** Distinct names of namespaces; none by default. */
export const namespaceList = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 63, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' }), {
    uniqueItems: true,
    default: [],
    description,
  });

/** A label selector; `more` are further keywords, such as its default and description. */
export const labelSelector = (more: SchemaOptions) =>
  object(
    {
      matchLabels: Type.Optional(mapOf<string>({ type: 'string' }, { description: 'Labels that must be equal.' })),
      matchExpressions: Type.Optional(
        Type.Array(
          object({
            key: text('Key of the label.'),
            operator: oneOf(['In', 'NotIn', 'Exists', 'DoesNotExist'], { description: 'How its value is compared.' }),
            values: Type.Optional(Type.Array(Type.String(), { description: 'For `In` and `NotIn`.' })),
          }),
          { description: 'Requirements that must hold.' },
        ),
      ),
    },
    more,
  );
