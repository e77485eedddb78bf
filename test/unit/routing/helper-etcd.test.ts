// The helpers that extensions import: odd objects, errors, and Etcds.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Etcd } from '../../../pkg/apis/gardener.ts';
import {
  FieldNotSupportedError,
  reconcileEtcdTopologyAwareRouting,
  reconcileTopologyAwareRouting,
} from '../../../pkg/routing/helper.ts';
import { routingSettings } from '../../../pkg/routing/plan.ts';
import type { EtcdFieldSupport } from '../../../pkg/routing/types.ts';
import { InvalidVersionError, UnsupportedVersionError, parseKubernetesVersion } from '../../../pkg/routing/version.ts';
import { service } from '../../fixtures/core.ts';
import { etcd } from '../../fixtures/gardener.ts';
import { CONSIDER, KEEP, allMinors, deepFreeze, withoutEmpty } from './support.ts';

describe('reconcileTopologyAwareRouting: objects and errors', () => {
  it('keeps other labels, annotations and fields of a whole Service', () => {
    const input = deepFreeze(
      service({
        metadata: { resourceVersion: '7', labels: { app: 'x' }, annotations: { [KEEP]: '[]' } },
        spec: { ipFamilyPolicy: 'PreferDualStack' },
      }),
    );
    const result = reconcileTopologyAwareRouting(input, true, '1.34.0');
    expect(result).to.deep.equal({ ...input, spec: { ...input.spec, trafficDistribution: 'PreferSameZone' } });
    expect(result).to.not.equal(input);
    expect(result.spec?.ports).to.equal(input.spec?.ports);
  });

  for (const enabled of [true, false]) {
    it(`names a bad version, ${enabled ? 'on' : 'off'}`, () => {
      expect(() => reconcileTopologyAwareRouting({}, enabled, 'stable')).to.throw(InvalidVersionError, '"stable"');
      expect(() => reconcileTopologyAwareRouting({}, enabled, undefined as never)).to.throw(
        InvalidVersionError,
        'missing',
      );
      expect(() => reconcileTopologyAwareRouting({}, enabled, '1.23')).to.throw(UnsupportedVersionError, '1.23');
      expect(() => reconcileEtcdTopologyAwareRouting({}, enabled, '')).to.throw(InvalidVersionError, '""');
    });
  }
});

describe('reconcileEtcdTopologyAwareRouting', () => {
  const support = (trafficDistribution: string[], maps = true): EtcdFieldSupport => ({
    trafficDistribution,
    labels: maps,
    annotations: maps,
  });

  it('writes spec.etcd.clientService on every version, and nothing else', () => {
    for (const minor of allMinors) {
      const input = deepFreeze(etcd());
      const result: Etcd = reconcileEtcdTopologyAwareRouting(input, true, `1.${minor}`);
      const { labels, annotations, trafficDistribution } = routingSettings(parseKubernetesVersion(`1.${minor}`));
      const own = input.spec?.etcd?.clientService;
      expect(withoutEmpty(result), `1.${minor}`).to.deep.equal({
        ...input,
        spec: {
          ...input.spec,
          etcd: withoutEmpty({
            ...input.spec?.etcd,
            clientService: {
              labels,
              annotations: { ...own?.annotations, ...annotations },
              ...(trafficDistribution === undefined ? {} : { trafficDistribution }),
            },
          }),
        },
      });
      expect(result.metadata, 'no operation annotation').to.equal(input.metadata);
    }
  });

  const accepted: { name: string; version: string; values: string[]; expected: string }[] = [
    {
      name: 'druid 0.36',
      version: '1.34',
      values: ['PreferSameZone', 'PreferSameNode', 'PreferClose'],
      expected: 'PreferSameZone',
    },
    { name: 'druid before 0.36', version: '1.34', values: ['PreferClose'], expected: 'PreferClose' },
    { name: 'druid before 0.36 on 1.33', version: '1.33', values: ['PreferClose'], expected: 'PreferClose' },
  ];
  for (const { name, version, values, expected } of accepted) {
    it(`${name}: ${expected}`, () => {
      const result = reconcileEtcdTopologyAwareRouting(etcd(), true, version, support(values));
      expect(result.spec?.etcd?.clientService?.trafficDistribution).to.equal(expected);
    });
  }

  const refusals: { name: string; version: string; support: EtcdFieldSupport; field: string }[] = [
    { name: 'no field on 1.32', version: '1.32', support: support([]), field: 'trafficDistribution' },
    { name: 'no usable value', version: '1.34', support: support(['PreferSomething']), field: 'trafficDistribution' },
    { name: 'no labels on 1.30', version: '1.30', support: support([], false), field: 'labels' },
  ];
  for (const { name, version, support: served, field } of refusals) {
    it(`throws where the CRD lacks what is needed: ${name}`, () => {
      expect(() => reconcileEtcdTopologyAwareRouting(etcd(), true, version, served))
        .to.throw(FieldNotSupportedError, `spec.etcd.clientService.${field}`)
        .with.property('field', `spec.etcd.clientService.${field}`);
    });

    it(`still takes settings off there: ${name}`, () => {
      const result = reconcileEtcdTopologyAwareRouting(
        etcd({ clientService: { labels: { [CONSIDER]: 'true' }, trafficDistribution: 'PreferClose' } }),
        false,
        version,
        served,
      );
      expect(withoutEmpty(result)).to.deep.equal(withoutEmpty(etcd({ clientService: {} })));
    });
  }

  it('makes the block only where it has something to put there', () => {
    expect(reconcileEtcdTopologyAwareRouting({}, false, '1.34')).to.deep.equal({});
    expect(reconcileEtcdTopologyAwareRouting({}, true, '1.34')).to.deep.equal({
      spec: { etcd: { clientService: { trafficDistribution: 'PreferSameZone' } } },
    });
  });
});
