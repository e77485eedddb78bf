import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { ExtensionClass } from '../../../../pkg/apis/gardener.ts';
import { assessReading, describeProblems } from '../../../../pkg/gardener/extension/select.ts';
import { NAME, readingOf } from './support.ts';

const cases: { name: string; config: object; class: ExtensionClass; field?: string; says?: RegExp }[] = [
  {
    name: "a Shoot's owner reaches no other namespace",
    config: { services: [{ name: 'a', namespace: 'garden' }] },
    class: 'shoot',
    field: 'spec.providerConfig.services[0].namespace',
    says: /must be left out: class shoot/,
  },
  {
    name: 'nor keeps others out there',
    config: { exclude: [{ name: 'a' }, { name: 'b', namespace: 'garden' }] },
    class: 'shoot',
    field: 'spec.providerConfig.exclude[1].namespace',
  },
  { name: 'a seed has several', config: { services: [{ name: 'a', namespace: 'extension-x' }] }, class: 'seed' },
  { name: 'a garden too', config: { exclude: [{ name: 'a', namespace: 'garden' }] }, class: 'garden' },
  {
    name: 'an Etcd has no strategies',
    config: { services: [{ name: 'b' }, { name: 'etcd-main-client', strategy: 'same-node' }] },
    class: 'shoot',
    field: 'spec.providerConfig.services[1].strategy',
    says: /only etcd-druid writes Service etcd-main-client, and it cannot have a strategy/,
  },
  {
    name: 'in the garden neither',
    config: { services: [{ name: 'virtual-garden-etcd-main-client', strategy: 'load-aware' }] },
    class: 'garden',
    field: 'spec.providerConfig.services[0].strategy',
  },
  { name: 'an Etcd without a strategy', config: { services: [{ name: 'etcd-main-client' }] }, class: 'shoot' },
  {
    name: 'the name means nothing elsewhere',
    config: { services: [{ name: 'etcd-main-client', strategy: 'same-node' }] },
    class: 'seed',
  },
];

describe('assessReading', () => {
  for (const { name, config, class: extensionClass, field, says } of cases) {
    it(`${name}: ${field === undefined ? 'fits' : 'is refused'}`, () => {
      const reading = readingOf(config);
      const assessed = assessReading(reading, extensionClass);
      if (field === undefined) return void expect(assessed).to.equal(reading);
      expect(assessed).to.have.property('kind', 'invalid');
      expect(assessed).to.have.nested.property('problems[0].field', field);
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
