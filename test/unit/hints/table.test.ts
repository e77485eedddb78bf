import { expect } from 'chai';
import { describe, it } from 'mocha';
import { anyCharacter } from '../../fixtures/any-character.ts';
import fc from 'fast-check';
import { LABEL_CONSIDER, LABEL_STRATEGY, NOWHERE, STRATEGIES } from '../../../pkg/apis/names.ts';
import { STRATEGIES_BY_LABEL, strategyOf } from '../../../pkg/hints/table.ts';
import { excludedNamespacesOf, isNodeName, isZoneName } from '../../../pkg/hints/readiness.ts';
import type { JsonPatchOperation } from '../../../pkg/apis/admission.ts';
import { patchText } from '../../../pkg/hints/decide.ts';

describe('the strategies by label', () => {
  it('reads our label before that of Gardener', () => {
    expect([...STRATEGIES_BY_LABEL.keys()]).to.deep.equal([LABEL_STRATEGY, LABEL_CONSIDER]);
  });

  for (const name of STRATEGIES)
    it(`finds ${name} by its label`, () => expect(strategyOf({ [LABEL_STRATEGY]: name })).to.equal(name));

  const none: { name: string; labels: Record<string, unknown> }[] = [
    { name: 'no labels', labels: {} },
    { name: 'another case', labels: { [LABEL_STRATEGY]: 'Same-Zone' } },
    { name: 'an inherited name', labels: { [LABEL_STRATEGY]: 'constructor' } },
    { name: 'no string', labels: { [LABEL_STRATEGY]: ['same-zone'] } },
    { name: 'consider false', labels: { [LABEL_CONSIDER]: 'false' } },
  ];
  for (const { name, labels } of none)
    it(`finds nothing for ${name}`, () => expect(strategyOf(labels)).to.equal(undefined));
});

describe('isZoneName', () => {
  for (const value of ['a', 'eu-1a', 'EU_1.a', '1', 'z'.repeat(63)])
    it(`accepts ${value.slice(0, 20)}`, () => expect(isZoneName(value)).to.equal(true));
  for (const value of [
    '',
    '-a',
    'a-',
    'a b',
    'a/b',
    'ä',
    'a\n',
    'z'.repeat(64),
    NOWHERE,
    undefined,
    null,
    5,
    ['a'],
    {},
  ])
    it(`refuses ${JSON.stringify(value)?.slice(0, 20)}`, () => expect(isZoneName(value)).to.equal(false));
});

describe('isNodeName', () => {
  for (const value of ['n', 'node-1', 'ip-10-0-0-1.eu-west-1.compute.internal', '1.2', `${'a'.repeat(250)}.bc`])
    it(`accepts ${value.slice(0, 20)}`, () => expect(isNodeName(value)).to.equal(true));
  for (const value of ['', 'N', 'a_b', '-a', 'a-', 'a..b', '.a', 'a.', 'a\n', 'a'.repeat(254), undefined, 5])
    it(`refuses ${JSON.stringify(value)?.slice(0, 20)}`, () => expect(isNodeName(value)).to.equal(false));
});

const shared = { forZones: [{ name: 'a' }] };
const operation: fc.Arbitrary<JsonPatchOperation> = fc.oneof(
  fc.record({ op: fc.constant('remove' as const), path: fc.string({ unit: anyCharacter }) }),
  fc.record({
    op: fc.constantFrom('add' as const, 'replace' as const),
    path: fc.string({ unit: anyCharacter }),
    value: fc.oneof(fc.constant(shared), fc.jsonValue()),
  }),
);

describe('patchText', () => {
  it('reads back as what was printed, whatever the operations', () => {
    fc.assert(
      fc.property(fc.array(operation), (operations) => {
        expect(JSON.parse(patchText(operations))).to.deep.equal(JSON.parse(JSON.stringify(operations)));
      }),
    );
  });
});

describe('excludedNamespacesOf', () => {
  const cases = [
    ['ours and the guarded ones', [], [], ['default', 'ext', 'kube-system']],
    ['what is listed comes back', ['kube-system'], [], ['default', 'ext']],
    ['what else is excluded, once', [], ['x', 'default'], ['default', 'ext', 'kube-system', 'x']],
  ] as const;
  for (const [name, included, excluded, want] of cases)
    it(name, () => expect(excludedNamespacesOf('ext', { included, excluded })).to.deep.equal(want));
});
