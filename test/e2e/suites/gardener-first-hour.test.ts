// The first hour as an operator of Gardener has it: docs/operations/first-hour.md from top to bottom, on the real gardener-apiserver, resource manager, etcd-druid and owners.
// Needs built: gardener/gardener-1.141/gardener-apiserver, gardener/gardener-1.141/gardener-resource-manager, gardener/etcd-druid-0.36/etcd-druid, gardener/owner/owner
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import type { EndpointSlice } from '../../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../../pkg/apis/meta.ts';
import { namespace, ZONES } from '../../fixtures/gardener.ts';
import { mastersGroup } from '../bed/access.ts';
import { useBed } from '../bed/index.ts';
import type { BedNode } from '../bed/index.ts';
import { run, waitFor } from '../bed/machine.ts';
import { chart, documents, root } from '../chart.ts';
import { apply, applyDefinitions } from '../commands.ts';
import { runPods } from '../gardener/controllers.ts';
import type { PodRunner } from '../gardener/controllers.ts';
import { createPriorities, startDruid } from '../gardener/landscape.ts';
import { askGardener, openOwner, realDefinitions, RUNTIME } from '../gardener/owner.ts';
import type { Owner } from '../gardener/owner.ts';
import { manage, startResourceManager } from '../gardener/resource-manager.ts';
import type { Managed } from '../gardener/resource-manager.ts';
import { createSeedAndShoot, startVirtualGarden, storedSeed } from '../gardener/virtual-garden.ts';
import { isOurs, startKubelet } from '../kubelet.ts';
import type { Kubelet } from '../kubelet.ts';
import { createReader } from '../reader.ts';
import type { OperatorShell } from '../reader.ts';
import { letSeedsBeRead } from '../settings-landscape.ts';

const PAGE = 'docs/operations/first-hour.md';
/** As the page calls them. */
const NAMES = { seed: 'eu-1', project: 'my-project', shoot: 'my-shoot' };
const SHOOT = 'shoot--my-project--my-shoot';
const CORE = '/apis/core.gardener.cloud';
const INSTALLATION = 'topology-aware-routing-canary-x7k2m';
const EXTENSION = `extension-${INSTALLATION}`;
const MANAGED = `/apis/resources.gardener.cloud/v1alpha1/namespaces/garden/managedresources/${INSTALLATION}`;
const OWNED = ['etcd-main-client', 'etcd-events-client', 'kube-apiserver', 'gardener-resource-manager'];

interface Seed extends KubernetesObject {
  metadata: { name: string; labels?: Record<string, string> };
}
interface Registration {
  spec: { deployment: { seedSelector: { matchLabels: Record<string, string> } } };
}

describe('gardener: the first hour', () => {
  let kubelet: Kubelet | undefined;
  let pods: PodRunner | undefined;
  let shell: OperatorShell | undefined;
  // Registered before the bed's own hooks, so that it runs while the bed is there.
  after(async () => {
    await kubelet?.stop();
    await pods?.stop();
    shell?.close();
  });
  const bed = useBed();
  const reader = createReader('test/e2e/suites/gardener-first-hour.test.ts');
  const read = (chapter: string): void => reader.read(PAGE, chapter);
  let gardenlet: Owner;
  let installed: Managed;

  const field = async (name: string): Promise<string | undefined> => {
    const path = `/api/v1/namespaces/${SHOOT}/services/${name}`;
    return (await bed().api.get<{ spec: { trafficDistribution?: string } }>(path)).spec.trafficDistribution;
  };
  const hintsOf = async (name: string): Promise<unknown[]> => {
    const path = `/apis/discovery.k8s.io/v1/namespaces/${SHOOT}/endpointslices`;
    const slices = await bed().api.list<EndpointSlice & { metadata: { name: string } }>(
      `${path}?labelSelector=${encodeURIComponent(`kubernetes.io/service-name=${name}`)}`,
    );
    return slices.flatMap(({ endpoints }) => endpoints ?? []).map(({ hints }) => hints);
  };
  const replicas = async (name: string): Promise<number> => {
    const path = `/apis/apps/v1/namespaces/${EXTENSION}/deployments/${name}`;
    return (await bed().api.get<{ spec: { replicas: number } }>(path)).spec.replicas;
  };
  const take = (name: string, text: string): Promise<string> => apply(bed(), name, text, '--force-conflicts');
  const deployAll = async (enabled: boolean): Promise<void> => {
    for (const component of OWNED) await gardenlet.deploy(component, { namespace: SHOOT, enabled });
  };

  /** What gardenlet has on a seed for a Shoot: its namespace, its Cluster, its control plane. */
  const createControlPlane = async (): Promise<void> => {
    const { api } = bed();
    await api.create('/api/v1/namespaces', namespace({ metadata: { name: SHOOT } }));
    const seed = await api.get(`${CORE}/v1beta1/seeds/${NAMES.seed}`);
    const shoot = await api.get(`${CORE}/v1beta1/namespaces/garden-${NAMES.project}/shoots/${NAMES.shoot}`);
    const spec = { seed, shoot: { ...shoot, status: { technicalID: SHOOT } }, cloudProfile: {} };
    await api.create('/apis/extensions.gardener.cloud/v1alpha1/clusters', {
      apiVersion: 'extensions.gardener.cloud/v1alpha1',
      kind: 'Cluster',
      metadata: { name: SHOOT },
      spec,
    });
    await startDruid(bed(), gardenlet);
    await startResourceManager(bed(), { version: '1.141' });
    await deployAll(false);
    for (const name of OWNED) {
      await waitFor(
        `three endpoints of ${name}`,
        () => hintsOf(name),
        (found) => found.length >= 2 || name === 'kube-apiserver',
      );
    }
  };

  /** What gardenlet makes of the ControllerInstallation of a Seed that the registration selects. */
  const installCanary = async (): Promise<void> => {
    const { api, directory } = bed();
    const path = `${CORE}/v1beta1/controllerregistrations/topology-aware-routing-canary`;
    const { seedSelector } = (await api.get<KubernetesObject & { metadata: { name: string } } & Registration>(path))
      .spec.deployment;
    const seed = await api.get<Seed>(`${CORE}/v1beta1/seeds/${NAMES.seed}`);
    expect(seed.metadata.labels).to.include(seedSelector.matchLabels);
    const deployment = await api.get<KubernetesObject & { metadata: { name: string }; helm: { values: object } }>(
      `${CORE}/v1/controllerdeployments/topology-aware-routing-canary`,
    );
    const archive = join(directory, 'chart.tgz');
    await run('tar', ['-czf', archive, '-C', dirname(chart), basename(chart)]);
    const values = join(directory, 'values.json');
    writeFileSync(values, JSON.stringify(deployment.helm.values));
    const flags = ['--chart', archive, '--values', values, '--seed', await storedSeed(bed(), NAMES.seed)];
    const text = await askGardener(['render', ...flags, '--runtime', RUNTIME, '--namespace', EXTENSION]);
    const labels = { 'gardener.cloud/role': 'extension' };
    await api.create('/api/v1/namespaces', { metadata: { name: EXTENSION, labels } });
    installed = await manage(bed(), 'garden', INSTALLATION, documents<KubernetesObject>(text));
  };

  before(
    'a virtual garden with a Seed and a Shoot, whose control plane has its real owners; the setting is off',
    async () => {
      const nodes: BedNode[] = await Promise.all(ZONES.map((zone) => bed().node({ name: `node-${zone}`, zone })));
      await applyDefinitions(bed(), await realDefinitions());
      await createPriorities(bed());
      await startVirtualGarden(bed());
      await createSeedAndShoot(bed(), take, NAMES);
      const off = { spec: { settings: { topologyAwareRouting: { enabled: false } } } };
      await bed().api.patch(`${CORE}/v1beta1/seeds/${NAMES.seed}`, off);
      gardenlet = await openOwner(bed(), 'gardenlet');
      const names = nodes.map(({ name }) => name);
      pods = runPods(bed(), names, (pod) => !isOurs(pod));
      await createControlPlane();
      const seeds = await letSeedsBeRead(bed());
      const environment = { GARDEN_KUBECONFIG: seeds, SEED_NAME: NAMES.seed };
      kubelet = startKubelet({ bed: bed(), nodes, environment: () => environment });
      shell = await reader.open(bed());
      const kubeconfig = await bed().kubeconfig({ user: 'operator', groups: [mastersGroup] });
      await shell.run(`export GARDEN='${kubeconfig}' SEED='${kubeconfig}'`);
    },
  );

  read('1. Install');
  it('gets the chart from gardenlet and the resource manager, on the seed that was labelled', installCanary);
  read('2. Check');
  read('3. Look before you leap');
  it('has a control plane without any routing', async () => {
    expect(await Promise.all(OWNED.map(field))).to.deep.equal(OWNED.map(() => undefined));
  });

  read('4. Switch on one seed');
  read('5. Watch');
  it('has hints for etcd at once, and the value on the Services that etcd-druid does not guard', async () => {
    await waitFor(
      'hints for etcd-main',
      () => hintsOf('etcd-main-client'),
      (hints) => hints.every((one) => one !== undefined),
    );
    expect(await field('gardener-resource-manager')).to.equal('PreferSameZone');
    expect(await field('etcd-main-client')).to.equal(undefined);
  });
  it('finds nothing to change when gardenlet reconciles the Shoot with the setting, and etcd-druid writes its part', async () => {
    await deployAll(true);
    await waitFor(
      'the value on etcd-main-client',
      () => field('etcd-main-client'),
      (value) => value !== undefined,
    );
    expect(await field('gardener-resource-manager')).to.equal('PreferSameZone');
  });
  read('6. Roll back');
  it('has every Service as it was, and no hint, once each owner has reconciled again', async () => {
    await deployAll(false);
    for (const name of OWNED) {
      await waitFor(
        `nothing on ${name}`,
        () => field(name),
        (value) => value === undefined,
      );
    }
    await waitFor(
      'no hint for etcd-main',
      () => hintsOf('etcd-main-client'),
      (hints) => hints.every((one) => one === undefined),
    );
  });

  /** The page's own command. */
  const annotate = async (ending: string): Promise<void> => {
    const command = `kubectl -n garden annotate managedresource NAME resources.gardener.cloud/ignore${ending}`;
    expect(readFileSync(join(root, PAGE), 'utf8')).to.contain(`\`${command}\``);
    await shell?.run(
      command.replace('NAME', '"${EXTENSION#extension-}"').replace('kubectl', 'KUBECONFIG="$SEED" kubectl'),
    );
  };
  const scale = (): Promise<unknown> =>
    bed().api.patch(`/apis/apps/v1/namespaces/${EXTENSION}/deployments/settings-reconciler`, {
      spec: { replicas: 0 },
    });

  it('is held on one seed: what is scaled to nothing stays so while the ManagedResource is ignored', async () => {
    await annotate('=true');
    await waitFor(
      'the resource manager to know',
      () => bed().api.get(MANAGED),
      (object) => JSON.stringify(object).includes('ManagedResource is marked to be ignored'),
    );
    await scale();
    // What its sync comes to; it is seen before the object that comes after it.
    await bed().api.patch(MANAGED, { metadata: { annotations: { 'gardener.cloud/operation': 'reconcile' } } });
    const probe = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'probe', namespace: 'garden' } };
    await manage(bed(), 'garden', 'probe', [probe]);
    expect(await replicas('settings-reconciler')).to.equal(0);
  });
  it('goes on once the annotation is gone', async () => {
    await annotate('-');
    await waitFor(
      'the replicas of the chart',
      () => replicas('settings-reconciler'),
      (count) => count === 2,
    );
  });

  it('is gone from the seed when its label is', async () => {
    const command = 'kubectl label seed eu-1 topology-aware-routing-';
    expect(readFileSync(join(root, PAGE), 'utf8')).to.contain(`\`${command}\``);
    await shell?.run(command.replace('kubectl', 'KUBECONFIG="$GARDEN" kubectl'));
    const { metadata } = await bed().api.get<Seed>(`${CORE}/v1beta1/seeds/${NAMES.seed}`);
    expect(metadata.labels ?? {}).to.not.have.property('topology-aware-routing');
    // gardenlet's part.
    await installed.remove();
  });

  it('is unregistered, and seen to be gone, with the commands of install.md', async () => {
    const install = readFileSync(join(root, 'docs/operations/install.md'), 'utf8');
    const commands = [
      'kubectl get controllerinstallations | grep topology-aware-routing',
      'kubectl get clusterroles,mutatingwebhookconfigurations | grep topology-aware-routing',
    ];
    for (const command of commands) expect(install).to.contain(`\`${command}\``);
    await shell?.run('KUBECONFIG="$GARDEN" kubectl delete -f example/gardener/canary.yaml');
    await shell?.run(`! KUBECONFIG="$GARDEN" ${commands[0]}`);
    await shell?.run(`! KUBECONFIG="$SEED" ${commands[1]}`);
  });

  it('has left out no command of the page', () => {
    expect(reader.unread()).to.deep.equal([]);
  });
});
