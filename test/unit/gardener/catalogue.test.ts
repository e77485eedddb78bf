// The catalogue of Services, written out once more as literals, and what is selected by it.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import { ETCD_CLIENT_SERVICES } from '../../../pkg/apis/names.ts';
import { CATALOGUE, selectEtcd, selectService } from '../../../pkg/gardener/catalogue.ts';
import type { Scope } from '../../../pkg/gardener/types.ts';

const MANAGED = 'topology.extensions.gardener.cloud/managed';

const object = (name: string, managed?: string): KubernetesObject => ({
  metadata: { name, namespace: 'x', ...(managed === undefined ? {} : { labels: { [MANAGED]: managed } }) },
});

describe('the catalogue', () => {
  it('has the rows that Gardener has', () => {
    const rows = CATALOGUE.map(({ scope, service, source, condition, mutableAtAdmission }) =>
      [scope, service, `${source.kind} ${source.name}`, condition, mutableAtAdmission].join(' | '),
    );
    expect(rows).to.deep.equal([
      'shoot | etcd-main-client | Etcd etcd-main | none | true',
      'shoot | etcd-events-client | Etcd etcd-events | none | true',
      'shoot | kube-apiserver | Service kube-apiserver | notLayerSeven | false',
      'shoot | gardener-resource-manager | Service gardener-resource-manager | none | true',
      'shoot | vpa-webhook | Service vpa-webhook | none | true',
      'garden | virtual-garden-etcd-main-client | Etcd virtual-garden-etcd-main | none | true',
      'garden | virtual-garden-etcd-events-client | Etcd virtual-garden-etcd-events | none | true',
      'garden | virtual-garden-kube-apiserver | Service virtual-garden-kube-apiserver | notLayerSeven | false',
      'garden | gardener-apiserver | Service gardener-apiserver | none | true',
      'garden | gardener-admission-controller | Service gardener-admission-controller | none | true',
      'garden | terminal-controller-manager | Service terminal-controller-manager | none | true',
    ]);
  });
});

describe('selectService', () => {
  type Case = readonly [name: string, service: string, scope: Scope | undefined, expected: string, managed?: string];
  const cases: readonly Case[] = [
    ['a row', 'vpa-webhook', 'shoot', 'catalogue'],
    ['the same name in the garden is none', 'vpa-webhook', 'garden', 'none'],
    ['the same name in an extension namespace is none', 'vpa-webhook', undefined, 'none'],
    ['any other', 'prometheus', 'shoot', 'none'],
    ['one that an extension labelled, in its own namespace', 'webhook', undefined, 'labelled', 'true'],
    ['one that an extension labelled, in a control plane', 'csi-snapshot-validation', 'shoot', 'labelled', 'true'],
    ['a row, labelled as well', 'vpa-webhook', 'shoot', 'catalogue', 'true'],
    ['a row, excluded', 'vpa-webhook', 'shoot', 'excluded', 'false'],
    ['any other, excluded', 'webhook', undefined, 'excluded', 'false'],
    ['a label with another value', 'webhook', undefined, 'none', 'yes'],
    ['the client Service of an Etcd', 'etcd-main-client', 'shoot', 'writtenByDruid'],
    ['the client Service of an Etcd, labelled', 'etcd-main-client', 'shoot', 'writtenByDruid', 'true'],
    ['the client Service of an Etcd, excluded', 'etcd-main-client', 'shoot', 'writtenByDruid', 'false'],
  ];
  for (const [name, service, scope, expected, managed] of cases) {
    it(`${name}: ${expected}`, () => {
      const selection = selectService(object(service, managed), scope);
      expect(selection.kind).to.equal(expected);
      if (selection.kind === 'catalogue') expect(selection.entry.service).to.equal(service);
    });
  }

  it('never takes what etcd-druid makes, whatever its labels ask for', () => {
    const labels = { [MANAGED]: 'true', 'app.kubernetes.io/managed-by': 'etcd-druid' };
    const client = { metadata: { name: 'own-client', namespace: 'x', labels } };
    for (const scope of ['shoot', 'garden', undefined] as const)
      expect(selectService(client, scope), scope).to.deep.equal({ kind: 'writtenByDruid' });
  });

  it('knows the client Services of Etcds by the names that admission looks for', () => {
    const clients = CATALOGUE.filter(({ source }) => source.kind === 'Etcd').map(({ service }) => service);
    expect(clients).to.deep.equal(ETCD_CLIENT_SERVICES);
  });

  it('survives an object without metadata', () => {
    expect(selectService({}, 'shoot')).to.deep.equal({ kind: 'none' });
    expect(selectEtcd({}, 'shoot')).to.deep.equal({ kind: 'none' });
  });
});

describe('selectEtcd', () => {
  for (const { name, managed, scope, expected } of [
    { name: 'etcd-main', managed: undefined, scope: 'shoot', expected: 'catalogue' },
    { name: 'etcd-events', managed: 'true', scope: 'shoot', expected: 'catalogue' },
    { name: 'etcd-main', managed: 'false', scope: 'shoot', expected: 'excluded' },
    { name: 'etcd-main', managed: undefined, scope: 'garden', expected: 'none' },
    { name: 'virtual-garden-etcd-events', managed: undefined, scope: 'garden', expected: 'catalogue' },
    { name: 'somebody-elses', managed: 'true', scope: 'shoot', expected: 'none' },
  ] as const) {
    it(`${name} in ${scope}, managed ${managed}: ${expected}`, () => {
      expect(selectEtcd(object(name, managed), scope).kind).to.equal(expected);
    });
  }
});
