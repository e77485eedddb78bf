import { expect } from 'chai';
import { assert, constantFrom, dictionary, letrec, oneof, property, string, array, boolean, integer } from 'fast-check';
import { describe, it } from 'mocha';
import { parse, stringify } from 'yaml';
import { InputError } from '../../../../cmd/kubectl-topology/io.ts';
import { readJson, readYaml } from '../../../../cmd/kubectl-topology/input/documents.ts';
import { createCollector } from '../../../../pkg/diagnosis/project/collect.ts';
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
    expect(() => read(text)).to.throw(InputError, /its aliases multiply content/u);
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

  it('places broken syntax in a late item of a long list, and names an object there', () => {
    const broken = longList('', (item, index) => (index === 1_000 ? item.replace('name: s1000', 'name: "s') : item));
    expect(() => read(broken)).to.throw(InputError, /^a\.yaml:\d{4}:\d+: not valid YAML/u);
    const refuse = (object: unknown): void => {
      if (nameOf(object) === 's1000') throw new FieldError(['spec'], 'an object', 'x');
    };
    expect(() => readYaml(longList(''), 'a.yaml', refuse)).to.throw(InputError, 'a.yaml:1: Service s1000: spec');
  });

  it('names the line of the document and the object whose field is wrong', () => {
    const text =
      '# first\nkind: Service\nmetadata: {name: a}\n---\n\nkind: List\nitems: [{kind: Service, metadata: {name: b}}]\n';
    const refuse = (object: unknown): void => {
      if (nameOf(object) === 'b') throw new FieldError(['spec', 'ports', 0], 'an object', 'x');
    };
    expect(() => readYaml(text, 'a.yaml', refuse)).to.throw(
      InputError,
      /^a\.yaml:6: Service b: spec\.ports\[0\]: expected an object/u,
    );
  });

  it('refuses what is nested deeper than a stack is', () => {
    const depth = 100_000;
    const lists = `${'{"kind":"List","items":['.repeat(depth)}${']}'.repeat(depth)}`;
    expect(() => readJson(lists, 'a.json', () => undefined)).to.throw(InputError, 'a.json:1: nested too deeply');
    expect(() => read(`a: ${'['.repeat(depth)}`)).to.throw(
      InputError,
      'a.yaml:1:103: not valid YAML: nesting exceeded',
    );
  });

  it('reads JSON documents that follow each other', () => {
    const taken: unknown[] = [];
    readJson('{"kind":"A"}\n{\n"kind":\n"B"}\r\n[{"kind":"C"}]\n', 'a.json', (object, placeOf) =>
      taken.push([object, placeOf().line]),
    );
    expect(taken).to.deep.equal([
      [{ kind: 'A' }, 1],
      [{ kind: 'B' }, 2],
      [{ kind: 'C' }, 5],
    ]);
  });

  const SERVICES = ['a', 'b'].map((name) => ({ kind: 'Service', metadata: { name } }));
  const lists: readonly (readonly [name: string, text: string, lines: readonly number[]])[] = [
    ['kubectl -o json', JSON.stringify({ apiVersion: 'v1', items: SERVICES, kind: 'List' }, null, 4), [4, 10]],
    ['kubectl -o yaml', `# first\n${stringify({ apiVersion: 'v1', items: SERVICES, kind: 'List' })}`, [4, 7]],
    ['an indented list', 'kind: List\nitems:\n  - kind: Service\n    x:\n    - y\n  - kind: Service\n', [3, 6]],
    ['one line', JSON.stringify({ kind: 'List', items: SERVICES }), [1, 1]],
    ['a list beside the items', 'kind: List\nitems:\n- {kind: Service}\nmore:\n- x\n', [1]],
  ];
  for (const [name, text, lines] of lists) {
    it(`knows the line of each item of a list, if it has one: ${name}`, () => {
      const found: number[] = [];
      (text.startsWith('{') ? readJson : readYaml)(text, 'a', (_, placeOf) => found.push(placeOf().line));
      expect(found).to.deep.equal(lines);
    });
  }

  it('knows the line of each item of a list that is read in parts', () => {
    const found: number[] = [];
    const text = longList('');
    readYaml(text, 'a.yaml', (_, placeOf) => found.push(placeOf().line));
    const lines = text.split('\n').flatMap((line, index) => (line.startsWith('- kind') ? [index + 1] : []));
    expect(found).to.deep.equal(lines);
  });

  // A token, and files of others that may end up in `-f`.
  const secret = 's3cr3t';
  for (const text of [
    secret,
    `*${secret}`,
    `!${secret} a`,
    `a: [${secret}`,
    `"${secret}`,
    `%${secret}\n--- {`,
    `? ${secret}: :`,
    `{${secret}`,
    `{"a":${secret}`,
    `["${secret}"`,
    `{"${secret}"`,
    `${secret}: 1\n${secret}: 2`,
    `- ${secret}`,
    `["${secret}"]`,
    `{"token":"${secret}"}`,
    `kind: {a: ${secret}}`,
  ]) {
    it(`quotes nothing of what is no manifest: ${text.replace(secret, 'TEXT')}`, () => {
      for (const reader of [readYaml, readJson]) {
        const collector = createCollector();
        expect(() => reader(text, 'a', (object) => collector.add(object)))
          .to.throw(InputError)
          .with.property('message')
          .that.does.not.contain(secret);
      }
    });
  }
});
