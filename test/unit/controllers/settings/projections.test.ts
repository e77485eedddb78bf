import { expect } from 'chai';
import { describe, it } from 'mocha';
import { ANNOTATION_TOPOLOGY_MODE, EXTENSION_TYPE } from '../../../../pkg/apis/names.ts';
import {
  createExtensionProjection,
  projectCluster,
  projectSeed,
  projectService,
} from '../../../../pkg/controllers/settings/caches.ts';
import { decideShootRouting } from '../../../../pkg/gardener/decide.ts';
import { planSettings, routingSettings } from '../../../../pkg/routing/plan.ts';
import { service } from '../../../fixtures/core.ts';
import { cluster, seed, shoot, extension, routingConfig } from '../../../fixtures/gardener.ts';
import { createRoutingConfigReader } from '../../../../pkg/apis/routing-config-reader.ts';

describe('projections', () => {
  it('of a Service leave its plan as it is', () => {
    const whole = service({
      metadata: { labels: { app: 'x' }, annotations: { [ANNOTATION_TOPOLOGY_MODE]: 'auto' } },
      spec: { trafficDistribution: 'PreferClose', clusterIP: '10.0.0.1' },
    });
    const want = routingSettings({ major: 1, minor: 34 });
    expect(planSettings({ object: projectService(whole), want })).to.deep.equal(planSettings({ object: whole, want }));
    expect(projectService({ ...whole, spec: { ...whole.spec, selector: { app: 'x' } } }).spec).to.deep.equal({
      trafficDistribution: 'PreferClose',
      clusterIP: '10.0.0.1',
      type: 'ClusterIP',
    });
    expect(projectService({}).spec).to.deep.equal({});
  });

  const shoots = [
    shoot(),
    shoot({ failureTolerance: 'node' }),
    shoot({ failureTolerance: null }),
    shoot({ spec: { provider: { workers: [{ name: 'cp', controlPlane: {} }] } } }),
    shoot({ metadata: { deletionTimestamp: 'now' } }),
    shoot({ status: { lastOperation: { type: 'Migrate' } } }),
  ];
  const seeds = [
    seed(),
    seed({ enabled: false }),
    seed({ enabled: null }),
    seed({ zones: ['a'] }),
    seed({ zones: ['a', 'a'] }),
  ];

  it('of a Cluster and a Seed leave every decision as it is', () => {
    for (const ofShoot of shoots) {
      for (const ofSeed of seeds) {
        const { spec } = projectCluster(
          cluster({ spec: { seed: ofSeed, shoot: ofShoot, cloudProfile: { huge: true } } }),
        );
        expect(spec).not.to.have.property('cloudProfile');
        expect(decideShootRouting({ seed: spec?.seed, shoot: spec?.shoot })).to.deep.equal(
          decideShootRouting({ seed: ofSeed, shoot: ofShoot }),
        );
        expect(decideShootRouting({ seed: projectSeed(ofSeed), shoot: ofShoot })).to.deep.equal(
          decideShootRouting({ seed: ofSeed, shoot: ofShoot }),
        );
      }
    }
    expect(projectCluster({ metadata: { name: 'empty' } }).spec).to.deep.equal({});
  });
});

const project = createExtensionProjection(createRoutingConfigReader());

describe('what is kept of an Extension', () => {
  it('judges the configuration by the class', () => {
    const providerConfig = routingConfig({ services: [{ name: 'a', namespace: 'b' }] });
    const kindOf = (spec: object) =>
      project(extension({ spec: { type: EXTENSION_TYPE, providerConfig, ...spec } })).reading?.kind;
    expect([kindOf({}), kindOf({ class: 'seed' }), kindOf({ class: 'planet' })]).to.deep.equal([
      'invalid',
      'valid',
      'valid',
    ]);
  });
});
