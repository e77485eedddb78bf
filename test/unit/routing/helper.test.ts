// The helpers that extensions import: Gardener's own cases, the whole matrix of versions and prior states, and properties.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import {
  reconcileTopologyAwareRouting,
  FieldNotSupportedError,
  reconcileEtcdTopologyAwareRouting,
} from '../../../pkg/routing/helper.ts';
import type { ServiceLike, EtcdFieldSupport } from '../../../pkg/routing/types.ts';
import { CONSIDER, HINTS, MODE, allMinors, deepFreeze, withoutEmpty } from './support.ts';
import type { Etcd } from '../../../pkg/apis/gardener.ts';
import { routingSettings } from '../../../pkg/routing/plan.ts';
import { InvalidVersionError, UnsupportedVersionError, parseKubernetesVersion } from '../../../pkg/routing/version.ts';
import { etcd } from '../../fixtures/gardener.ts';

interface Prior {
  hints?: string;
  mode?: string;
  consider?: string;
  trafficDistribution?: string;
}

const settingsOf = ({ hints, mode, consider, trafficDistribution }: LoosePrior): Record<string, unknown> =>
  withoutEmpty({
    metadata: {
      labels: consider === undefined ? {} : { [CONSIDER]: consider },
      annotations: {
        ...(hints === undefined ? {} : { [HINTS]: hints }),
        ...(mode === undefined ? {} : { [MODE]: mode }),
      },
    },
    spec: trafficDistribution === undefined ? {} : { trafficDistribution },
  });

describe("reconcileTopologyAwareRouting: Gardener's own cases", () => {
  const old = { hints: 'auto', consider: 'true' };
  const both = { hints: 'auto', mode: 'auto' };
  const everything = { ...both, consider: 'true' };
  const byMode = { mode: 'auto', consider: 'true' };
  const [close, sameZone] = [{ trafficDistribution: 'PreferClose' }, { trafficDistribution: 'PreferSameZone' }];
  const sameNode = { trafficDistribution: 'PreferSameNode' };
  const labelled = { consider: 'true', ...close };
  const cases: readonly (readonly [name: string, prior: Prior, enabled: boolean, version: string, expected: Prior])[] =
    [
      ['v1.71: empty', {}, true, '1.26.1', { hints: 'auto', consider: 'true' }],
      ['v1.71: hints annotation across 1.27', { hints: 'auto' }, true, '1.27.1', byMode],
      ['v1.66: off', old, false, '1.25.1', {}],
      ['v1.71: everything, off', everything, false, '1.25.1', {}],
      ['v1.115: hints annotation on 1.30', { hints: 'auto' }, true, '1.30.1', byMode],
      ['v1.115: both annotations on 1.31', both, true, '1.31.1', labelled],
      ['v1.115: everything on 1.32', everything, true, '1.32.1', close],
      ['v1.132: everything on 1.34', everything, true, '1.34.0', sameZone],
      ['v1.142: empty on 1.34', {}, true, '1.34.0', sameZone],
      ['v1.142: empty on 1.32', {}, true, '1.32.1', close],
      ['pre-release counts as its minor', close, true, 'v1.34.0-alpha.1', sameZone],
      ['downgrade from 1.31 to 1.30', labelled, true, '1.30.4', byMode],
      ["another writer's PreferSameNode is overwritten", sameNode, true, '1.34.0', sameZone],
      ["another writer's PreferSameNode is cleared", sameNode, false, '1.34.0', {}],
    ];
  for (const [name, prior, enabled, version, expected] of cases) {
    it(`${name} (${enabled ? 'on' : 'off'}, ${version})`, () => {
      const result = reconcileTopologyAwareRouting(deepFreeze(settingsOf(prior)) as ServiceLike, enabled, version);
      expect(withoutEmpty(result)).to.deep.equal(settingsOf(expected));
    });
  }
});

// Every value that matters in every place: 3 × 3 × 2 × 4 prior states; `undefined` is stripped by settingsOf.
type LoosePrior = { [K in keyof Prior]?: string | undefined };

const priors: LoosePrior[] = [undefined, 'auto', 'Disabled'].flatMap((hints) =>
  [undefined, 'Auto', 'topology.extensions.gardener.cloud/same-zone'].flatMap((mode) =>
    [undefined, 'true'].flatMap((consider) =>
      [undefined, 'PreferClose', 'PreferSameZone', 'PreferSameNode'].map((trafficDistribution) => ({
        hints,
        mode,
        consider,
        trafficDistribution,
      })),
    ),
  ),
);

const expectedOn = (minor: number): Prior => {
  if (minor < 27) return { hints: 'auto', consider: 'true' };
  if (minor < 31) return { mode: 'auto', consider: 'true' };
  if (minor === 31) return { consider: 'true', trafficDistribution: 'PreferClose' };
  return { trafficDistribution: minor < 34 ? 'PreferClose' : 'PreferSameZone' };
};

describe('reconcileTopologyAwareRouting: every version, every prior state', () => {
  for (const minor of allMinors) {
    for (const enabled of [true, false]) {
      it(`1.${minor} ${enabled ? 'on' : 'off'}: the same result from all ${priors.length} prior states`, () => {
        const expected = settingsOf(enabled ? expectedOn(minor) : {});
        for (const prior of priors) {
          const input = deepFreeze(settingsOf(prior)) as ServiceLike;
          const result = reconcileTopologyAwareRouting(input, enabled, `v1.${minor}.3`);
          expect(withoutEmpty(result), `from ${JSON.stringify(prior)}`).to.deep.equal(expected);
        }
      });
    }
  }
});

describe('reconcileTopologyAwareRouting: objects and errors', () => {
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

  const accepted: readonly (readonly [name: string, version: string, values: string[], expected: string])[] = [
    ['druid 0.36', '1.34', ['PreferSameZone', 'PreferSameNode', 'PreferClose'], 'PreferSameZone'],
    ['druid before 0.36', '1.34', ['PreferClose'], 'PreferClose'],
    ['druid before 0.36 on 1.33', '1.33', ['PreferClose'], 'PreferClose'],
  ];
  for (const [name, version, values, expected] of accepted) {
    it(`${name}: ${expected}`, () => {
      const result = reconcileEtcdTopologyAwareRouting(etcd(), true, version, support(values));
      expect(result.spec?.etcd?.clientService?.trafficDistribution).to.equal(expected);
    });
  }

  const refusals: readonly (readonly [name: string, version: string, support: EtcdFieldSupport, field: string])[] = [
    ['no field on 1.32', '1.32', support([]), 'trafficDistribution'],
    ['no usable value', '1.34', support(['PreferSomething']), 'trafficDistribution'],
    ['no labels on 1.30', '1.30', support([], false), 'labels'],
  ];
  for (const [name, version, served, field] of refusals) {
    it(`throws where the CRD lacks what is needed: ${name}`, () => {
      expect(() => reconcileEtcdTopologyAwareRouting(etcd(), true, version, served))
        .to.throw(FieldNotSupportedError, `spec.etcd.clientService.${field}`)
        .with.property('field', `spec.etcd.clientService.${field}`);
    });
  }
});
