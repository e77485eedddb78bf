// What an operator of Gardener finds: a seed that has a zone-HA Shoot and is also the garden runtime cluster, its settings off,
// and a gardenlet that deploys what is registered. One API server is the runtime cluster, the virtual garden and the seed.
import { join } from 'node:path';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import type { Resource } from '../../pkg/apis/resources.ts';
import { gardenerCrds, stubDefinition } from '../fixtures/crds.ts';
import { cluster, garden, namespace, seed } from '../fixtures/gardener.ts';
import { mastersGroup } from './bed/access.ts';
import type { Bed, BedNode, BedService } from './bed/index.ts';
import { run } from './bed/machine.ts';
import { INJECTED } from './chart.ts';
import type { Helm } from './chart.ts';
import { apply, applyDefinitions } from './installation.ts';

export const SEED = 'eu-1';
export const SHOOT_NAMESPACE = 'shoot--my-project--my-shoot';
export const SHOOT_SERVICE = 'gardener-resource-manager';
export const GARDEN_SERVICE = 'gardener-apiserver';
/** The namespace that gardenlet gives an extension. */
export const EXTENSION_NAMESPACE = 'extension-topology-aware-routing-x7k2m';

const others = (group: string, version: string, kind: string, namespaced: boolean): Resource => ({
  group,
  version,
  kind,
  plural: `${kind.toLowerCase()}s`,
  namespaced,
});

const definitions = (): KubernetesObject[] => [
  ...gardenerCrds(),
  stubDefinition(others('operator.gardener.cloud', 'v1alpha1', 'Extension', false)),
  stubDefinition(others('core.gardener.cloud', 'v1', 'ControllerDeployment', false), 'helm', 'injectGardenKubeconfig'),
  stubDefinition(others('core.gardener.cloud', 'v1beta1', 'ControllerRegistration', false)),
  stubDefinition(others('autoscaling.k8s.io', 'v1', 'VerticalPodAutoscaler', true)),
  ...['PrometheusRule', 'ServiceMonitor'].map((kind) =>
    stubDefinition(others('monitoring.coreos.com', 'v1', kind, true)),
  ),
];

/** Classes that Gardener creates, and that the Pods of extensions name. */
const PRIORITY_CLASSES = ['gardener-system-900', 'gardener-garden-system-200'];

/** Everything but what is installed. The Shoot's Service has a Pod on each node. */
export const createOperatorLandscape = async (bed: Bed, nodes: readonly BedNode[]): Promise<BedService> => {
  const { api } = bed;
  await applyDefinitions(bed, definitions());
  for (const name of PRIORITY_CLASSES)
    await api.create('/apis/scheduling.k8s.io/v1/priorityclasses', { metadata: { name }, value: 900 });
  await api.create('/apis/core.gardener.cloud/v1beta1/seeds', seed({ metadata: { name: SEED }, enabled: false }));
  await api.create('/apis/operator.gardener.cloud/v1alpha1/gardens', garden({ enabled: false }));
  await api.create(
    '/apis/extensions.gardener.cloud/v1alpha1/clusters',
    cluster({ metadata: { name: SHOOT_NAMESPACE } }),
  );
  await api.create('/api/v1/namespaces', namespace({ metadata: { name: SHOOT_NAMESPACE } }));
  await api.create('/api/v1/namespaces', namespace({ role: 'garden' }));
  await bed.service({ name: GARDEN_SERVICE, namespace: 'garden' });
  await Promise.all(nodes.map((node) => bed.pod({ node, app: SHOOT_SERVICE, namespace: SHOOT_NAMESPACE })));
  return bed.service({ name: SHOOT_SERVICE, namespace: SHOOT_NAMESPACE });
};

interface Registered {
  readonly spec: { readonly deployment: { readonly extension: { readonly values: object } } };
}

/** What gardener-operator and gardenlet make of the Extension that is registered: the chart, with the seed's values. */
const renderRegistered = async (bed: Bed, helm: Helm): Promise<string> => {
  const path = '/apis/operator.gardener.cloud/v1alpha1/extensions/topology-aware-routing';
  const { values } = (await bed.api.get<Registered>(path)).spec.deployment.extension;
  const { gardener } = INJECTED.seed as { gardener: { seed: { spec: object } } };
  const spec = seed({ enabled: false }).spec;
  const injected = { gardener: { ...gardener, seed: { ...gardener.seed, name: SEED, spec } } };
  return helm.template({ ...values, ...injected }, { namespace: EXTENSION_NAMESPACE });
};

/** gardenlet deploys the registered extension. */
export const deployRegistered = async (bed: Bed, helm: Helm): Promise<void> => {
  await bed.api.create('/api/v1/namespaces', {
    metadata: { name: EXTENSION_NAMESPACE, labels: { 'gardener.cloud/role': 'extension' } },
  });
  await apply(bed, 'registered.yaml', await renderRegistered(bed, helm));
};

/** gardenlet removes what it has deployed, once the registration is gone. */
export const removeRegistered = async (bed: Bed): Promise<void> => {
  const kubeconfig = await bed.kubeconfig({ user: 'admin', groups: [mastersGroup] });
  const flags = ['--kubeconfig', kubeconfig, '--ignore-not-found', '-f', join(bed.directory, 'registered.yaml')];
  await run(bed.binaries('kubectl'), ['delete', ...flags]);
  await bed.api.delete(`/api/v1/namespaces/${EXTENSION_NAMESPACE}`);
};
