import { expect } from 'chai';
import { describe, it } from 'mocha';
import { ANNOTATION_APPLIED, LABEL_MANAGED } from '../../../../pkg/apis/names.ts';
import { selectEtcd, selectService } from '../../../../pkg/gardener/catalogue.ts';
import {
  type Governing,
  configuredEtcdSelection,
  configuredSelection,
  extensionClassOf,
  governingExtension,
  heldByConfiguration,
} from '../../../../pkg/gardener/extension/select.ts';
import { etcd } from '../../../fixtures/gardener.ts';
import { named } from '../../controllers/settings/support.ts';
import { NAME, governing, read, readingOf, extensionIn, lastOperation } from './support.ts';

const select = (object: ReturnType<typeof named>, by: Governing | undefined) =>
  configuredSelection(selectService(object, 'shoot'), object, by);

const INVALID = governing({}, { reading: read({}) });
const applied = { [ANNOTATION_APPLIED]: '{}' };
const selector = { matchLabels: { app: 'x' } };

const NOTHING = { selection: { kind: 'none' } };
const configured = (field: string) => ({ selection: { kind: 'configured', extension: NAME, field } });
const first = configured('spec.providerConfig.services[0]');
const second = { ...configured('spec.providerConfig.services[1]'), strategy: 'same-node' };
const sameNode = { name: 'a', strategy: 'same-node' as const };
const inNamespace = (namespace: string) => governing({ services: [{ name: 'a', namespace }] }, { class: 'seed' });
const excluding = governing({ services: [{ name: 'a' }], exclude: [{ name: 'b' }, { name: 'a' }] });
const excluded = { selection: { kind: 'excludedBy', extension: NAME, field: 'spec.providerConfig.exclude[1]' } };
const ofEtcd = named('etcd-main-client');

type Case = readonly [name: string, by: Governing | undefined, is: object, object?: ReturnType<typeof named>];
const cases: readonly Case[] = [
  ['nothing governs', undefined, NOTHING],
  ['nothing is asked for', governing({}, { reading: { kind: 'absent' } }), NOTHING],
  ['a Service by name', governing({ services: [{ name: 'b' }, sameNode] }), second],
  ['the first entry that fits', governing({ services: [{ selector }, sameNode] }), first, named('a', { app: 'x' })],
  ['a Service of another label', governing({ services: [{ selector }] }), NOTHING, named('a', { app: 'y' })],
  ['another namespace', inNamespace('extension-x'), NOTHING],
  ['the namespace that is named', inNamespace('shoot--foo--bar'), first],
  ['excluded goes before services', excluding, excluded],
  [
    "the owner's own label goes before everything",
    governing({ services: [{ name: 'a' }] }),
    { selection: { kind: 'excluded' } },
    named('a', { [LABEL_MANAGED]: 'false' }),
  ],
  [
    'a Service that an Etcd makes stays with its Etcd',
    governing({ services: [{ name: 'etcd-main-client' }] }),
    { selection: selectService(ofEtcd, 'shoot') },
    ofEtcd,
  ],
  ['what carries settings is held', INVALID, configured('spec.providerConfig'), named('a', {}, applied)],
  ['and nothing more is taken on', INVALID, NOTHING],
];

describe('configuredSelection', () => {
  for (const [name, by, is, object = named('a')] of cases) it(name, () => expect(select(object, by)).to.deep.equal(is));
});

describe('configuredEtcdSelection', () => {
  const selectOf = (by: Governing | undefined, name = 'etcd-main') => {
    const object = etcd({ metadata: { name, namespace: 'shoot--foo--bar' } });
    return configuredEtcdSelection(selectEtcd(object, 'shoot'), object, by).kind;
  };

  it('is excluded by the name of its Service', () => {
    expect(selectOf(governing({ exclude: [{ name: 'etcd-main-client' }] }))).to.equal('excludedBy');
    expect(selectOf(governing({ exclude: [{ name: 'etcd-main' }] })), 'the name of the Etcd').to.equal('catalogue');
    expect(selectOf(governing({ exclude: [{ name: 'etcd-main-client' }] }), 'etcd-events')).to.equal('catalogue');
  });

  it('is nothing that a configuration could add, or a selector of Services find', () => {
    expect(selectOf(governing({ services: [{ name: 'etcd-other-client' }] }), 'etcd-other')).to.equal('none');
    expect(selectOf(governing({ exclude: [{ selector }] }))).to.equal('catalogue');
    expect(selectOf(INVALID)).to.equal('catalogue');
    expect(selectOf(undefined)).to.equal('catalogue');
  });
});

describe('heldByConfiguration', () => {
  const on = { kind: 'enabled' } as const;

  it('holds what is on while the configuration is wrong, and says where', () => {
    const held = heldByConfiguration(on, INVALID);
    expect(held).to.include({ reason: 'ConfigurationInvalid', field: 'spec.providerConfig.apiVersion' });
    expect(held).to.have.property('message').that.contains(`Extension ${NAME}: spec.providerConfig.apiVersion`);
  });
});

describe('extensionClassOf', () => {
  for (const [given, is] of [
    [undefined, 'shoot'],
    ['', 'shoot'],
    ['shoot', 'shoot'],
    ['seed', 'seed'],
    ['garden', 'garden'],
    ['planet', undefined],
  ] as const) {
    it(`${given}: ${is}`, () =>
      expect(extensionClassOf({ spec: given === undefined ? {} : { class: given } })).to.equal(is));
  }
});

describe('governingExtension', () => {
  const reading = readingOf({ services: [{ name: 'a' }] });
  const one = extensionIn({ metadata: { name: 'one' }, reading });
  const two = extensionIn({ metadata: { name: 'two' } });

  it('is the first by name of the class that is asked for', () => {
    expect(governingExtension([two, one], 'shoot')).to.deep.equal({
      name: 'shoot--foo--bar/one',
      class: 'shoot',
      reading,
    });
    expect(governingExtension([two, one], 'seed')).to.equal(undefined);
    expect(governingExtension([], 'shoot')).to.equal(undefined);
  });

  it('asks for nothing any more while it is deleted, so that what it asked for is reverted', () => {
    const leaving = extensionIn({ metadata: { name: 'one', deletionTimestamp: '2026-01-01T00:00:00Z' } });
    expect(governingExtension([leaving, two], 'shoot')?.name).to.equal('shoot--foo--bar/two');
    expect(governingExtension([leaving], 'shoot')).to.equal(undefined);
  });

  it('still counts while its Shoot moves to another seed: nothing is reverted here', () => {
    const metadata = { name: 'one', deletionTimestamp: '2026-01-01T00:00:00Z' };
    const migrating = extensionIn({ metadata, status: { lastOperation: lastOperation('Migrate') }, reading });
    expect(governingExtension([migrating], 'shoot')?.reading).to.equal(reading);
  });
});
