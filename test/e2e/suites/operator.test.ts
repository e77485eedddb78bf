// A new operator reads the pages of docs/operations and docs/usage start to end, runs every command, and finds what they promise.
// Minutes: 6
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { ANNOTATION_TOPOLOGY_MODE, GROUP, LABEL_CONSIDER, LABEL_STRATEGY } from '../../../pkg/apis/names.ts';
import { mastersGroup } from '../bed/access.ts';
import { defaultControllers } from '../bed/control-plane.ts';
import { type BedNode, type BedService, useBed } from '../bed/index.ts';
import { type Repeated, is, ofLength, waitFor } from '../bed/machine.ts';
import { COMPONENTS, type Helm, openHelm } from '../chart.ts';
import { describeProxies } from '../commands.ts';
import { startKubelet } from '../kubelet.ts';
import { type MetricsApi, startMetricsApi } from '../metrics-api.ts';
import {
  createOperatorLandscape,
  createReader,
  deployRegistered,
  GARDEN_SERVICE,
  removeRegistered,
  SEED,
  SHOOT_NAMESPACE,
  SHOOT_SERVICE,
  setGarden,
} from '../reader.ts';
import type { OperatorShell } from '../reader.ts';
import { letSeedsBeRead } from '../settings-landscape.ts';

const INSTALL = 'docs/operations/install.md';
const ENABLE = 'docs/usage/enable.md';
const ALERTS = 'docs/operations/alerts/';
const FIRST_HOUR = 'docs/operations/first-hour.md';

describe('a new operator', () => {
  let kubelet: Pick<Repeated, 'assertRunning'>;
  const bed = useBed({ controllers: [...defaultControllers, 'job-controller'] });
  const reader = createReader('test/e2e/suites/operator.test.ts');
  const { read } = reader;
  let shell: OperatorShell;
  let nodes: BedNode[];
  let web: BedService;
  let routed: BedService;
  let helm: Helm;
  let metrics: MetricsApi;
  /** Reads the virtual garden; nothing does before there is a landscape. */
  let seedsKubeconfig = '';

  before('three zones, a Service with three Pods, a shell with kubectl and helm', async () => {
    const zones = ['eu-1a', 'eu-1b', 'eu-1c'];
    nodes = await Promise.all(zones.map((zone) => bed().node({ name: `node-${zone}`, zone })));
    await Promise.all(nodes.map((node) => bed().pod({ node, app: 'web' })));
    web = await bed().service({ name: 'web' });
    kubelet = startKubelet({
      bed: bed(),
      nodes,
      environment: () => (seedsKubeconfig === '' ? {} : { GARDEN_KUBECONFIG: seedsKubeconfig, SEED_NAME: SEED }),
    });
    metrics = await startMetricsApi(bed());
    helm = await openHelm();
    shell = await reader.open(bed());
  });

  const deploymentsReady = async (namespace: string, names: readonly string[]): Promise<void> => {
    interface Deployment {
      metadata: { name: string };
      spec: { replicas: number };
      status?: { readyReplicas?: number; updatedReplicas?: number };
    }
    await waitFor(
      `Deployments of ${namespace} ready: ${names.join(', ')}`,
      async () =>
        (await bed().api.list<Deployment>(`/apis/apps/v1/namespaces/${namespace}/deployments`)).map(
          ({ metadata: { name }, spec, status }) => ({ name, wanted: spec.replicas, ready: status?.readyReplicas }),
        ),
      (found) =>
        names.every((name) => found.some((one) => one.name === name)) &&
        found.every(({ wanted, ready }) => ready === wanted),
      { assert: () => kubelet.assertRunning() },
    );
  };

  const fieldOf = async (name = 'web', namespace = 'default'): Promise<string | undefined> => {
    const path = `/api/v1/namespaces/${namespace}/services/${name}`;
    return (await bed().api.get<{ spec: { trafficDistribution?: string } }>(path)).spec.trafficDistribution;
  };

  /** What an installation must not leave behind. */
  const leftovers = async (): Promise<string[]> => {
    const { api } = bed();
    const registration = '/apis/admissionregistration.k8s.io/v1';
    const registered = await api.list(`${registration}/mutatingwebhookconfigurations`);
    const objects = [...(await api.list('/api/v1/services')), ...(await api.list('/api/v1/namespaces'))];
    const marked = objects.filter(({ metadata }) => JSON.stringify(metadata).includes(`"${GROUP}/`));
    return [...registered, ...marked].map(({ metadata }) => metadata.name);
  };
  const nothingOfOurs = (): Promise<unknown> => waitFor('nothing of ours', leftovers, ofLength(0));

  describe('on any cluster, with helm', () => {
    read(INSTALL, 'Any other cluster', ({ text }) => text.startsWith('helm'));
    it('has two components that become ready', () =>
      deploymentsReady('topology-aware-routing', ['settings-reconciler', 'endpointslice-webhook']));
    read(INSTALL, 'The flow-controller');
    it('has all three', () => deploymentsReady('topology-aware-routing', COMPONENTS));
    read(INSTALL, 'See that it works');
    read('docs/usage/status.md');

    read(ENABLE, 'On any cluster');
    it('gives the Service that was labelled its field, and every endpoint its hint', async () => {
      await waitFor('field', () => fieldOf(), is('PreferSameZone'));
      await waitFor(
        'hints',
        () => web.endpoints(),
        (endpoints) => endpoints.every(({ hints }) => hints !== undefined),
      );
    });
    read(ENABLE, 'Look before you leap');
    read('docs/usage/audit.md');
    read(ENABLE, 'Switch it off');
    it('has taken the field back', async () => {
      await waitFor('field', () => fieldOf(), is(undefined));
    });

    it('has a shop whose Service a FlowPolicy tunes', async () => {
      await bed().api.create('/api/v1/namespaces', { metadata: { name: 'shop' } });
      await bed().service({ name: 'web', namespace: 'shop' });
    });
    read('docs/usage/load-aware.md');
    it('labels the Service that asks for the loop', async () => {
      await waitFor(
        'label',
        () => bed().api.get('/api/v1/namespaces/default/services/web'),
        ({ metadata: { labels = {} } }) => labels[LABEL_STRATEGY] === 'load-aware',
      );
      await web.patch({ metadata: { annotations: { [ANNOTATION_TOPOLOGY_MODE]: null } } });
    });
    read('docs/usage/kubeedge.md');

    read(`${ALERTS}README.md`);
    it('knows the names that an alert gives', async () => {
      await metrics.measure();
      const pod = (await bed().api.list(`/api/v1/namespaces/topology-aware-routing/pods`)).find(
        ({ metadata }) => metadata.labels?.['app.kubernetes.io/component'] === 'endpointslice-webhook',
      );
      const names = `NAMESPACE=topology-aware-routing POD=${pod?.metadata.name} SERVICE_NAMESPACE=default SERVICE=web`;
      await shell.run(`export ${names}`);
    });
    for (const page of reader.pages.filter((path) => path.startsWith(`${ALERTS}Topology`))) read(page);

    it('has a Service as Gardener v1.115 left it, labelled and annotated', () =>
      web.patch({
        metadata: { labels: { [LABEL_CONSIDER]: 'true' }, annotations: { [ANNOTATION_TOPOLOGY_MODE]: 'auto' } },
      }));
    read('docs/usage/migrate.md');
    it('has the Service on the field alone', async () => {
      const { metadata } = await bed().api.get('/api/v1/namespaces/default/services/web');
      expect(JSON.stringify(metadata.labels ?? {})).not.to.contain(LABEL_CONSIDER);
      expect(JSON.stringify(metadata['annotations'] ?? {})).not.to.contain(ANNOTATION_TOPOLOGY_MODE);
      expect(await fieldOf()).to.equal('PreferSameZone');
    });

    read(INSTALL, 'Uninstall');
    it('is gone, and has left nothing', nothingOfOurs);
  });

  describe('on any cluster, without helm', () => {
    read(INSTALL, 'Any other cluster', ({ text }) => text.startsWith('kubectl'));
    it('has all components', () => deploymentsReady('topology-aware-routing', COMPONENTS));
    it('goes with what it was applied from, when its clean-up has run', async () => {
      const commands = [
        'kubectl -n topology-aware-routing scale deployment --all --replicas=0',
        'kubectl apply -k example/cleanup/flow-controller',
        'kubectl apply -k example/cleanup',
        'kubectl -n topology-aware-routing wait --for=condition=complete job --all --timeout=120s',
        'kubectl delete -k example/plain',
      ];
      await shell.run(commands.join('\n'));
      await nothingOfOurs();
    });
  });

  describe('of a Gardener landscape, in the first hour', () => {
    before('a landscape', async () => {
      await describeProxies(bed());
      routed = await createOperatorLandscape(bed(), nodes);
      seedsKubeconfig = await letSeedsBeRead(bed());
      const kubeconfig = await bed().kubeconfig({ user: 'operator', groups: [mastersGroup] });
      await shell.run(`export RUNTIME='${kubeconfig}' GARDEN='${kubeconfig}' SEED='${kubeconfig}'`);
    });

    read(INSTALL, '');
    read(INSTALL, 'Seeds');
    read(FIRST_HOUR, '1. Install');
    it('gets the chart from gardenlet', () => deployRegistered(bed(), helm));
    read(FIRST_HOUR, '2. Check');
    read(FIRST_HOUR, '3. Look before you leap');
    it('has Services that are left alone', async () => {
      expect(await fieldOf(SHOOT_SERVICE, SHOOT_NAMESPACE)).to.equal(undefined);
    });
    read(FIRST_HOUR, '4. Switch on one seed');
    read(FIRST_HOUR, '5. Watch');
    it('is reported in an event on the namespace', async () => {
      interface Event {
        reason: string;
        involvedObject: { name: string };
      }
      await waitFor(
        'event',
        () => bed().api.list<Event>('/api/v1/namespaces/default/events'),
        (events) =>
          events.some(
            ({ reason, involvedObject }) => reason === 'RoutingEnabled' && involvedObject.name === SHOOT_NAMESPACE,
          ),
      );
    });
    it('has its traffic in its zone', async () => {
      expect(await fieldOf(SHOOT_SERVICE, SHOOT_NAMESPACE)).to.equal('PreferSameZone');
      for (const node of nodes) {
        await waitFor(
          `${node.name} keeps to its zone`,
          () => bed().connect({ node, service: routed, count: 30, timeoutMs: 1000 }),
          ({ byZone }) => byZone[node.zone ?? ''] === 30,
        );
      }
    });
    it('has an Extension that a Shoot asks for', () =>
      bed().api.create(`/apis/extensions.gardener.cloud/v1alpha1/namespaces/${SHOOT_NAMESPACE}/extensions`, {
        apiVersion: 'extensions.gardener.cloud/v1alpha1',
        kind: 'Extension',
        metadata: { name: 'topology-aware-routing' },
        spec: { type: 'topology-aware-routing' },
      }));
    read('docs/usage/extension-resource.md');
    it('gives the Extension back', async () => {
      await bed().api.delete(
        `/apis/extensions.gardener.cloud/v1alpha1/namespaces/${SHOOT_NAMESPACE}/extensions/topology-aware-routing`,
      );
    });
    read(FIRST_HOUR, '6. Roll back');
    it('has the Service as it was', async () => {
      expect(await fieldOf(SHOOT_SERVICE, SHOOT_NAMESPACE)).to.equal(undefined);
    });
    it('is removed by gardenlet', () => removeRegistered(bed()));
  });

  describe('of a garden runtime cluster', () => {
    const namespace = 'runtime-extension-topology-aware-routing';
    const expectField = (value: string | undefined): Promise<unknown> =>
      waitFor(`field ${value}`, () => fieldOf(GARDEN_SERVICE, 'garden'), is(value));

    read(INSTALL, 'Garden runtime cluster');
    it('becomes ready', () => deploymentsReady(namespace, ['settings-reconciler', 'endpointslice-webhook']));
    it('follows the setting of the Garden', async () => {
      await setGarden(bed(), true);
      await expectField('PreferSameZone');
      await setGarden(bed(), false);
      await expectField(undefined);
    });
    it('goes with its release', async () => {
      await shell.run(`helm -n ${namespace} uninstall topology-aware-routing`);
    });
  });

  describe('at the end', () => {
    it('has left out no command of these pages', () => {
      expect(reader.unread()).to.deep.equal([]);
    });
  });
});
