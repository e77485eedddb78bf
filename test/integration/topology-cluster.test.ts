import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { CLUSTER_ROLES, FLOW_POLICIES, apiVersionOf, resource as resourceOf } from '../../pkg/apis/resources.ts';
import { LABEL_STRATEGY } from '../../pkg/apis/names.ts';
import type { Explanation } from '../../pkg/diagnosis/explain/explain.ts';
import type { HintsReport } from '../../pkg/diagnosis/models/hints.ts';
import type { SimulationReport } from '../../pkg/diagnosis/simulate/simulate.ts';
import type { SurvivalReport } from '../../pkg/diagnosis/survival/survival.ts';
import { flowPolicyDefinition } from '../../hack/lib/crd.ts';
import { listObjects } from '../../cmd/kubectl-topology/input/cluster.ts';
import { NAMING_CONFIGS } from '../../cmd/kubectl-topology/input/resources.ts';
import { service, kubeProxy } from '../fixtures/core.ts';
import { createClient } from '../../pkg/kubernetes/client.ts';
import { loadKubeConfig } from '../../pkg/kubernetes/kubeconfig.ts';
import { stubDefinition } from '../fixtures/crds.ts';
import { hostileNames, servicesNamed } from '../fixtures/hostile-names.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { clusterFile, runTopology, topologyJson } from '../fixtures/topology-command.ts';
import { startSandbox } from '../sandbox/sandbox.ts';
import type { Sandbox } from '../sandbox/types.ts';
import { ZONES, nodes, webPod } from './topology-objects.ts';

const web = (spec: Parameters<typeof service>[0] = {}) =>
  service({ ...spec, metadata: { name: 'web', namespace: 'shop', ...spec.metadata } });

describe('kubectl topology, on a cluster', function onCluster() {
  this.timeout(60_000);
  const folder = temporaryFolder();
  let sandbox: Sandbox;
  let access: readonly string[];

  beforeEach(async () => {
    sandbox = await startSandbox({ kubernetesVersion: 'v1.34.2' });
    sandbox.seed(nodes({ kubeletVersion: 'v1.34.2' }));
    sandbox.seed([kubeProxy('v1.34.2')]);
    for (const name of ['shop', 'garden'])
      await sandbox.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    sandbox.seed(ZONES.map(webPod));
    await sandbox.apply(web({ spec: { trafficDistribution: 'PreferSameZone' } }));
    await sandbox.settled();
    access = ['--kubeconfig', folder.write('kubeconfig', sandbox.kubeconfig('reader'))];
    sandbox.clearRequests();
  });
  afterEach(() => sandbox.stop());

  it('explains over TLS, with reads only, over one connection', async () => {
    const report = await topologyJson<Explanation>(['explain', 'web', '-n', 'shop', ...access]);
    expect(report.verdict).to.equal('Effective');
    expect(report.kubernetesVersion).to.equal('1.34');
    expect(report.given[0]).to.include({ ready: 3, hinted: 3 });
    const own = sandbox.requests.filter(({ user }) => user === 'reader');
    expect(new Set(own.map(({ method }) => method))).to.deep.equal(new Set(['GET']));
    expect(new Set(own.map(({ verb }) => verb)).has('watch')).to.equal(false);
    const pods = own.filter(({ resource, query }) => resource === 'pods' && query['labelSelector'] === undefined);
    expect(pods.map(({ namespace }) => namespace)).to.deep.equal(['shop']);
  });

  /** Lists of a resource that the last command asked for, as their selectors. */
  const selectorsOf = (resource: string): string[] =>
    sandbox.requests
      .filter((request) => request.user === 'reader' && request.resource === resource)
      .map(({ query }) => query['fieldSelector'] ?? query['labelSelector'] ?? '')
      .sort();

  it('explain asks for the one Service, its slices and its events, and not for all of the namespace', async () => {
    await topologyJson<Explanation>(['explain', 'web', '-n', 'shop', ...access]);
    expect(selectorsOf('services')).to.deep.equal(['metadata.name=web']);
    expect(selectorsOf('endpointslices')).to.deep.equal(['kubernetes.io/service-name=web']);
    expect(selectorsOf('events')).to.deep.equal(['involvedObject.kind=Service,involvedObject.name=web']);
  });

  const OVN = 'app in (ovnkube-node,kube-ovn-cni)';
  const COMPONENTS = 'component in (kube-proxy,antrea-agent)';
  const OTHER_AGENTS = [OVN, COMPONENTS, 'k8s-app in (cilium,calico-node,kube-router)'];
  const ALL_AGENTS = [OVN, COMPONENTS, 'k8s-app in (kube-proxy,cilium,calico-node,kube-router)'];
  for (const [title, counts, expected] of [
    ['leaves out kube-proxy Pods where its DaemonSet has one of its template on every Node', [3, 3, 1], OTHER_AGENTS],
    ['reads kube-proxy Pods while its DaemonSet is rolled out', [3, 2, 1], ALL_AGENTS],
    ['reads kube-proxy Pods where a taint keeps them from a Node', [2, 2, 1], ALL_AGENTS],
    ['reads kube-proxy Pods until the DaemonSet controller has seen the last change', [3, 3, 0], ALL_AGENTS],
  ] as const) {
    it(title, async () => {
      const [desiredNumberScheduled, updatedNumberScheduled, observedGeneration] = counts;
      const set = kubeProxy('v1.34.1');
      const metadata = { ...set.metadata, generation: 1 };
      const status = { desiredNumberScheduled, updatedNumberScheduled, observedGeneration };
      const rolled = { ...set, metadata, status };
      sandbox.seed([rolled]);
      await topologyJson<Explanation>(['explain', 'web', '-n', 'shop', ...access]);
      const asked = selectorsOf('pods').filter((selector) => selector !== '');
      expect(asked, 'labels of agents, as pkg/diagnosis/routers/planes.ts has them').to.deep.equal(expected);
    });
  }

  it('reads the configuration of Istio only where one of its rules is', async () => {
    const rules = resourceOf('networking.istio.io', 'v1', 'DestinationRule', true);
    await sandbox.apply(stubDefinition(rules));
    for (const isThere of [false, true]) {
      if (isThere) {
        const [apiVersion, metadata] = ['networking.istio.io/v1', { name: 'web', namespace: 'shop' }];
        await sandbox.apply({ apiVersion, kind: rules.kind, metadata, spec: { host: 'web' } } as KubernetesObject);
      }
      sandbox.clearRequests();
      await topologyJson<Explanation>(['explain', 'shop/web', ...access]);
      const asked = sandbox.requests.filter(({ resource }) => resource === 'configmaps');
      const isRead = asked.some(({ namespace }) => namespace === 'istio-system');
      expect(isRead, `rule: ${isThere}`).to.equal(isThere);
    }
  });

  it('reads ConfigMaps of the namespace that is asked about, but for authorities', async () => {
    await topologyJson<Explanation>(['explain', 'shop/web', ...access]);
    const asked = sandbox.requests.filter(({ resource }) => resource === 'configmaps');
    expect(asked.map(({ namespace }) => namespace)).to.have.members(['kube-system', 'shop']);
    expect(selectorsOf('configmaps').at(-1)).to.contain('metadata.name!=kube-root-ca.crt,');
  });

  it('asks for no further page of ConfigMaps once so much came, and knows that there are more', async () => {
    const config = (at: number) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: `c-${at}`, namespace: 'shop' },
      data: { 'a.conf': 'url: http://web' },
    });
    sandbox.seed(Array.from({ length: 1_700 }, (_, at) => config(at)));
    const kubeconfig = folder.write('direct', sandbox.kubeconfig('reader'));
    const transport = sandbox.connect();
    const client = createClient({ config: loadKubeConfig({ kubeconfig }), userAgent: 'test', transport });
    const read = async (most: number): Promise<readonly [boolean, number]> => {
      const taken: unknown[] = [];
      const options = { namespace: 'shop', signal: new AbortController().signal };
      const isAll = await listObjects(client, { ...NAMING_CONFIGS, most }, (object) => taken.push(object), options);
      return [isAll, taken.length];
    };
    expect([await read(10_000), await read(NAMING_CONFIGS.most ?? 0)]).to.deep.equal([
      [false, 1_000],
      [true, 1_700],
    ]);
    await client.close();
  });

  const READING: readonly (readonly string[])[] = [
    ['explain', 'shop/web'],
    ['hints', '-A'],
    ['route', '--service', 'shop/web'],
    ['plan', '--service', 'shop/web', '--weights', 'cpu'],
    ['simulate', 'shop/web'],
    ['audit', '-A'],
    ['audit', '--without', 'eu-1a'],
    ['__complete', 'explain', '-n', 'shop', ''],
  ];
  for (const [command = '', ...args] of READING) {
    it(`${command} needs no verb but get and list`, async () => {
      const [first = '', ...rest] = args;
      // The word that is completed comes last.
      const line = command === '__complete' ? [command, first, ...access, ...rest] : [command, ...args, ...access];
      const { code, err } = await runTopology(line);
      expect([code, err]).to.deep.equal([0, '']);
      const own = sandbox.requests.filter(({ user }) => user === 'reader');
      expect(own).not.to.deep.equal([]);
      // /version is no resource and needs no verb but get.
      const verbs = new Set(own.map(({ verb, path }) => (path === '/version' ? 'get' : verb)));
      expect([...verbs].filter((verb) => verb !== 'get' && verb !== 'list')).to.deep.equal([]);
    });
  }

  it('simulate sees what is in force, and lists no Pods but those of data planes', async () => {
    const report = await topologyJson<SimulationReport>(['simulate', 'shop/web', ...access]);
    expect(report.now).to.deep.include({ mode: 'PreferSameZone', hinted: 3, inZoneShare: 1 });
    expect([report.kubernetesVersion, report.recommendation.improves]).to.deep.equal(['1.34', false]);
    expect(selectorsOf('endpointslices')).not.to.deep.equal([]);
    expect(selectorsOf('pods')).not.to.include('');
  });

  it('explain and simulate ask for policies of Services with a planned strategy only, and go on without', async () => {
    await sandbox.apply(web({ metadata: { name: 'planned', labels: { [LABEL_STRATEGY]: 'load-aware' } } }));
    await sandbox.settled();
    for (const name of ['web', 'planned']) {
      for (const command of ['explain', 'simulate']) {
        sandbox.clearRequests();
        const { code, err } = await runTopology([command, `shop/${name}`, ...access]);
        const asked = sandbox.requests.some(({ user, path }) => user === 'reader' && path.includes('/flowpolicies'));
        expect([code, err, asked], `${command} ${name}`).to.deep.equal([0, '', name === 'planned']);
      }
    }
  });

  it('audit --without lists Pods of all kinds only where a FlowPolicy speaks of their requests', async () => {
    await sandbox.apply(flowPolicyDefinition());
    const ask = () => topologyJson<SurvivalReport>(['audit', '--without', 'eu-1a', ...access]);
    const { survives, services } = await ask();
    expect([survives, services.length]).to.deep.equal([true, 1]);
    expect(selectorsOf('pods')).not.to.include('');
    const status = { conditions: [{ type: 'Observed', status: 'True' }], zones: [{ zone: 'eu-1a', demand: '1' }] };
    const policy: object = {
      apiVersion: apiVersionOf(FLOW_POLICIES),
      kind: FLOW_POLICIES.kind,
      metadata: { name: 'web', namespace: 'shop' },
      status,
    };
    sandbox.seed([policy]);
    await ask();
    expect(selectorsOf('pods')).to.include('');
  });

  it('says what it may not read and goes on without', async () => {
    for (const resource of ['pods', 'mutatingwebhookconfigurations', 'events'])
      sandbox.addFault({ kind: 'status', match: { resource }, code: 403 });
    const { out, err, code } = await runTopology(['explain', 'shop/web', '-o', 'json', ...access]);
    expect(code).to.equal(0);
    expect(err).to.match(/^warning: continuing without pods: you may not list pods$/m);
    expect(err).to.match(/^warning: continuing without webhooks: you may not list mutatingwebhookconfigurations$/m);
    expect((JSON.parse(out) as Explanation).unseen.map(({ what }) => what)).to.deep.equal([
      'pods',
      'webhooks',
      'events',
    ]);
  });

  it('names who may go around in another namespace, and limits the tick where roles may not be read', async () => {
    const edge = { name: 'edge', namespace: 'garden' };
    const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name: 'edge' } };
    const rule = { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch'] };
    const template = { metadata: { labels: { app: 'edge' } }, spec: { serviceAccountName: 'edge', containers: [] } };
    const objects: object[] = [
      { ...rbac, kind: 'ClusterRole', rules: [rule] },
      { ...rbac, kind: 'ClusterRoleBinding', roleRef: edge, subjects: [{ kind: 'ServiceAccount', ...edge }] },
      { apiVersion: 'apps/v1', kind: 'Deployment', metadata: edge, spec: { template } },
      service({ metadata: edge, spec: { type: 'LoadBalancer', selector: { app: 'edge' } } }),
    ];
    sandbox.seed(objects);
    const firstLine = async (): Promise<string | undefined> =>
      (await runTopology(['explain', 'shop/web', ...access])).out.split('\n')[1];
    expect(await firstLine()).to.match(
      /^✓ through .*; edge \(Deployment garden\/edge\) watches EndpointSlices and may go /,
    );
    const [, binding] = objects;
    await sandbox.remove({ ...CLUSTER_ROLES, plural: 'clusterrolebindings' }, { name: 'edge' });
    expect(await firstLine()).to.match(/^✓ effective: 100 %/);
    const bound: object = { ...binding, kind: 'RoleBinding', metadata: { name: 'edge', namespace: 'shop' } };
    sandbox.seed([bound]);
    expect(await firstLine()).to.match(
      /^✓ through .*; edge \(Deployment garden\/edge\) watches EndpointSlices and may/,
    );
    sandbox.addFault({ kind: 'status', match: { resource: 'clusterroles' }, code: 403 });
    expect(await firstLine()).to.match(/^✓ through .*; who else reaches its Pods was not seen \(clusterRoles\)$/);
    sandbox.addFault({ kind: 'status', match: { resource: 'ingresses' }, code: 403 });
    expect(await firstLine()).to.match(/; who else reaches its Pods was not seen \(ingresses, clusterRoles\)$/);
    sandbox.addFault({ kind: 'status', match: { resource: 'rolebindings' }, code: 403 });
    expect(await firstLine()).to.match(/not seen \(ingresses, clusterRoles, clusterRoleBindings\)$/);
  });

  it('reads lists page by page, and begins anew where pages grew too old', async () => {
    sandbox.seed(
      Array.from({ length: 1_200 }, (_, index) => web({ metadata: { name: `service-${index}`, namespace: 'shop' } })),
    );
    sandbox.addFault({ kind: 'status', match: { resource: 'services' }, code: 410, reason: 'Expired', times: 1 });
    const report = await topologyJson<HintsReport>(['hints', '-n', 'shop', ...access]);
    expect(report.services).to.have.length(1_201);
    const pages = sandbox.requests.filter(
      ({ resource, user, status }) => resource === 'services' && user === 'reader' && status === 200,
    );
    expect(pages.map(({ query }) => query['limit'])).to.deep.equal(['500', '500', '500']);
  });

  it('exit code 2 where the cluster cannot be reached, with its address', async () => {
    const { port } = new URL(sandbox.server);
    const dead = folder.write('dead', sandbox.kubeconfig('reader').replaceAll(port, '1'));
    const { code, err } = await runTopology(['hints', '--kubeconfig', dead]);
    expect(code).to.equal(2);
    expect(err).to.match(/^error: .*\/version/);
  });

  describe('completion', () => {
    const complete = async (...words: string[]): Promise<string[]> =>
      (await runTopology(['__complete', ...words])).out
        .split('\n')
        .map((line) => line.split('\t')[0]!)
        .filter((line) => line !== '');

    it('completes commands, flags and their values', async () => {
      expect(await complete('ex')).to.deep.equal(['explain', ':4']);
      expect(await complete('route', '--proxy', '')).to.deep.equal(['kube-proxy', 'cilium', 'linkerd', ':4']);
      expect(await complete('explain', '--fail')).to.deep.equal(['--fail-on', ':4']);
      expect(await complete('explain', '-f', clusterFile('effective'), '-n', '')).to.deep.equal(['shop', ':4']);
      expect(await complete('traffic', '-f', clusterFile('effective'), '--watch', 'shop/')).to.deep.equal([
        'shop/web',
        ':4',
      ]);
      expect(await complete('audit', '-f', clusterFile('effective'), '--without', 'eu-1a')).to.deep.equal([
        'eu-1a',
        ':4',
      ]);
      expect(await complete('hints', '-f', '')).to.deep.equal([':0']);
      expect(await complete('nonsense', '')).to.deep.equal([':4']);
      expect(await complete(''))
        .to.include('explain')
        .and.not.to.include('__complete');
    });

    it('offers no name that a shell would expand, run or take for a flag', async () => {
      const file = folder.write('hostile.json', servicesNamed(hostileNames(folder.at('canary'))));
      const answers = await Promise.all(
        [[''], ['-n', 'shop', ''], ['-n', '']].map((words) =>
          runTopology(['__complete', 'explain', '-f', file, ...words]),
        ),
      );
      const offered = answers.flatMap(({ out }) => out.split('\n').slice(0, -2));
      expect(offered.filter((line) => !/^[A-Za-z0-9][A-Za-z0-9./:_=-]*\t[A-Za-z]+$/.test(line))).to.deep.equal([]);
      expect(offered).to.include.members(['shop\tNamespace']);
    });

    const asked: readonly (readonly [words: readonly string[], offered: string])[] = [
      [['explain', '-n', 's'], 'shop'],
      [['explain', '-n', 'shop', 'w'], 'web'],
      [['explain', 'shop/'], 'shop/web'],
      [['simulate', 'shop/'], 'shop/web'],
      [['route', '-n', 'shop', '--service', ''], 'web'],
    ];
    for (const [[command = '', ...words], offered] of asked) {
      it(`completes from the cluster: ${command} ${words.join(' ')}`, async () => {
        // It gives up on a cluster that takes long, as this one may on a busy machine.
        let candidates: string[] = [];
        for (let attempt = 0; attempt < 10 && candidates.length < 2; attempt += 1)
          candidates = await complete(command, ...access, ...words);
        expect(candidates).to.deep.equal([offered, ':4']);
      });
    }
  });
});
