// Every page of docs/operations as an operator of Gardener reads it: each command for Gardener runs against gardenlet, gardener-apiserver, resource manager, etcd-druid and owners, on Kubernetes 1.34.
// Soak: its programs take most of an hour to build.
// Needs built: kubernetes/1.34/etcd, kubernetes/1.34/kube-apiserver, kubernetes/1.34/kube-controller-manager, kubernetes/1.34/kube-proxy, kubernetes/1.34/kubectl, gardener/gardener-1.141/gardener-apiserver, gardener/gardener-1.141/gardener-controller-manager, gardener/gardener-1.141/gardenlet, gardener/gardener-1.141/gardener-resource-manager, gardener/etcd-druid-0.36/etcd-druid, gardener/owner/owner
import { join } from 'node:path';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { stringify } from 'yaml';
import { ANNOTATION_EVACUATED } from '../../../pkg/apis/names.ts';
import { cluster, namespace, seed, shoot, ZONES } from '../../fixtures/gardener.ts';
import { mastersGroup } from '../bed/access.ts';
import { type Conditioned, hasCondition } from '../bed/api.ts';
import { type BedNode, useBed } from '../bed/index.ts';
import { type Repeated, is, ofLength, waitFor } from '../bed/machine.ts';
import { root } from '../chart.ts';
import { apply, applyDefinitions, describeProxies } from '../commands.ts';
import {
  authorizeExtensions,
  CONTROLLERS_KUBERNETES,
  mountGardenAccess,
  refuseDefinitions,
  runPods,
  serveRelease,
  startControllerManager,
  startGardenlet,
  untilInstallation,
} from '../gardener/controllers.ts';
import { createPriorities, startDruid } from '../gardener/landscape.ts';
import { type Owner, openOwner, realDefinitions, realGarden } from '../gardener/owner.ts';
import { applyAgain, startResourceManager } from '../gardener/resource-manager.ts';
import { createSurroundings, seedObject, startVirtualGarden } from '../gardener/virtual-garden.ts';
import { isOurs, startKubelet } from '../kubelet.ts';
import { type MetricsApi, startMetricsApi } from '../metrics-api.ts';
import { type OperatorShell, createReader, quoted, setGarden } from '../reader.ts';
import { isAccepted, openAudit, subjectOf } from '../settings-audit.ts';

const OPERATIONS = 'docs/operations/';
const FIRST_HOUR = `${OPERATIONS}first-hour.md`;
const INSTALL = `${OPERATIONS}install.md`;
const ALERTS = `${OPERATIONS}alerts/`;
const SEED = 'eu-1';
const SHOOT = 'shoot--my-project--my-shoot';
const RUNTIME = 'runtime-extension-topology-aware-routing';
const OWNED = ['etcd-main-client', 'etcd-events-client', 'kube-apiserver', 'gardener-resource-manager'];
/** Commands for clusters without Gardener name this namespace, or the manifests for them. */
const ELSEWHERE = /(?:-n|--namespace) topology-aware-routing\b|example\/plain/;

describe('gardener: the pages of docs/operations', () => {
  let kubelet: Pick<Repeated, 'assertRunning'>;
  let metrics: MetricsApi;
  let shell: OperatorShell | undefined;
  const bed = useBed({ version: CONTROLLERS_KUBERNETES });
  const reader = createReader('test/e2e/suites/gardener-operations.test.ts');
  const { read } = reader;
  let gardenlet: Owner;
  let extension: string;

  const at = (path: string): string => join(bed().directory, path);
  const take = (name: string, text: string): Promise<string> => apply(bed(), name, text, '--force-conflicts');
  const type = async (page: string, command: string, names: Readonly<Record<string, string>> = {}): Promise<void> => {
    let typed = quoted(page, command);
    for (const [name, value] of Object.entries(names)) typed = typed.replace(name, value);
    await shell?.run(typed);
  };
  const valueOf = async (name: string, of = SHOOT): Promise<string | undefined> => {
    const path = `/api/v1/namespaces/${of}/services/${name}`;
    return (await bed().api.get<{ spec: { trafficDistribution?: string } }>(path)).spec.trafficDistribution;
  };
  const expectValue = (value: string | undefined, name: string, of = SHOOT): Promise<unknown> =>
    waitFor(`${value ?? 'nothing'} on ${name}`, () => valueOf(name, of), is(value), { timeoutSeconds: 120 });
  const deployments = async (of: string): Promise<Record<string, boolean>> => {
    interface Deployment {
      metadata: { name: string };
      spec: { replicas: number };
      status?: { readyReplicas?: number };
    }
    const found = await bed().api.list<Deployment>(`/apis/apps/v1/namespaces/${of}/deployments`);
    return Object.fromEntries(
      found.map(({ metadata, spec, status }) => [metadata.name, status?.readyReplicas === spec.replicas]),
    );
  };
  const expectReady = (of: string, ...names: string[]): Promise<unknown> =>
    waitFor(
      `${names.join(', ')} of ${of} ready, and nothing else`,
      () => deployments(of),
      (found) => names.every((name) => found[name]) && Object.keys(found).length === names.length,
      { assert: () => kubelet.assertRunning(), timeoutSeconds: 180 },
    );
  const deployAll = async (enabled: boolean): Promise<void> => {
    for (const component of OWNED) await gardenlet.deploy(component, { namespace: SHOOT, enabled, runtime: '1.34.4' });
  };

  /** What gardenlet has on a seed for a Shoot: its namespace, its Cluster, its control plane. */
  const createControlPlane = async (): Promise<void> => {
    const { api } = bed();
    await api.create('/api/v1/namespaces', namespace({ metadata: { name: SHOOT } }));
    const spec = { shoot: shoot({ status: { technicalID: SHOOT } }), seed: seed({ enabled: false }) };
    await api.create('/apis/extensions.gardener.cloud/v1alpha1/clusters', cluster({ spec }));
    gardenlet = await openOwner(bed(), 'gardenlet');
    await startDruid(bed(), gardenlet);
    await deployAll(false);
  };

  const openShell = async (): Promise<OperatorShell> => {
    const opened = await reader.open(bed());
    const kubeconfig = await bed().kubeconfig({ user: 'operator', groups: [mastersGroup] });
    await opened.run(`export GARDEN='${kubeconfig}' SEED='${kubeconfig}'`);
    // As install.md says: the manifests of the release, which name the registry.
    const copies = `rm example && cp -r '${root}/example' . && cp '${at('delivery/manifests')}'/* example/gardener/`;
    await opened.run(copies);
    return opened;
  };

  let nodes: BedNode[];

  before('a virtual garden, and a release in a registry', async () => {
    nodes = await Promise.all(ZONES.map((zone) => bed().node({ name: `node-${zone}`, zone })));
    await serveRelease(bed());
    await applyDefinitions(bed(), await realDefinitions());
    await createPriorities(bed());
    await describeProxies(bed());
    await startVirtualGarden(bed());
    await createSurroundings(bed(), take, 'my-project');
    await refuseDefinitions(bed());
    await authorizeExtensions(bed(), SEED);
  });
  before('a seed whose gardenlet runs, and that is the garden runtime too; all settings off', async () => {
    const environment = { GARDEN_KUBECONFIG: at('garden-access.kubeconfig'), SEED_NAME: SEED };
    kubelet = startKubelet({
      bed: bed(),
      nodes,
      environment: ({ metadata }) => (metadata.namespace === RUNTIME ? {} : environment),
    });
    const names = nodes.map(({ name }) => name);
    runPods(bed(), names, (pod) => !isOurs(pod));
    metrics = await startMetricsApi(bed());
    // gardenlet ends, to be started anew, when its seed becomes a garden runtime.
    await take('garden.yaml', stringify(await realGarden(ZONES)));
    await startControllerManager(bed());
    await startResourceManager(bed(), { version: '1.141' });
    const { spec } = seedObject(SEED);
    // The bed's ranges: gardenlet compares them with the cluster's Services and Pods.
    const networks = { pods: '198.19.0.0/16', services: '198.18.0.0/16' };
    const settings = { topologyAwareRouting: { enabled: false } };
    await startGardenlet(bed(), { metadata: { name: SEED }, spec: { ...spec, networks, settings } });
  });
  before('a Shoot whose control plane has its owners, and a shell', async () => {
    await createControlPlane();
    shell = await openShell();
  });

  describe('on a seed', () => {
    read(FIRST_HOUR, '1. Install');
    it('gets the chart from gardenlet, and what gardenlet mounts', async () => {
      extension = `extension-${await untilInstallation(bed())}`;
      await mountGardenAccess(bed(), extension, at('garden-access.kubeconfig'));
    });
    read(FIRST_HOUR, '2. Check');
    read(FIRST_HOUR, '3. Look before you leap');
    read(FIRST_HOUR, '4. Switch on one seed');
    read(FIRST_HOUR, '5. Watch');
    it('routes by zone, and the owners that reconcile with the setting agree', async () => {
      await expectValue('PreferSameZone', 'gardener-resource-manager');
      await deployAll(true);
      for (const name of OWNED) await expectValue('PreferSameZone', name);
    });
    it('is installed and healthy in the virtual garden', async () => {
      const command = 'kubectl get controllerinstallations';
      await type(INSTALL, command);
      const path = `/apis/core.gardener.cloud/v1beta1/controllerinstallations/${extension.replace('extension-', '')}`;
      await waitFor('Healthy', () => bed().api.get<Conditioned>(path), hasCondition('Healthy'), {
        timeoutSeconds: 120,
      });
    });
  });

  describe('with a sick zone', () => {
    let mark: number;
    const audit = () => openAudit(bed().auditLog);
    /** Services, Etcds, Shoots and Seeds that the extension's accounts or the operator wrote since the mark. */
    const owned = (): string[] =>
      [`system:serviceaccount:${extension}:settings-reconciler`, 'operator']
        .flatMap((user) => audit().of(user, mark))
        .filter((event) => !['get', 'list', 'watch'].includes(event.verb) && isAccepted(event))
        .filter(({ objectRef }) => ['services', 'etcds', 'shoots', 'seeds'].includes(objectRef?.resource ?? ''))
        .map(subjectOf);
    const evacuated = async (): Promise<string[]> =>
      (await bed().api.list('/apis/discovery.k8s.io/v1/endpointslices'))
        .filter(({ metadata }) => JSON.stringify(metadata).includes(`"${ANNOTATION_EVACUATED}"`))
        .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);

    before(() => {
      mark = audit().mark();
    });
    read(`${OPERATIONS}evacuate.md`);
    it('has nothing evacuated at the end of the drill', async () => {
      await waitFor('no slice evacuated', evacuated, ofLength(0));
    });
    it('keeps the zone evacuated while gardenlet and etcd-druid reconcile, and writes none of their objects', async () => {
      await shell?.run('kubectl topology evacuate eu-1a --for 30m --force --reason "owners reconcile"');
      const moved = await evacuated();
      expect(moved.join()).to.contain(`${SHOOT}/etcd-main-client`);
      expect(moved.join()).to.contain(`${SHOOT}/gardener-resource-manager`);
      await deployAll(true);
      expect(await evacuated()).to.include.members(moved);
      await shell?.run('kubectl topology return eu-1a');
      expect(owned()).to.deep.equal([]);
    });
  });

  describe('with the flow-controller', () => {
    const PATCH = `kubectl patch controllerdeployment NAME --type=merge --patch='{"helm":{"values":{"flowController":{"enabled":true}}}}'`;
    it('gets it by the values of its ControllerDeployment', async () => {
      await type(INSTALL, PATCH, { NAME: 'topology-aware-routing-canary' });
      await expectReady(extension, 'settings-reconciler', 'endpointslice-webhook', 'flow-controller');
    });
  });

  describe('with an alert', () => {
    read(`${ALERTS}README.md`);
    it('knows the names that an alert gives', async () => {
      await metrics.measure();
      const pod = (await bed().api.list(`/api/v1/namespaces/${extension}/pods`)).find(
        ({ metadata }) => metadata.labels?.['app.kubernetes.io/component'] === 'endpointslice-webhook',
      );
      const names = `SERVICE_NAMESPACE=${SHOOT} SERVICE=etcd-main-client`;
      await shell?.run(`export NAMESPACE=${extension} POD=${pod?.metadata.name} ${names}`);
    });
    for (const page of reader.pages.filter((path) => path.startsWith(`${ALERTS}Topology`))) read(page);

    it('restores a Role that was deleted, by reconciling the ManagedResource', async () => {
      const roles = `/apis/rbac.authorization.k8s.io/v1/namespaces/${extension}/roles`;
      await bed().api.delete(`${roles}/settings-reconciler`);
      const command = 'kubectl --namespace garden annotate managedresource NAME gardener.cloud/operation=reconcile';
      await type(`${ALERTS}README.md`, command, { NAME: '"${NAMESPACE#extension-}"' });
      await waitFor(
        'the Role',
        () => bed().api.list(roles),
        (found) => found.some(({ metadata }) => metadata.name === 'settings-reconciler'),
      );
    });
  });

  describe('on a garden runtime cluster that is the seed too', () => {
    before('gardener-apiserver, as gardener-operator has it written', async () => {
      const operator = await openOwner(bed(), 'gardener-operator');
      await operator.deploy('gardener-apiserver', { namespace: 'garden', enabled: false, runtime: '1.34.4' });
      await applyAgain(bed(), 'garden', 'gardener-apiserver-runtime');
    });
    const flag = '--set evacuation.definition=false';
    read(INSTALL, 'Garden runtime cluster', undefined, (text) => `${text.trim()} ${quoted(INSTALL, flag)}`);
    it('becomes ready beside the installation of the seed', () =>
      expectReady(RUNTIME, 'settings-reconciler', 'endpointslice-webhook'));
    read(INSTALL, '');
    it('follows the setting of the Garden', async () => {
      await setGarden(bed(), true);
      await expectValue('PreferSameZone', 'gardener-apiserver', 'garden');
      await setGarden(bed(), false);
      await expectValue(undefined, 'gardener-apiserver', 'garden');
    });
    it('goes with its release', async () => {
      await type(INSTALL, 'helm -n runtime-extension-topology-aware-routing uninstall topology-aware-routing');
      await bed().api.delete(`/api/v1/namespaces/${RUNTIME}`);
    });
  });

  describe('uninstalled', () => {
    read(FIRST_HOUR, '6. Roll back');
    it('has every Service as it was once each owner has reconciled', async () => {
      await deployAll(false);
      for (const name of OWNED) await expectValue(undefined, name);
    });
    it('has saved the configuration of the flow-controller, and no flow-controller', async () => {
      const save = `kubectl -n "$EXTENSION" get configmap flow-controller -o jsonpath='{.data.config\\.yaml}' > config.yaml`;
      await type(INSTALL, save);
      const PATCH = `kubectl patch controllerdeployment NAME --type=merge --patch='{"helm":{"values":{"flowController":{"enabled":false}}}}'`;
      await type(INSTALL, PATCH, { NAME: 'topology-aware-routing-canary' });
      await expectReady(extension, 'settings-reconciler', 'endpointslice-webhook');
      await type(INSTALL, 'flow-controller --config config.yaml --cleanup');
    });
    it('is gone from the seed once its registration is deleted', async () => {
      await shell?.run('kubectl delete -f example/gardener/canary.yaml');
      await waitFor(
        'the namespace of the extension gone',
        () => bed().api.list('/api/v1/namespaces'),
        (found) => found.every(({ metadata }) => metadata.name !== extension),
        { timeoutSeconds: 180 },
      );
      for (const kinds of ['controllerinstallations', 'clusterroles,mutatingwebhookconfigurations']) {
        const command = quoted(INSTALL, `kubectl get ${kinds} | grep topology-aware-routing`);
        await shell?.run(`! ${command}`);
      }
    });
  });

  describe('registered for all seeds', () => {
    read(INSTALL, 'Seeds');
    it('is deleted with the commands of the page', async () => {
      await type(INSTALL, 'kubectl delete -f example/gardener/extension.yaml');
      await shell?.run('kubectl delete -f example/gardener/controllerregistration.yaml');
    });
  });

  describe('at the end', () => {
    it('has left out no command but those for other clusters', () => {
      expect(reader.unread(({ text }) => !ELSEWHERE.test(text))).to.deep.equal([]);
    });
  });
});
