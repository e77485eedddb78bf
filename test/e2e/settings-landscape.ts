// A seed and a garden in real etcd: objects that the settings-reconciler routes.
import type { Service } from '../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { LABEL_MANAGED } from '../../pkg/apis/names.ts';
import { GARDENS, SEEDS, SERVICES } from '../../pkg/apis/resources.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { service } from '../fixtures/core.ts';
import { cluster, etcd, garden, namespace as namespaceObject, seed, shoot } from '../fixtures/gardener.ts';
import type { Bed } from './bed/index.ts';
import { waitFor } from './bed/machine.ts';
import { subjectOf } from './settings-audit.ts';
import type { World } from './settings-world.ts';

export const NS = 'shoot--foo--bar';
/** Another shoot of the seed. */
export const OTHER = 'shoot--foo--other';
const EXTENSION = 'extension-provider-local';
/** Named as the chart's values name it. */
export const SEED = 'eu-1';
export const SAME_ZONE = 'PreferSameZone';
export const MANAGED = { [LABEL_MANAGED]: 'true' };
const SHOOT_SERVICES = ['gardener-resource-manager', 'kube-apiserver', 'vpa-webhook'];

const shootObjects = (ns: string): KubernetesObject[] => [
  namespaceObject({ metadata: { name: ns } }),
  cluster({ spec: { shoot: shoot({ status: { technicalID: ns } }), seed: seed({ enabled: false }) } }),
  ...[...SHOOT_SERVICES, 'other'].map((name) => service({ metadata: { name, namespace: ns } })),
  ...['etcd-main', 'etcd-events'].map((name) => etcd({ metadata: { name, namespace: ns } })),
];

/** Everything of a shoot that gets settings, as the audit log names it. */
const subjectsOf = (ns: string): string[] => SHOOT_SERVICES.map((name) => `services ${ns}/${name}`);

/** The namespaces that get labels along with them: for the owners that are known to rewrite, and for Etcds. */
export const labelled = (...namespaces: string[]): string[] => namespaces.map((name) => `namespaces ${name}/${name}`);
/** What the Seed's setting reaches. */
export const OF_SEED = [...subjectsOf(NS), ...subjectsOf(OTHER), `services ${EXTENSION}/webhook`].sort();
/** What the Garden's setting reaches. */
export const OF_GARDEN = ['services garden/gardener-apiserver'];

export interface Landscape {
  expectValue(subjects: readonly string[], value: string | undefined): Promise<unknown>;
  setSeed(enabled: boolean): Promise<unknown>;
  setGarden(enabled: boolean): Promise<unknown>;
  /** What the reconciler wrote from here on, once it is quiet, in order of names. */
  writesDuring(work: () => Promise<unknown>): Promise<string[]>;
  hasEvent(about: string, pattern: RegExp): Promise<unknown>;
}

/** The virtual garden lets everybody on a seed read Seeds, and is the same API server here. Returns a kubeconfig. */
export const letSeedsBeRead = async (bed: Bed): Promise<string> => {
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const apiGroup = 'rbac.authorization.k8s.io';
  const metadata = { name: 'seeds' };
  await bed.api.create(`${rbac}/clusterroles`, {
    metadata,
    rules: [{ apiGroups: ['core.gardener.cloud'], resources: ['seeds'], verbs: ['get', 'list', 'watch'] }],
  });
  await bed.api.create(`${rbac}/clusterrolebindings`, {
    metadata,
    roleRef: { apiGroup, kind: 'ClusterRole', name: metadata.name },
    subjects: [{ kind: 'User', name: 'seed-access', apiGroup }],
  });
  return bed.kubeconfig({ user: 'seed-access' });
};

/** Creates it. `assert` ends waits early, for example because the reconciler ended. */
export const createLandscape = async (world: World, assert: () => void): Promise<Landscape> => {
  await world.create(
    seed({ metadata: { name: SEED }, enabled: false }),
    garden({ enabled: false }),
    namespaceObject({ role: 'garden' }),
    namespaceObject({ role: 'extension' }),
    ...shootObjects(NS),
    ...shootObjects(OTHER),
    service({ metadata: { name: 'webhook', namespace: EXTENSION, labels: MANAGED } }),
    ...['gardener-apiserver', 'virtual-garden-kube-apiserver', 'gardener-dashboard'].map((name) =>
      service({ metadata: { name, namespace: 'garden' } }),
    ),
    etcd({ metadata: { name: 'virtual-garden-etcd-main', namespace: 'garden' } }),
  );
  const valueOf = async (subject: string): Promise<string | undefined> => {
    const [ns = '', name = ''] = (subject.split(' ')[1] ?? '').split('/');
    return (await world.service(ns, name)).spec?.trafficDistribution;
  };
  return {
    expectValue: (subjects, value) =>
      waitFor(
        `${value ?? 'nothing'} on ${subjects.join(', ')}`,
        () => Promise.all(subjects.map(async (subject) => `${subject}: ${await valueOf(subject)}`)),
        (values) => values.every((text) => text.endsWith(`: ${value}`)),
        { assert },
      ),
    setSeed: (enabled) => world.client.patch(SEEDS, { name: SEED }, 'merge', { spec: seed({ enabled }).spec }),
    setGarden: (enabled) =>
      world.client.patch(GARDENS, { name: 'garden' }, 'merge', {
        spec: { runtimeCluster: { settings: { topologyAwareRouting: { enabled } } } },
      }),
    async writesDuring(work) {
      const mark = world.audit.mark();
      await work();
      await world.quiet();
      return world.writes(mark).map(subjectOf).sort();
    },
    hasEvent: (about, pattern) =>
      waitFor(
        `event ${pattern} about ${about}`,
        () => world.eventsAbout(about),
        (events) => events.some((event) => pattern.test(event)),
      ),
  };
};

/** The Service as its ManagedResource has it: foreign labels and annotations stay, spec and owners are the desired ones. See its contract. */
export const resourceManagerReplaces = async (client: Client, namespace: string, name: string): Promise<Service> => {
  const stored = await client.get<Service>(SERVICES, { namespace, name });
  if (stored.metadata?.annotations?.['resources.gardener.cloud/mode'] === 'Ignore') return stored;
  const { trafficDistribution: _, ...spec } = stored.spec ?? {};
  const { ownerReferences: _owners, ...metadata } = stored.metadata ?? {};
  return client.update<Service>(SERVICES, { ...stored, metadata, spec });
};
