import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { ConfigError, type ConfigProblem } from '../../../../pkg/apis/config/config-error.ts';
import { upTo } from '../../../support/depth.ts';
import { ENDPOINTSLICE_WEBHOOK_CONFIGURATION } from '../../../../pkg/apis/config/endpointslice-webhook.ts';
import { renderConfigurationReference } from '../../../../hack/lib/config-reference.ts';
import { SETTINGS_RECONCILER_CONFIGURATION } from '../../../../pkg/apis/config/settings-reconciler.ts';
import { FLOW_POLICY_SPEC_SCHEMA } from '../../../../pkg/apis/flow-policy.ts';
import { ROUTING_CONFIG_SCHEMA } from '../../../../pkg/apis/routing-config-reader.ts';
import { FLOW_CONTROLLER_CONFIGURATION } from '../../../../pkg/apis/config/flow-controller.ts';
import { CONFIG_API_VERSION, type ConfigKind, loadConfiguration } from '../../../../pkg/apis/config/load.ts';

interface Sample {
  name: string;
  size: number;
  list: string[];
  nested?: { mode: 'a' | 'b'; any?: object };
}

const SAMPLE: ConfigKind<Sample> = {
  kind: 'Sample',
  schema: {
    type: 'object',
    required: ['name'],
    properties: {
      name: { type: 'string', minLength: 1, maxLength: 5 },
      size: { type: 'integer', minimum: 1, maximum: 9, default: 3 },
      list: { type: 'array', items: { type: 'string', pattern: '^[a-z]+$' }, uniqueItems: true, default: [] },
      nested: {
        type: 'object',
        additionalProperties: false,
        required: ['mode'],
        minProperties: 1,
        properties: { mode: { type: 'string', enum: ['a', 'b'] }, any: { type: 'object' } },
      },
    },
  },
  check: ({ name, list }) =>
    list.includes(name) ? [{ path: ['list', list.indexOf(name)], message: 'is the name.', allowed: ['others'] }] : [],
};

const HEADER = `apiVersion: ${CONFIG_API_VERSION}\nkind: Sample\n`;
const load = (body: string): Sample => loadConfiguration(SAMPLE, HEADER + body, 'f.yaml');

const failure = (text: string): ConfigError => {
  try {
    loadConfiguration(SAMPLE, text, 'f.yaml');
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error(`no error for ${JSON.stringify(text)}`);
};

describe('loadConfiguration', () => {
  it('fills defaults and keeps what is given', () => {
    expect(load('name: x')).to.deep.include({ name: 'x', size: 3, list: [] });
    expect(load('name: x\nsize: 7\nlist: [a, b]')).to.deep.include({ size: 7, list: ['a', 'b'] });
  });

  const cases: readonly (readonly [name: string, body: string, problem: Partial<ConfigProblem>])[] = [
    ['a missing field', 'size: 1', { line: 1, column: 1, field: 'name', message: 'is required.' }],
    [
      'a missing field further down',
      'name: x\nnested:\n  any: {}',
      { line: 5, column: 3, field: 'nested.mode', message: 'is required.' },
    ],
    [
      'an unknown field, at its key',
      'name: x\nnested:\n  mode: a\n  mood: b',
      { line: 6, column: 3, field: 'nested.mood', allowed: ['mode', 'any'] },
    ],
    [
      'a value out of a list',
      'name: x\nnested: {mode: c}',
      { line: 4, column: 16, field: 'nested.mode', message: 'is "c".', allowed: ['a', 'b'] },
    ],
    ['a number too small', 'name: x\nsize: 0', { line: 4, column: 7, field: 'size', allowed: ['1 to 9'] }],
    ['a number too large', 'name: x\nsize: 10', { field: 'size', message: 'is 10.', allowed: ['1 to 9'] }],
    ['a wrong type', 'name: [x]', { line: 3, column: 7, field: 'name', message: 'must be of type string, not ["x"].' }],
    [
      'a key with nothing behind it',
      'name: x\nnested:',
      { field: 'nested', message: 'must be of type object, not null; write {} for the defaults.' },
    ],
    ['an empty string', 'name: ""', { field: 'name', message: 'must not be empty.' }],
    ['a string too long', 'name: abcdef', { message: 'is longer than 5 characters.' }],
    [
      'an item that does not fit',
      'name: x\nlist:\n- ok\n- "7"',
      { line: 6, column: 3, field: 'list[1]', message: 'is "7"; it must match ^[a-z]+$.' },
    ],
    ['the same item twice', 'name: x\nlist: [a, a]', { field: 'list', message: 'holds the same item twice.' }],
    [
      'fields that do not go together',
      'name: x\nlist: [a, x]',
      { line: 4, column: 11, field: 'list[1]', message: 'is the name.', allowed: ['others'] },
    ],
    ['a hostile key', 'name: x\n__proto__: {polluted: true}', { line: 4, column: 1, field: '__proto__' }],
  ];
  for (const [name, body, problem] of cases) {
    it(`says where and why: ${name}`, () => {
      const error = failure(HEADER + body);
      expect(error.problems, error.message).to.have.length(1);
      expect(error.problems[0]).to.deep.include(problem);
      const { line, column } = error.problems[0]!;
      expect(error.message).to.match(new RegExp(`^f\\.yaml:${line}:${column}: `));
    });
  }

  it('reports every problem, in file order', () => {
    const { problems, message } = failure(`${HEADER}size: 0\nname: 3\nextra: 1`);
    expect(problems.map(({ field }) => field)).to.deep.equal(['size', 'name', 'extra']);
    expect(message.split('\n')).to.have.length(3);
  });

  const broken: readonly (readonly [name: string, text: string, says: RegExp])[] = [
    ['an empty file', '', /^f\.yaml:1:1: the file is empty\.$/],
    ['only a comment', '# nothing\n', /the file is empty/],
    ['no YAML', 'a: [b', /^f\.yaml:1:\d+: not valid YAML: /],
    ['the same key twice', `${HEADER}name: a\nname: b`, /^f\.yaml:4:1: not valid YAML: Map keys must be unique/],
    ['two documents', `${HEADER}name: a\n---\nname: b`, /more than one document/],
    ['a list', '- a', /must be a YAML mapping/],
    ['another kind', HEADER.replace('Sample', 'Other'), /f\.yaml:2:7: kind: is another\. \(allowed: Sample\)/],
    ['another version', 'apiVersion: v1\nkind: Sample', /f\.yaml:1:13: apiVersion: is another\. \(allowed: config\./],
    ['no header', 'name: x', /apiVersion: is required.*\n.*kind: is required/],
    ['far too much', '#'.repeat(1_000_001), /more than 1000000 characters/],
  ];
  for (const [name, text, says] of broken) it(`refuses ${name}`, () => expect(failure(text).message).to.match(says));

  it('survives a value that contains itself', () => {
    expect(failure(`${HEADER}name: &a [*a]`).problems[0]).to.deep.include({ field: 'name', line: 3 });
  });

  const odd: readonly (readonly [name: string, kind: string])[] = [
    ['contains itself', '&a [*a]'],
    ['is as long as a book', 'x'.repeat(100_000)],
    ['is nested deeper than a stack is', `${'['.repeat(9_000)}${']'.repeat(9_000)}`],
  ];
  for (const [name, kind] of odd) {
    it(`says in a line what is wrong with a kind that ${name}`, () => {
      const { message } = failure(`apiVersion: a\nkind: ${kind}`);
      expect(
        message.split('\n').every((line) => line.length < 300),
        message.slice(0, 400),
      ).to.equal(true);
    });
  }

  it('refuses aliases that would blow up', () => {
    const bomb = `${HEADER}a: &a [x,x,x,x,x,x,x,x,x]\n${['b', 'c', 'd', 'e', 'f']
      .map((key, index) => `${key}: &${key} [${Array(9).fill(`*${'abcde'[index]}`).join(',')}]`)
      .join('\n')}`;
    expect(() => loadConfiguration(SAMPLE, bomb, 'f.yaml')).to.throw(ConfigError);
  });

  it('never throws anything but ConfigError, whatever the text', () => {
    const line = fc.oneof(
      fc.string(),
      fc.constantFrom('name: x', 'size: 3', 'nested: {mode: a}', 'list: [a]', '- ', '? : ', '&a', '*a', '!!binary x'),
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 8 }), fc.boolean(), (lines, header) => {
        try {
          loadConfiguration(SAMPLE, (header ? HEADER : '') + lines.join('\n'), 'f.yaml');
        } catch (error) {
          expect(error).to.be.instanceOf(ConfigError);
        }
      }),
      { numRuns: upTo(500) },
    );
  });
});

const FILE = new URL('../../../../docs/reference/configuration.md', import.meta.url);

describe('renderConfigurationReference', () => {
  const kinds = [SETTINGS_RECONCILER_CONFIGURATION, ENDPOINTSLICE_WEBHOOK_CONFIGURATION];
  for (const { kind, schema } of kinds) {
    it(`docs/reference/configuration.md is up to date for ${kind}`, () => {
      const section = renderConfigurationReference([{ kind, schema }]).split('\n\n').at(-1);
      // The formatter pads tables; cells are what counts.
      const cells = (text: string): string => text.replaceAll(/ *\| */g, '|').replaceAll(/-{3,}/g, '---');
      expect(cells(readFileSync(FILE, 'utf8'))).to.contain(cells(section ?? 'no section').trim());
    });
  }

  it('describes every value of the settings reconciler', () => {
    const missing = renderConfigurationReference([SETTINGS_RECONCILER_CONFIGURATION])
      .split('\n')
      .filter((line) => line.startsWith('| `') && line.endsWith('|  |') && !line.includes('| object |'));
    expect(missing).to.deep.equal([]);
  });
});

describe('a schema of the project', () => {
  const SCHEMAS = {
    ENDPOINTSLICE_WEBHOOK: ENDPOINTSLICE_WEBHOOK_CONFIGURATION.schema,
    FLOW_CONTROLLER: FLOW_CONTROLLER_CONFIGURATION.schema,
    SETTINGS_RECONCILER: SETTINGS_RECONCILER_CONFIGURATION.schema,
    ROUTING_CONFIG_SCHEMA,
    FLOW_POLICY_SPEC_SCHEMA,
  };
  const ajv = new Ajv({ strict: false });
  for (const [name, schema] of Object.entries(SCHEMAS))
    it(`${name} is a valid JSON Schema`, () => expect(ajv.validateSchema(schema), ajv.errorsText()).to.equal(true));
});
