// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { assert, constantFrom, dictionary, letrec, oneof, property, string, array, boolean, integer } from 'fast-check';
import { describe, it } from 'mocha';
import { parse, stringify } from 'yaml';
import { InputError } from '../../../../cmd/kubectl-topology/errors.ts';
import { readYaml } from '../../../../cmd/kubectl-topology/input/yaml.ts';
import { FieldError } from '../../../../pkg/diagnosis/project/fields.ts';

const read = (text: string): unknown[] => {
  const taken: unknown[] = [];
  readYaml(text, 'a.yaml', (object) => taken.push(object));
  return taken;
};

/** Longer than one part of a list, each item with its number. */
const longList = (indent: string, change: (item: string, index: number) => string = (item) => item): string => {
  const filler = 'x'.repeat(2_000);
  const items = Array.from({ length: 1_200 }, (_, index) =>
    change(
      `${indent}- kind: Service\n${indent}  metadata:\n${indent}    name: s${index}\n${indent}    annotations:\n${indent}      text: |\n${indent}        - ${filler}\n`,
      index,
    ),
  );
  return `apiVersion: v1\nitems:\n${items.join('')}kind: List\nmetadata:\n  resourceVersion: ""\n`;
};

const nameOf = (object: unknown): unknown => (object as { metadata: { name: unknown } }).metadata.name;

describe('YAML input of kubectl topology', () => {
  const scalars = [
    ['yes', 'no', 'on', 'True', 'TRUE', '0o14', '0x1F', '014', '1e3', '.5', '+1', '1_000', '~', 'Null', '""'],
    ['2026-01-01T00:00:00Z', '1:30', '0b11', '100m', '1Gi', '12345678901234567890', '"\\u0041"', "'it''s'", '1.'],
    ['!!str 1', '&a x', '[a, {b: c}]', '|\n  a\n\n  b\n', '>-\n  a\n  b\n', '# none', 'a && b', '*.example.com'],
  ].flat();
  for (const scalar of scalars) {
    it(`reads ${JSON.stringify(scalar)} as the reference parser does`, () => {
      const text = `kind: ConfigMap\nvalue: ${scalar}\n`;
      let expected: unknown;
      try {
        expected = parse(text, { merge: true });
      } catch {
        expect(() => read(text)).to.throw(InputError, /^a\.yaml:\d+:\d+: not valid YAML/u);
        return;
      }
      expect(read(text)).to.deep.equal([expected]);
    });
  }

  it('reads whatever the reference parser writes', () => {
    const { value } = letrec((tie) => ({
      value: oneof(
        { depthSize: 'small' },
        oneof(string(), boolean(), integer(), constantFrom(null, '- a', 'a: b', '---', '#', "'", '0x1', 'y', '<<')),
        array(tie('value'), { maxLength: 4 }),
        dictionary(string(), tie('value'), { maxKeys: 4 }),
      ),
    }));
    assert(
      property(value, (data) => {
        const object = { kind: 'ConfigMap', data };
        const text = stringify(object, { aliasDuplicateObjects: false });
        expect(read(text)).to.deep.equal([parse(text, { merge: true })]);
      }),
    );
  });

  it('follows aliases and merge keys', () => {
    const text = 'kind: ConfigMap\nbase: &base {a: 1}\nother: {<<: *base, b: 2}\nsame: *base\n';
    expect(read(text)).to.deep.equal([{ kind: 'ConfigMap', base: { a: 1 }, other: { a: 1, b: 2 }, same: { a: 1 } }]);
  });

  it('refuses aliases that multiply beyond reason', () => {
    const levels = Array.from({ length: 12 }, (_, at) => `a${at + 1}: &a${at + 1} [${`*a${at}, `.repeat(9)}*a${at}]`);
    const text = `kind: ConfigMap\na0: &a0 x\n${levels.join('\n')}\n`;
    expect(() => read(text)).to.throw(InputError, /Excessive alias count/u);
  });

  for (const [how, indent] of [
    ['at the first column, as kubectl prints them', ''],
    ['indented', '  '],
  ] as const) {
    it(`reads all items of a long list, ${how}`, () => {
      const names = read(longList(indent)).map(nameOf);
      expect(names).to.deep.equal(Array.from({ length: 1_200 }, (_, index) => `s${index}`));
    });
  }

  it('places a wrong field of a late item of a long list', () => {
    const text = longList('', (item, index) => (index === 1_000 ? item.replace('name: s1000', 'name: [oops]') : item));
    const line = text.slice(0, text.indexOf('[oops]')).split('\n').length;
    const take = (object: unknown): void => {
      const name = nameOf(object);
      if (typeof name !== 'string') throw new FieldError(['metadata', 'name'], 'a string', name);
    };
    expect(() => {
      readYaml(text, 'a.yaml', take);
    }).to.throw(InputError, `a.yaml:${line}:11: Service: metadata.name: expected a string`);
  });

  it('places broken syntax in a late item of a long list', () => {
    const text = longList('', (item, index) => (index === 1_000 ? item.replace('name: s1000', 'name: "s') : item));
    expect(() => read(text)).to.throw(InputError, /^a\.yaml:\d{4}:\d+: not valid YAML/u);
  });
});
