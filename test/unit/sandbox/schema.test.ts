// Structural schemas in the sandbox: pruning, defaults, validation.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { conform, fillDefaults, prune, validateSchema } from '../../sandbox/schema.ts';

describe('prune', () => {
  const schema = {
    type: 'object',
    properties: {
      known: { type: 'string' },
      list: { type: 'array', items: { type: 'object', properties: { a: {} } } },
      map: { type: 'object', additionalProperties: { type: 'object', properties: { a: {} } } },
      free: {
        type: 'object',
        'x-kubernetes-preserve-unknown-fields': true,
        properties: { strict: { type: 'object', properties: { a: {} } } },
      },
      any: { type: 'object', additionalProperties: true },
    },
  };
  for (const { name, value, expected } of [
    { name: 'drops unknown fields', value: { known: 'a', other: 1 }, expected: { known: 'a' } },
    { name: 'reaches into lists', value: { list: [{ a: 1, b: 2 }] }, expected: { list: [{ a: 1 }] } },
    {
      name: 'reaches into maps and keeps their keys',
      value: { map: { x: { a: 1, b: 2 } } },
      expected: { map: { x: { a: 1 } } },
    },
    {
      name: 'keeps what is free, but prunes the named fields in it',
      value: { free: { x: { y: 1 }, strict: { a: 1, b: 2 } } },
      expected: { free: { x: { y: 1 }, strict: { a: 1 } } },
    },
    {
      name: 'keeps everything below additionalProperties: true',
      value: { any: { x: { y: 1 } } },
      expected: { any: { x: { y: 1 } } },
    },
    {
      name: 'does not keep apiVersion below the root',
      value: { known: 'a', apiVersion: 'v1' },
      expected: { known: 'a' },
    },
  ]) {
    it(name, () => {
      const own = structuredClone(value);
      prune(own, schema);
      expect(own).to.deep.equal(expected);
    });
  }

  it('keeps type and metadata at the root', () => {
    const object = { apiVersion: 'v1', kind: 'K', metadata: { name: 'n' }, gone: 1 };
    conform(object, schema);
    expect(object).to.deep.equal({ apiVersion: 'v1', kind: 'K', metadata: { name: 'n' } });
  });
});

describe('fillDefaults', () => {
  it('fills nested defaults, in lists too, and replaces null where it is not allowed', () => {
    const inner = { type: 'object', properties: { a: { default: 1 }, b: { default: 2, nullable: true } } };
    const schema = { properties: { inner: { ...inner, default: {} }, list: { items: inner } } };
    const value = { list: [{ a: null, b: null }, { a: 5 }] };
    fillDefaults(value, schema);
    expect(value).to.deep.equal({
      inner: { a: 1, b: 2 },
      list: [
        { a: 1, b: null },
        { a: 5, b: 2 },
      ],
    });
  });
});

describe('validateSchema', () => {
  for (const { name, schema, value, field, message } of [
    {
      name: 'a wrong type',
      schema: { type: 'string' },
      value: 1,
      field: 'f',
      message: 'Invalid value: "integer": f in body must be of type string: "integer"',
    },
    {
      name: 'a value outside the enum',
      schema: { enum: ['A', 'B'] },
      value: 'C',
      field: 'f',
      message: 'Unsupported value: "C": supported values: "A", "B"',
    },
    { name: 'a missing field', schema: { required: ['a'] }, value: {}, field: 'f.a', message: 'Required value' },
    {
      name: 'a string that does not match',
      schema: { pattern: '^a' },
      value: 'b',
      field: 'f',
      message: `Invalid value: "b": f in body should match '^a'`,
    },
    {
      name: 'a number that is too small',
      schema: { minimum: 1 },
      value: 0,
      field: 'f',
      message: 'Invalid value: 0: f in body should be greater than or equal to 1',
    },
    {
      name: 'a list that is too long',
      schema: { maxItems: 1 },
      value: [1, 2],
      field: 'f',
      message: 'Too many: 2: must have at most 1 items',
    },
    {
      name: 'an item of a list',
      schema: { items: { type: 'boolean' } },
      value: [true, 1],
      field: 'f[1]',
      message: 'Invalid value: "integer": f[1] in body must be of type boolean: "integer"',
    },
    {
      name: 'a value of a map',
      schema: { additionalProperties: { type: 'string' } },
      value: { k: 1 },
      field: 'f.k',
      message: 'Invalid value: "integer": f.k in body must be of type string: "integer"',
    },
    {
      name: 'null',
      schema: { type: 'string' },
      value: null,
      field: 'f',
      message: 'Invalid value: "null": f in body must be of type string: "null"',
    },
  ]) {
    it(`names ${name}`, () => {
      expect(validateSchema(value, schema, 'f').map((error) => [error.field, error.message])).to.deep.equal([
        [field, message],
      ]);
    });
  }

  for (const { name, schema, value } of [
    { name: 'null where it is allowed', schema: { type: 'string', nullable: true }, value: null },
    { name: 'an integer for a number', schema: { type: 'number' }, value: 1 },
    { name: 'a number or a string', schema: { 'x-kubernetes-int-or-string': true }, value: '50%' },
    { name: 'unknown fields, which pruning takes care of', schema: { type: 'object' }, value: { a: 1 } },
  ]) {
    it(`accepts ${name}`, () => expect(validateSchema(value, schema, 'f')).to.deep.equal([]));
  }
});
