// A valid document with every field of a JSON Schema: as its default says, or the least that fits.
import type { AnySchemaObject } from 'ajv';

/** All texts differ: lists that exclude each other do not meet. */
export const everyField = (schema: AnySchemaObject): object => {
  let texts = 0;
  const filled = (part: AnySchemaObject): unknown => {
    const { properties, items, additionalProperties: value } = part as Record<string, AnySchemaObject | undefined>;
    const [first] = (part['anyOf'] ?? part['oneOf'] ?? []) as AnySchemaObject[];
    if (first !== undefined) return filled(first);
    if (part['const'] !== undefined) return part['const'] as unknown;
    if (properties !== undefined)
      return Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, filled(field as object)]));
    if (part['type'] === 'object') return typeof value === 'object' ? { a: filled(value) } : {};
    if (items !== undefined) return ((items['anyOf'] ?? [items]) as AnySchemaObject[]).map(filled);
    if (part['default'] !== undefined) return part['default'] as unknown;
    if (part['enum'] !== undefined) return (part['enum'] as unknown[])[0];
    if (part['type'] === 'boolean') return true;
    if (part['type'] === 'string')
      return `${String(part['pattern']).includes('https') ? 'https://' : ''}a${(texts += 1)}`;
    return (part['minimum'] as number | undefined) ?? 1;
  };
  return filled(schema) as object;
};
