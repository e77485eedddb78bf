import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { ExtensionClass } from '../../../../pkg/apis/gardener.ts';
import { assessReading, describeProblems } from '../../../../pkg/gardener/extension/select.ts';
import { NAME, readingOf } from './support.ts';

const there = { services: [{ name: 'a', namespace: 'garden' }] };
const excludedThere = { exclude: [{ name: 'a' }, { name: 'b', namespace: 'garden' }] };
const sameNode = { name: 'etcd-main-client', strategy: 'same-node' };
const inGarden = { services: [{ name: 'virtual-garden-etcd-main-client', strategy: 'load-aware' }] };
const [SHOOT, DRUID] = [
  /must be left out: class shoot/,
  /only etcd-druid writes Service etcd-main-client, and it cannot have a strategy/,
];
type Case = readonly [name: string, of: ExtensionClass, config: object, field?: string, says?: RegExp];
const cases: readonly Case[] = [
  ["a Shoot's owner reaches no other namespace", 'shoot', there, 'services[0].namespace', SHOOT],
  ['nor keeps others out there', 'shoot', excludedThere, 'exclude[1].namespace'],
  ['a seed has several', 'seed', { services: [{ name: 'a', namespace: 'extension-x' }] }],
  ['a garden too', 'garden', { exclude: [{ name: 'a', namespace: 'garden' }] }],
  ['an Etcd has no strategies', 'shoot', { services: [{ name: 'b' }, sameNode] }, 'services[1].strategy', DRUID],
  ['in the garden neither', 'garden', inGarden, 'services[0].strategy'],
  ['an Etcd without a strategy', 'shoot', { services: [{ name: 'etcd-main-client' }] }],
  ['the name means nothing elsewhere', 'seed', { services: [sameNode] }],
];

describe('assessReading', () => {
  for (const [name, extensionClass, config, field, says] of cases) {
    it(`${name}: ${field === undefined ? 'fits' : 'is refused'}`, () => {
      const reading = readingOf(config);
      const assessed = assessReading(reading, extensionClass);
      if (field === undefined) return void expect(assessed).to.equal(reading);
      expect(assessed).to.have.property('kind', 'invalid');
      expect(assessed).to.have.nested.property('problems[0].field', `spec.providerConfig.${field}`);
      if (says !== undefined) expect(assessed).to.have.nested.property('problems[0].message').that.matches(says);
    });
  }
});

describe('describeProblems', () => {
  it('names object and fields', () => {
    const problems = [
      { field: 'spec.providerConfig.a', message: 'is required.' },
      { field: 'spec.providerConfig.b', message: 'is 5.' },
    ];
    expect(describeProblems(NAME, problems)).to.equal(
      `Extension ${NAME}: spec.providerConfig.a is required; spec.providerConfig.b is 5`,
    );
  });
});
