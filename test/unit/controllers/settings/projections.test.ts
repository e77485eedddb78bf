import { expect } from 'chai';
import { describe, it } from 'mocha';
import {
  ANNOTATION_APPLIED,
  ANNOTATION_ORIGIN,
  ANNOTATION_TOPOLOGY_MODE,
  LABEL_CONSIDER,
  LABEL_MANAGED,
} from '../../../../pkg/apis/names.ts';
import { projectCluster, projectEtcd, projectGarden, projectMeta, projectSeed, projectService } from '../../../../pkg/controllers/settings/caches.ts';
import { decideGardenRouting, decideShootRouting } from '../../../../pkg/gardener/decide.ts';
import { planSettings, routingSettings } from '../../../../pkg/routing/plan.ts';
import { service } from '../../../fixtures/core.ts';
import { cluster, etcd, garden, seed, shoot } from '../../../fixtures/gardener.ts';

describe('projections', () => {
  it('keep identity, our labels and annotations, and drop the rest', () => {
    const meta = {
      name: 'n',
      namespace: 'ns',
      uid: 'u',
      resourceVersion: '3',
      managedFields: [{}],
      labels: { app: 'x', [LABEL_MANAGED]: 'true', [LABEL_CONSIDER]: 'true' },
      annotations: { big: 'x'.repeat(1_000), [ANNOTATION_APPLIED]: '{}', [ANNOTATION_TOPOLOGY_MODE]: 'auto' },
    };
    expect(projectMeta(meta)).to.deep.equal({
      name: 'n',
      namespace: 'ns',
      uid: 'u',
      resourceVersion: '3',
      labels: { [LABEL_MANAGED]: 'true', [LABEL_CONSIDER]: 'true' },
      annotations: { [ANNOTATION_APPLIED]: '{}', [ANNOTATION_TOPOLOGY_MODE]: 'auto' },
    });
    expect(projectMeta(undefined)).to.deep.equal({});
  });

  it('of a Service leave its plan as it is', () => {
    const whole = service({
      metadata: { labels: { app: 'x' }, annotations: { [ANNOTATION_TOPOLOGY_MODE]: 'auto' } },
      spec: { trafficDistribution: 'PreferClose', clusterIP: '10.0.0.1' },
    });
    const want = routingSettings({ major: 1, minor: 34 });
    expect(planSettings({ object: projectService(whole), want })).to.deep.equal(planSettings({ object: whole, want }));
    expect(projectService(whole).spec).to.deep.equal({ trafficDistribution: 'PreferClose', type: 'ClusterIP' });
    expect(projectService(service({ spec: { clusterIP: 'None' } })).spec?.clusterIP).to.equal('None');
    expect(projectService({}).spec).to.deep.equal({});
  });

  it('of a Service keep its labels, which configuration selects by, and no more than people give', () => {
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`l${index}`, 'x']));
    const kept = projectService(service({ metadata: { labels: { ...many, [LABEL_CONSIDER]: 'true' } } })).metadata
      ?.labels;
    expect(Object.keys(kept ?? {}))
      .to.have.lengthOf(65)
      .and.to.include.members(['l0', 'l63', LABEL_CONSIDER]);
    expect(projectService(service({ metadata: { labels: { app: 'x' } } })).metadata?.labels).to.deep.equal({
      app: 'x',
    });
    expect(projectService(service()).metadata).not.to.have.property('labels');
  });

  it('of an Etcd keep identity and labels, of a Service whose owner it is what says so', () => {
    const whole = etcd({ metadata: { labels: { [LABEL_MANAGED]: 'false' } } });
    expect(projectEtcd(whole).metadata?.labels).to.deep.equal({ [LABEL_MANAGED]: 'false' });
    expect(projectEtcd(whole)).not.to.have.property('spec');
    const managed = service({ metadata: { annotations: { [ANNOTATION_ORIGIN]: 'x', other: 'y' } } });
    expect(projectService(managed).metadata?.annotations).to.deep.equal({ [ANNOTATION_ORIGIN]: 'x' });
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

  it('of a Garden leave every decision as it is', () => {
    for (const whole of [
      garden(),
      garden({ highAvailability: false }),
      garden({ enabled: false }),
      garden({ zones: ['a'] }),
      garden({ enabled: null }),
    ]) {
      expect(decideGardenRouting(projectGarden(whole))).to.deep.equal(decideGardenRouting(whole));
    }
  });
});
