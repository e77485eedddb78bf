import { expect } from 'chai';
import { describe, it } from 'mocha';
import { ANNOTATION_TOPOLOGY_MODE, EXTENSION_TYPE } from '../../../../pkg/apis/names.ts';
import {
  type SettingsCaches,
  createExtensionProjection,
  openSettingsCaches,
  projectCluster,
  projectGarden,
  projectSeed,
  projectService,
  slicesOf,
} from '../../../../pkg/controllers/settings/caches.ts';
import { decideGardenRouting, decideShootRouting } from '../../../../pkg/gardener/decide.ts';
import { planSettings, routingSettings } from '../../../../pkg/routing/plan.ts';
import { service, slice } from '../../../fixtures/core.ts';
import { cluster, garden, seed, shoot, extension, routingConfig } from '../../../fixtures/gardener.ts';
import { createRoutingConfigReader } from '../../../../pkg/apis/routing-config-reader.ts';
import type { SettingsReconcilerConfiguration } from '../../../../pkg/apis/config/settings-reconciler.ts';
import type { KubernetesObject } from '../../../../pkg/apis/meta.ts';
import type { Resource } from '../../../../pkg/apis/resources.ts';
import { createCaches } from '../../../../pkg/kubernetes/caches.ts';
import type { Client, ListOptions } from '../../../../pkg/kubernetes/types.ts';
import { createFakeClock } from '../../../fixtures/fake-clock.ts';
import { recordingLogger } from '../../../fixtures/recording-logger.ts';

describe('projections', () => {
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

type Modes = SettingsReconcilerConfiguration['modes'];
const SEED: Modes = { seed: { seedName: 'mine', extensionServices: true, gardener: {} } };
const GARDEN: Modes = { garden: { namespace: 'garden', gardener: {} } };

const fakeClient = (objects: Record<string, KubernetesObject[]> = {}) => {
  const listed: string[] = [];
  const list = ({ plural }: Resource, { fieldSelector, limit }: ListOptions = {}) => {
    listed.push([plural, fieldSelector, limit].filter((part) => part !== undefined).join(' '));
    return Promise.resolve({ metadata: { resourceVersion: '1' }, items: objects[plural] ?? [] });
  };
  const client = {
    list,
    async *pages(resource: Resource, options: ListOptions) {
      yield await list(resource, options);
    },
    async *watch(_resource: Resource, _options: unknown, signal: AbortSignal) {
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      yield* [];
    },
  };
  return { client: client as unknown as Client, listed };
};

interface Opened {
  readonly set: ReturnType<typeof createCaches>;
  readonly caches: SettingsCaches;
}

const create = (modes: Modes, client: Client, gardenClient?: Client, extensions = true): Opened => {
  const set = createCaches({ client, clock: createFakeClock(), random: () => 0, logger: recordingLogger() });
  return { set, caches: openSettingsCaches(set.open, { gardenClient, modes, extensions }) };
};

const fill = async ({ set }: Opened, work: () => void): Promise<void> => {
  const stop = new AbortController();
  const running = set.run(stop.signal);
  await set.settled(stop.signal);
  try {
    work();
  } finally {
    stop.abort();
    await running;
  }
};

const pluralsOf = ({ set }: Opened): string[] => set.own.map(({ resource }) => resource.plural).sort();
const CORE = ['endpointslices', 'namespaces', 'nodes', 'services'];

describe('the caches of the settings-reconciler', () => {
  const cases: { name: string; modes: Modes; more: string[] }[] = [
    { name: 'cluster', modes: { cluster: { namespaces: [] } }, more: [] },
    { name: 'garden', modes: GARDEN, more: ['etcds', 'extensions', 'gardens'] },
    { name: 'seed', modes: SEED, more: ['clusters', 'etcds', 'extensions'] },
    {
      name: 'seed and garden',
      modes: { ...SEED, ...GARDEN },
      more: ['clusters', 'etcds', 'extensions', 'gardens'],
    },
  ];
  for (const { name, modes, more } of cases) {
    it(`follows what mode ${name} reads, and nothing else`, () =>
      expect(pluralsOf(create(modes, fakeClient().client))).to.deep.equal([...CORE, ...more].sort()));
  }

  for (const [asked, kept] of [
    ['server', 1],
    ['another', 0],
  ] as const) {
    it(`keeps slices whole where the configuration of an Extension asks for ${asked}: ${kept} of Service server`, async () => {
      const opened = create(SEED, fakeClient({ endpointslices: [slice()] }).client);
      opened.caches.slices.keepWhole('test', [`default/${asked}`]);
      await fill(opened, () => {
        const found = slicesOf(opened.caches.slices, 'default', 'server');
        expect(found.filter(({ endpoints }) => endpoints !== undefined)).to.have.length(kept);
      });
    });
  }
});
