// What the served Etcd CRD accepts, and the settings that are left of a Service's on it.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { DRUID_FIELD_SUPPORT, etcdFieldSupportFromCrd, etcdSettings } from '../../../pkg/routing/helper.ts';
import { routingSettings, strategySettings, withOldProxies } from '../../../pkg/routing/plan.ts';
import type { EtcdFieldSupport, RoutingSettings } from '../../../pkg/routing/types.ts';
import { DRUID_TRAFFIC_DISTRIBUTION, etcdCrd } from '../../fixtures/crds.ts';
import { CONSIDER, MODE } from './support.ts';

const ALL = DRUID_FIELD_SUPPORT.trafficDistribution;
const NONE: EtcdFieldSupport = { trafficDistribution: [], labels: false, annotations: false };

/** A CRD whose clientService has the given schema; `around` goes into every level above. */
const crdWith = (clientService: unknown, around: object = {}, version: object = {}): unknown => {
  const level = (name: string, schema: unknown): object => ({
    type: 'object',
    properties: { [name]: schema },
    ...around,
  });
  const openAPIV3Schema = level(
    'spec',
    level('etcd', clientService === undefined ? around : level('clientService', clientService)),
  );
  return { spec: { versions: [{ name: 'v1alpha1', served: true, schema: { openAPIV3Schema }, ...version }] } };
};

describe('etcdFieldSupportFromCrd', () => {
  const maps = { labels: { type: 'object' }, annotations: { type: 'object' } };
  const KEPT = { 'x-kubernetes-preserve-unknown-fields': true };
  const field = (schema: object) => ({ properties: { trafficDistribution: schema } });
  const close = { enum: ['PreferClose'] };
  const accepting = (
    trafficDistribution: EtcdFieldSupport['trafficDistribution'],
    labels = true,
    annotations = labels,
  ) => ({
    trafficDistribution,
    labels,
    annotations,
  });
  const NONE_SERVED = { spec: { versions: [{ name: 'v1alpha1', served: true }] } };
  const cases: { name: string; crd: unknown; version?: string; expected: EtcdFieldSupport }[] = [
    {
      name: 'druid 0.36',
      crd: etcdCrd(DRUID_TRAFFIC_DISTRIBUTION.all),
      expected: accepting(['PreferSameZone', 'PreferSameNode', 'PreferClose']),
    },
    { name: 'up to 0.35', crd: etcdCrd(DRUID_TRAFFIC_DISTRIBUTION.preferClose), expected: accepting(['PreferClose']) },
    { name: 'druid without the field', crd: etcdCrd(DRUID_TRAFFIC_DISTRIBUTION.none), expected: accepting([]) },
    { name: 'labels only', crd: crdWith({ properties: { labels: {} } }), expected: accepting([], true, false) },
    {
      name: 'a string without enum',
      crd: crdWith({ properties: { ...maps, trafficDistribution: { type: 'string' } } }),
      expected: accepting(ALL),
    },
    {
      name: 'strange members of the enum',
      crd: crdWith(field({ enum: ['PreferClose', null, 7] })),
      expected: accepting(['PreferClose'], false),
    },
    { name: 'unknown fields kept on the block', crd: crdWith({ ...KEPT, properties: {} }), expected: accepting(ALL) },
    {
      name: 'and the field described',
      crd: crdWith({ ...KEPT, ...field(close) }),
      expected: accepting(['PreferClose']),
    },
    { name: 'unknown fields kept above, no block', crd: crdWith(undefined, KEPT), expected: accepting(ALL) },
    { name: 'kept above, pruned on the block', crd: crdWith({ properties: maps }, KEPT), expected: accepting([]) },
    { name: 'no block', crd: crdWith(undefined), expected: NONE },
    { name: 'another version', crd: etcdCrd(), version: 'v1beta7', expected: NONE },
    { name: 'a version that is not served', crd: crdWith({ properties: maps }, {}, { served: false }), expected: NONE },
    { name: 'no schema', crd: NONE_SERVED, expected: NONE },
    { name: 'no versions', crd: { spec: {} }, expected: NONE },
    { name: 'undefined', crd: undefined, expected: NONE },
    { name: 'a string', crd: 'x', expected: NONE },
  ];
  for (const { name, crd, version, expected } of cases) {
    it(`reads ${name}`, () => {
      expect(etcdFieldSupportFromCrd(crd, version)).to.deep.equal(expected);
    });
  }
});

describe('etcdSettings', () => {
  const sameNode = strategySettings({ major: 1, minor: 34 }, 'same-node');
  const sameZone = routingSettings({ major: 1, minor: 34 });
  const older = ['PreferClose', 'PreferSameNode'];
  type Fallback = readonly [name: string, of: RoutingSettings, values: readonly string[], is: string | undefined];
  const fallbacks: readonly Fallback[] = [
    ['PreferSameZone stays', sameZone, ALL, 'PreferSameZone'],
    ['PreferSameZone becomes PreferClose', sameZone, older, 'PreferClose'],
    ['PreferSameNode stays', sameNode, ALL, 'PreferSameNode'],
    ['PreferSameNode becomes PreferSameZone', sameNode, ['PreferClose', 'PreferSameZone'], 'PreferSameZone'],
    ['PreferSameNode becomes PreferClose', sameNode, ['PreferClose'], 'PreferClose'],
    ['PreferClose never becomes another', routingSettings({ major: 1, minor: 33 }), ['PreferSameZone'], undefined],
  ];
  for (const [name, settings, values, expected] of fallbacks) {
    it(name, () => {
      const result = etcdSettings(settings, { trafficDistribution: values, labels: true, annotations: true });
      expect(result.kind === 'settings' ? result.settings.trafficDistribution : undefined).to.equal(expected);
      if (expected === undefined) expect(result).to.include({ kind: 'refused', reason: 'FieldNotSupported' });
    });
  }

  it('leaves out maps that the CRD lacks where the field alone suffices, and says so', () => {
    const settings = withOldProxies(routingSettings({ major: 1, minor: 31 }));
    const result = etcdSettings(settings, { trafficDistribution: ALL, labels: false, annotations: false });
    expect([settings.labels, settings.annotations].map(Object.keys)).to.deep.equal([[CONSIDER], [MODE]]);
    expect(result).to.deep.equal({
      kind: 'settings',
      settings: { labels: {}, annotations: {}, trafficDistribution: 'PreferClose' },
      dropped: ['spec.etcd.clientService.labels', 'spec.etcd.clientService.annotations'],
    });
  });

  for (const { lacking, support } of [
    { lacking: 'labels', support: { trafficDistribution: [], labels: false, annotations: true } },
    { lacking: 'annotations', support: { trafficDistribution: [], labels: true, annotations: false } },
  ]) {
    it(`refuses without ${lacking} where there is no field to write`, () => {
      const result = etcdSettings(routingSettings({ major: 1, minor: 27 }), support);
      expect(result).to.deep.include({
        kind: 'refused',
        reason: 'FieldNotSupported',
        field: `spec.etcd.clientService.${lacking}`,
      });
    });
  }
});
