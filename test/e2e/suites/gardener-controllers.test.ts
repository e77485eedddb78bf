// gardener-controller-manager, gardenlet and gardener-operator as processes: they install, update and remove us by our own manifests, out of a registry, on Kubernetes 1.34.
// Soak: its programs take most of an hour to build.
// Needs built: kubernetes/1.34/etcd, kubernetes/1.34/kube-apiserver, kubernetes/1.34/kube-controller-manager, kubernetes/1.34/kube-proxy, kubernetes/1.34/kubectl, gardener/gardener-1.141/gardener-apiserver, gardener/gardener-1.141/gardener-controller-manager, gardener/gardener-1.141/gardenlet, gardener/gardener-1.141/gardener-operator, gardener/gardener-1.141/gardener-resource-manager
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { stringify } from 'yaml';
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import { namespace, ZONES } from '../../fixtures/gardener.ts';
import { exposeProgram } from '../bed/access.ts';
import { ApiFailure } from '../bed/api.ts';
import type { Component } from '../bed/component.ts';
import { type BedNode, useBed } from '../bed/index.ts';
import { is, ofLength, waitFor } from '../bed/machine.ts';
import { apply, applyDefinitions } from '../commands.ts';
import {
  authorizeExtensions,
  CONTROLLERS_KUBERNETES,
  mountGardenAccess,
  refuseDefinitions,
  serveRelease,
  startControllerManager,
  startGardenlet,
  startOperator,
  untilInstallation,
} from '../gardener/controllers.ts';
import { createPriorities } from '../gardener/landscape.ts';
import { realDefinitions, realGarden } from '../gardener/owner.ts';
import { startResourceManager } from '../gardener/resource-manager.ts';
import { createSurroundings, seedObject, startVirtualGarden } from '../gardener/virtual-garden.ts';
import { type KubeletPod, startKubelet } from '../kubelet.ts';

const SEED = 'eu-1';
const CORE = '/apis/core.gardener.cloud';
const OPERATOR = '/apis/operator.gardener.cloud/v1alpha1';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const MANAGED = '/apis/resources.gardener.cloud/v1alpha1/namespaces/garden/managedresources';
const LABEL = 'topology-aware-routing';
const SERVICE = '/api/v1/namespaces/extension-other/services/webhook';
const RUNTIME = 'runtime-extension-topology-aware-routing';
/** The kubeconfig that gardenlet mounts; Pods start anew until it is there. */
const ACCESS = 'garden-access.kubeconfig';

interface Named extends KubernetesObject {
  metadata: { name: string; labels?: Record<string, string>; annotations?: Record<string, string> };
}
interface Conditioned extends Named {
  status?: { conditions?: { type: string; status: string; reason: string; message: string }[] };
}

/** `type=status`, by name. */
const conditionsOf = ({ status }: Conditioned): string[] =>
  (status?.conditions ?? []).map((one) => `${one.type}=${one.status}`).sort();

describe('gardener: gardenlet and gardener-operator as processes', () => {
  const bed = useBed({ version: CONTROLLERS_KUBERNETES });
  let gardenlet: Component;
  let operator: Component;
  let installation: string;

  const at = (path: string): string => join(bed().directory, path);
  const take = (name: string, text: string): Promise<string> => apply(bed(), name, text, '--force-conflicts');
  const manifest = (name: string): Promise<string> =>
    take(name, readFileSync(at(`delivery/manifests/${name}`), 'utf8'));
  const setSeed = (enabled: boolean): Promise<unknown> =>
    bed().api.patch(`${CORE}/v1beta1/seeds/${SEED}`, { spec: { settings: { topologyAwareRouting: { enabled } } } });
  const valueOf = async (): Promise<string | undefined> =>
    (await bed().api.get<{ spec: { trafficDistribution?: string } }>(SERVICE)).spec.trafficDistribution;
  const exists = (path: string): Promise<boolean> =>
    bed()
      .api.get(path)
      .then(
        () => true,
        (error: unknown) => {
          if (error instanceof ApiFailure && error.status === 404) return false;
          throw error;
        },
      );
  /** What a program says itself, one JSON object a line. */
  const lines = (program: string): string[] => readFileSync(at(`logs/${program}.log`), 'utf8').split('\n');
  const conditioned = (path: string, what: string, ...wanted: string[]): Promise<Conditioned> =>
    waitFor(
      `${what}: ${wanted.join(', ')}`,
      () => bed().api.get<Conditioned>(path),
      (object) => wanted.every((one) => conditionsOf(object).includes(one)),
      { timeoutSeconds: 180 },
    );

  const environment = ({ metadata }: KubeletPod): Record<string, string> =>
    metadata.namespace === RUNTIME ? {} : { GARDEN_KUBECONFIG: at(ACCESS), SEED_NAME: SEED };

  /** A Service that asks for routing, of another extension on the seed. */
  const createService = async (): Promise<void> => {
    await bed().api.create(
      '/api/v1/namespaces',
      namespace({ metadata: { name: 'extension-other' }, role: 'extension' }),
    );
    await bed().api.create('/api/v1/namespaces/extension-other/services', {
      metadata: { name: 'webhook', labels: { 'topology.extensions.gardener.cloud/managed': 'true' } },
      spec: { ports: [{ port: 443 }], selector: { app: 'webhook' } },
    });
  };

  before('a virtual garden that is a seed too, and a release in a registry', async () => {
    const nodes: BedNode[] = await Promise.all(ZONES.map((zone) => bed().node({ name: `node-${zone}`, zone })));
    await serveRelease(bed());
    await applyDefinitions(bed(), await realDefinitions());
    await createPriorities(bed());
    await startVirtualGarden(bed());
    await createSurroundings(bed(), take, 'my-project');
    await refuseDefinitions(bed());
    await authorizeExtensions(bed(), SEED);
    await createService();
    startKubelet({ bed: bed(), nodes, environment });
    await startControllerManager(bed());
    await startResourceManager(bed(), { version: '1.141' });
  });

  describe('gardenlet', () => {
    before(async () => {
      const { spec } = seedObject(SEED);
      // The bed's ranges: gardenlet compares them with the cluster's Services and Pods.
      const networks = { pods: '198.19.0.0/16', services: '198.18.0.0/16' };
      gardenlet = await startGardenlet(bed(), { metadata: { name: SEED }, spec: { ...spec, networks } });
      await manifest('canary.yaml');
    });

    it('registers its Seed with the setting, and gets no installation of a canary that does not select it', async () => {
      const [seed] = await waitFor(
        'the Seed',
        () => bed().api.list<Named & { spec: { settings: { topologyAwareRouting: object } } }>(`${CORE}/v1beta1/seeds`),
        ofLength(1),
        { assert: () => gardenlet.assertRunning() },
      );
      expect(seed?.spec.settings.topologyAwareRouting).to.deep.equal({ enabled: true });
      const installed = await bed().api.list<Named>(`${CORE}/v1beta1/controllerinstallations`);
      expect(installed.filter(({ metadata }) => metadata.name.startsWith(LABEL))).to.deep.equal([]);
    });

    it('pulls, renders and hands over the chart once the Seed has the label of first-hour.md', async () => {
      await bed().api.patch(`${CORE}/v1beta1/seeds/${SEED}`, { metadata: { labels: { [LABEL]: 'canary' } } });
      installation = await untilInstallation(bed());
      const path = `${CORE}/v1beta1/controllerinstallations/${installation}`;
      await conditioned(path, installation, 'Installed=True', 'Valid=True');
      const { metadata } = await bed().api.get<Named>(`/api/v1/namespaces/extension-${installation}`);
      expect(metadata.labels).to.include({
        'gardener.cloud/role': 'extension',
        'high-availability-config.resources.gardener.cloud/consider': 'true',
        'pod-security.kubernetes.io/enforce': 'restricted',
      });
      expect(metadata.annotations).to.include({
        'high-availability-config.resources.gardener.cloud/zones': ZONES.join(','),
      });
    });

    it('gives its Pods a token for the virtual garden, with which they read the Seed and route', async () => {
      const user = await mountGardenAccess(bed(), `extension-${installation}`, at(ACCESS));
      expect(user).to.equal(`system:serviceaccount:seed-${SEED}:extension-${installation}`);
      await waitFor('the value', valueOf, is('PreferSameZone'), { timeoutSeconds: 120 });
    });

    it('reports the installation healthy and rolled out', async () => {
      const path = `${CORE}/v1beta1/controllerinstallations/${installation}`;
      await conditioned(path, installation, 'Healthy=True', 'Progressing=False');
    });

    it('takes a flip of the Seed to the Service, off and on', async () => {
      await setSeed(false);
      await waitFor('no value', valueOf, is(undefined), { timeoutSeconds: 120 });
      await setSeed(true);
      await waitFor('the value again', valueOf, is('PreferSameZone'), { timeoutSeconds: 120 });
    });

    it('removes everything of us once the setting is off and the label is gone, as install.md says', async () => {
      await setSeed(false);
      await waitFor('no value', valueOf, is(undefined), { timeoutSeconds: 120 });
      await bed().api.patch(`${CORE}/v1beta1/seeds/${SEED}`, { metadata: { labels: { [LABEL]: null } } });
      for (const path of [
        `${CORE}/v1beta1/controllerinstallations/${installation}`,
        `${MANAGED}/${installation}`,
        `/api/v1/namespaces/extension-${installation}`,
      ]) {
        await waitFor(`${path} gone`, () => exists(path), is(false), { timeoutSeconds: 120 });
      }
      const left = [
        ...(await bed().api.list<Named>(`${RBAC}/clusterroles`)),
        ...(await bed().api.list<Named>('/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations')),
      ].filter(({ metadata }) => metadata.name.includes(LABEL));
      expect(left.map(({ metadata }) => metadata.name)).to.deep.equal([]);
    });

    it('has its own flow for the Seed end where the components begin that need kubelets, and runs on', () => {
      gardenlet.assertRunning();
      const flow = lines('gardenlet').filter((line) => line.includes('"flow":"Seed reconciliation"'));
      expect(flow.join('\n')).to.contain('"task":"Deploying machine-related custom resource definitions"');
    });
  });

  describe('gardener-operator', () => {
    before(async () => {
      await exposeProgram(bed().api, { name: 'gardener-operator', namespace: 'garden', targetPort: 2_750 });
      operator = await startOperator(bed());
      // Applies what gardener-operator hands to the virtual garden.
      await startResourceManager(bed(), { version: '1.141', shoot: 'garden' });
      await manifest('extension.yaml');
    });

    it('admits our Extension with its own webhooks, and waits for a Garden', async () => {
      const path = `${OPERATOR}/extensions/topology-aware-routing`;
      const object = await conditioned(path, 'Extension', 'Installed=False');
      expect(object.status?.conditions?.find(({ type }) => type === 'Installed')?.reason).to.equal('NoGardenFound');
      // Written once its webhook server is up, which is not before its controllers' first answers.
      await waitFor(
        "gardener-operator's own webhooks",
        () => bed().api.list<Named>('/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'),
        (registered) => registered.some(({ metadata }) => metadata.name === 'gardener-operator'),
        { assert: () => operator.assertRunning(), timeoutSeconds: 120 },
      );
    });

    it('installs us on the garden runtime for a Garden that asks for it, healthy and in the namespace of install.md', async () => {
      const garden = await realGarden(ZONES);
      const extensions = [{ type: 'topology-aware-routing' }];
      await take('garden.yaml', stringify({ ...garden, spec: { ...garden.spec, extensions } }));
      await conditioned(`${OPERATOR}/extensions/topology-aware-routing`, 'Extension', 'RequiredRuntime=True');
      const name = 'extension-topology-aware-routing-garden';
      await conditioned(`${MANAGED}/${name}`, name, 'ResourcesApplied=True', 'ResourcesHealthy=True');
      const { metadata } = await bed().api.get<Named>(`/api/v1/namespaces/${RUNTIME}`);
      expect(metadata.labels).to.include({ 'pod-security.kubernetes.io/enforce': 'restricted' });
    });

    it('registers us in the virtual garden once the Garden is reconciled, which needs kubelets and is played', async () => {
      await waitFor(
        'that gardener-operator waits for the Garden',
        () => lines('gardener-operator').join('\n'),
        (text) => text.includes('garden is not yet successfully reconciled'),
        { assert: () => operator.assertRunning(), timeoutSeconds: 120 },
      );
      const lastOperation = { type: 'Reconcile', state: 'Succeeded', progress: 100, description: '' };
      const registration = `${CORE}/v1beta1/controllerregistrations/topology-aware-routing`;
      await waitFor(
        'the ControllerRegistration',
        async () => {
          const status = { lastOperation: { ...lastOperation, lastUpdateTime: new Date().toISOString() } };
          await bed().api.patch(`${OPERATOR}/gardens/garden/status`, { status });
          return exists(registration);
        },
        is(true),
        { assert: () => operator.assertRunning(), timeoutSeconds: 120 },
      );
      const { metadata } = await bed().api.get<Named>(registration);
      expect(metadata.annotations).to.include({ 'security.gardener.cloud/pod-security-enforce': 'restricted' });
      expect(await exists(`${CORE}/v1/controllerdeployments/topology-aware-routing`)).to.equal(true);
    });
  });
});
