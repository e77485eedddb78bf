import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { SettingsReconcilerConfiguration } from '../../../../pkg/apis/config/settings-reconciler.ts';
import type { EndpointSlice } from '../../../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../../../pkg/apis/meta.ts';
import { LABEL_CONSIDER, LABEL_STRATEGY } from '../../../../pkg/apis/names.ts';
import type { Resource } from '../../../../pkg/apis/resources.ts';
import { openSettingsCaches, slicesOf } from '../../../../pkg/controllers/settings/caches.ts';
import type { SettingsCaches } from '../../../../pkg/controllers/settings/caches.ts';
import { createCaches } from '../../../../pkg/kubernetes/caches.ts';
import type { Caches } from '../../../../pkg/kubernetes/caches.ts';
import type { Client, ListOptions } from '../../../../pkg/kubernetes/types.ts';
import { slice } from '../../../fixtures/core.ts';
import { createFakeClock } from '../../../fixtures/fake-clock.ts';
import { recordingLogger } from '../../../fixtures/recording-logger.ts';

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
  readonly set: Caches;
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

  const slices: { name: string; of: EndpointSlice; kept: boolean }[] = [
    { name: 'of a catalogue Service', of: slice({ service: 'kube-apiserver' }), kept: true },
    { name: 'with a strategy', of: slice({ metadata: { labels: { [LABEL_STRATEGY]: 'same-zone' } } }), kept: true },
    { name: "with Gardener's label", of: slice({ metadata: { labels: { [LABEL_CONSIDER]: 'true' } } }), kept: true },
    { name: 'that nobody asks about', of: slice(), kept: false },
  ];
  for (const { name, of, kept } of slices) {
    it(`keeps ${kept ? 'the endpoints' : 'only the name'} of a slice ${name}`, async () => {
      const opened = create(SEED, fakeClient({ endpointslices: [of] }).client);
      await fill(opened, () => expect(opened.caches.slices.list()[0]?.endpoints !== undefined).to.equal(kept));
    });
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
