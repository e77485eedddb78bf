import { expect } from 'chai';
import { describe, it } from 'mocha';
import { chartRegistration, chartValues, valueRows } from '../../../hack/generate/chart.ts';

const SCHEMA = JSON.stringify({
  properties: {
    first: { properties: { name: { type: 'string' }, size: { $ref: '#/definitions/size' } } },
    kind: { enum: ['a', true, null] },
    list: { type: 'array' },
    whole: { $ref: '#/definitions/whole' },
    free: { type: ['object', 'null'] },
  },
  definitions: {
    size: { type: 'integer', minimum: 1, maximum: 9 },
    whole: { type: 'object', properties: { size: { type: 'integer' } } },
  },
});

const VALUES = `first:
  # What it is
  # called.
  name: x
  # How big.
  size: 3
# Which one.
kind: a
# Many.
list: [1]
# A value of its own.
whole: { size: 2 }
# Anything.
free: { a: { b: 1 } }
`;

describe('the table of values', () => {
  it('has one row a value: key, accepted values, default, comment', () => {
    expect(valueRows(VALUES, SCHEMA)).to.deep.equal([
      ['`first.name`', 'string', '`"x"`', 'What it is called.'],
      ['`first.size`', 'integer 1–9', '`3`', 'How big.'],
      ['`kind`', '`"a"`, `true`, `null`', '`"a"`', 'Which one.'],
      ['`list`', 'array', '`[1]`', 'Many.'],
      ['`whole`', 'object', '`{"size":2}`', 'A value of its own.'],
      ['`free`', 'object or null', '`{"a":{"b":1}}`', 'Anything.'],
    ]);
  });

  const wrong = [
    ['a value without a schema', '# New.\nother: 1\n', 'values.schema.json: other has no entry'],
    [
      'a nested value without a schema',
      'first:\n  # New.\n  other: 1\n',
      'values.schema.json: first.other has no entry',
    ],
    ['a value without a comment', 'first:\n  size: 1\n', 'first.size has no comment'],
    ['values that are no mapping', '[]', 'values.yaml: is not a mapping'],
  ] as const;
  for (const [name, values, message] of wrong)
    it(`refuses ${name}`, () => expect(() => valueRows(values, SCHEMA)).to.throw(message));

  it('is rendered for the chart, whose every value has a comment and a schema entry', async () => {
    const lines = (await chartValues.render()).split('\n');
    expect(lines[1]).to.equal('|---|---|---|---|');
    for (const line of lines) expect(line.match(/(?<!\\)\|/g), line).to.have.lengthOf(5);
    expect(lines.filter((line) => line.startsWith('| `endpointsliceWebhook.'))).to.have.length.above(5);
  });
});

describe('the registration in the chart', () => {
  it('carries match conditions in the variant for 1.28 and newer only', async () => {
    const [newer, older] = (await chartRegistration.render()).split('{{- else }}');
    expect(newer).to.contain('semverCompare ">= 1.28-0"').and.to.contain('matchConditions:');
    expect(older).to.contain('kind: MutatingWebhookConfiguration').and.not.to.contain('matchConditions:');
  });

  it('takes name, namespace, certificate, policy and timeout from the release', async () => {
    const text = await chartRegistration.render();
    for (const field of ['name', 'namespace', 'caBundle', 'failurePolicy', 'timeoutSeconds'])
      expect(text).to.match(new RegExp(`^ +${field}: \\{\\{ .* \\}\\}$`, 'm'));
    expect(text).to.contain('"system:serviceaccount:{{ .Release.Namespace }}:settings-reconciler"');
    expect(text).not.to.contain('placeholder');
  });

  it('excludes the namespaces that the code guards', async () => {
    expect(await chartRegistration.render()).to.contain('(list .Release.Namespace "default" "kube-system")');
  });

  it('leaves only slices to the configured policy', async () => {
    const entries = (await chartRegistration.render()).split('  - name: ').slice(1);
    const configured = entries.filter((entry) => entry.includes('failurePolicy: {{'));
    expect(configured).to.have.lengthOf(4);
    for (const entry of configured) expect(entry).to.contain('endpointslices');
  });
});
