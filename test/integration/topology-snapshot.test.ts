// One command collects what every answer needs: a snapshot gives the same answers as the objects as kubectl prints them.
import { readFileSync, readdirSync } from 'node:fs';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { readYaml } from '../../cmd/kubectl-topology/input/documents.ts';
import { snapshotDocument } from '../../cmd/kubectl-topology/input/snapshot-file.ts';
import { createCollector } from '../../pkg/diagnosis/project/collect.ts';
import { type ClusterSnapshot, itemsOf } from '../../pkg/diagnosis/snapshot.ts';
import type { Explanation } from '../../pkg/diagnosis/explain/explain.ts';
import { kubeProxy, node, service, slice } from '../fixtures/core.ts';
import { installation } from '../fixtures/installation.ts';
import { plantedIn, SECRETS_TO_PLANT } from '../fixtures/planted-secrets.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { startSandbox } from '../sandbox/sandbox.ts';
import { CLUSTERS, clusterFile, clusterFlags, runTopology, topologyJson } from '../fixtures/topology-command.ts';

const objectsOf = (name: string): unknown[] => {
  const objects: unknown[] = [];
  readYaml(readFileSync(clusterFile(name), 'utf8'), name, (object) => objects.push(object));
  return objects;
};

/** As text of a file; `missing`: why a collection is not known. */
const snapshotOf = (
  objects: readonly unknown[],
  missing: Parameters<ReturnType<typeof createCollector>['snapshot']>[0] = new Map(),
): string => {
  const collector = createCollector();
  for (const object of objects) collector.add(object);
  return JSON.stringify(snapshotDocument(collector.snapshot(missing)));
};

describe('kubectl topology snapshot', () => {
  for (const file of readdirSync(CLUSTERS).sort()) {
    const name = file.replace(/\.yaml$/, '');
    it(`answers as the objects of ${name} do`, async () => {
      const objects = objectsOf(name).flatMap((object) => (object as { items?: unknown[] }).items ?? [object]);
      const plain = await topologyJson<Explanation>([
        'explain',
        'shop/web',
        '-f',
        clusterFile(name),
        ...clusterFlags(name),
      ]);
      const text = snapshotOf(objects, new Map(plain.unseen.map(({ what, why }) => [what, why] as never)));
      const args = ['explain', 'shop/web', '-f', '-', ...clusterFlags(name)];
      expect(await topologyJson<Explanation>(args, { stdin: text })).to.deep.equal(plain);
    });
  }

  /** Names of API resources in the line of kubectl that help shows. */
  const namesInHelp = async (): Promise<Set<string>> => {
    const { out } = await runTopology(['snapshot', '--help']);
    return new Set((/grep -xE '([^']+)'/.exec(out.replace(/\s*\n\s*/g, ''))?.[1] ?? '').split('|'));
  };
  /** As the API calls them: the test knows it from Kubernetes, not from the command. */
  const RESOURCES: Readonly<Record<string, string>> = {
    Node: 'nodes',
    Service: 'services',
    EndpointSlice: 'endpointslices.discovery.k8s.io',
    Pod: 'pods',
    Event: 'events',
    ConfigMap: 'configmaps',
    Deployment: 'deployments.apps',
    StatefulSet: 'statefulsets.apps',
    DaemonSet: 'daemonsets.apps',
    HorizontalPodAutoscaler: 'horizontalpodautoscalers.autoscaling',
    MutatingWebhookConfiguration: 'mutatingwebhookconfigurations.admissionregistration.k8s.io',
    ValidatingWebhookConfiguration: 'validatingwebhookconfigurations.admissionregistration.k8s.io',
    APIService: 'apiservices.apiregistration.k8s.io',
    Ingress: 'ingresses.networking.k8s.io',
    IngressClass: 'ingressclasses.networking.k8s.io',
    Gateway: 'gateways.gateway.networking.k8s.io',
    GatewayClass: 'gatewayclasses.gateway.networking.k8s.io',
    HTTPRoute: 'httproutes.gateway.networking.k8s.io',
    FelixConfiguration: 'felixconfigurations.crd.projectcalico.org',
    Installation: 'installations.operator.tigera.io',
    CiliumNodeConfig: 'ciliumnodeconfigs.cilium.io',
    Network: 'networks.operator.openshift.io',
    FlowPolicy: 'flowpolicies.topology.extensions.gardener.cloud',
    ZoneEvacuation: 'zoneevacuations.topology.extensions.gardener.cloud',
  };

  it('has a line of kubectl in its help that collects objects with the same answers, for every fixture', async () => {
    const names = await namesInHelp();
    for (const file of readdirSync(CLUSTERS).sort()) {
      const name = file.replace(/\.yaml$/, '');
      const objects = objectsOf(name) as { kind: string }[];
      const left = objects.filter(({ kind }) => !names.has(RESOURCES[kind] ?? kind));
      // The plug-in's own kinds are what other commands of it have written.
      expect(
        [...new Set(left.map(({ kind }) => kind))].filter((kind) => !kind.startsWith('Topology')),
        name,
      ).to.deep.equal([]);
    }
    expect(names).to.include.members(Object.values(RESOURCES));
  });

  it('is made of a cluster, says what could not be read, and holds no secret', async () => {
    const folder = temporaryFolder();
    const sandbox = await startSandbox({ kubernetesVersion: 'v1.34.2' });
    try {
      sandbox.seed([node({ zone: 'eu-1a', kubeletVersion: 'v1.34.2' }), kubeProxy('v1.34.2')]);
      await sandbox.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
      await sandbox.apply(service({ metadata: { name: 'web', namespace: 'shop' } }));
      await sandbox.apply(service({ metadata: { name: 'other', namespace: 'shop' } }));
      await sandbox.settled();
      sandbox.addFault({ kind: 'status', match: { resource: 'events' }, code: 403 });
      const access = ['--kubeconfig', folder.write('kubeconfig', sandbox.kubeconfig('reader'))];
      const { code, out, err } = await runTopology(['snapshot', '--service', 'shop/web', ...access]);
      expect([code, err]).to.deep.equal([0, 'warning: continuing without events: you may not list events\n']);
      const read = JSON.parse(out) as ClusterSnapshot & { kind: string };
      expect(read.kind).to.equal('TopologySnapshot');
      expect(read.events).to.deep.equal({ kind: 'unknown', why: 'you may not list events' });
      expect(itemsOf(read.services).map(({ metadata }) => metadata?.name)).to.deep.equal(['web']);
      const report = await topologyJson<Explanation>(['explain', 'shop/web', '-f', '-'], { stdin: out });
      expect([report.router, report.certainty, report.kubernetesVersion]).to.deep.equal(['kube-proxy', 'seen', '1.34']);
      expect(report.unseen).to.deep.equal([{ what: 'events', why: 'you may not list events' }]);
    } finally {
      await sandbox.stop();
    }
  });

  it('keeps of command lines and environments only what says how hints are used', () => {
    const container = {
      name: 'kube-proxy',
      image: 'kube-proxy:v1.34.1',
      args: [
        '--feature-gates=TopologyAwareHints=false',
        '--token=s3cr3t',
        '--config=https://s3cr3t',
        '--proxy-mode=s3cr3t',
        '--enable-lb s3cr3t',
      ],
      env: [
        { name: 'PASSWORD', value: 's3cr3t' },
        { name: 'FELIX_BPFENABLED', value: 'true' },
      ],
    };
    const metadata = { name: 'kube-proxy', namespace: 'kube-system' };
    const daemonSet = {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata,
      spec: { template: { spec: { containers: [container] } } },
    };
    const annotations = {
      'k3s.io/node-args': '["server","--token","s3cr3t","--disable-kube-proxy","--node-label","a=s3cr3t"]',
      'rke2.io/node-args': '["server","--token=s3cr3t"]',
    };
    const foreign = { name: 'own', namespace: 'kube-system' };
    const ofBalancer = {
      'load-balancer.hetzner.cloud/uses-proxyprotocol': 'false',
      'load-balancer.hetzner.cloud/name': 's3cr3t',
      'io.cilium/global-service': 'true',
    };
    const text = snapshotOf([
      daemonSet,
      service({ metadata: { annotations: ofBalancer } }),
      { apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: foreign },
      { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n', annotations } },
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: foreign, data: { password: 's3cr3t' } },
      { apiVersion: 'v1', kind: 'Secret', metadata: foreign, data: { password: 's3cr3t' } },
    ]);
    expect(text).to.contain('TopologyAwareHints=false').and.to.contain('FELIX_BPFENABLED').and.not.to.contain('s3cr3t');
    expect(text).to.contain('"--config"').and.to.contain('{"k3s.io/node-args":"[\\"--disable-kube-proxy\\"]"}');
    expect(text).not.to.contain('Secret').and.not.to.contain('"own"');
    // Whether it is switched on decides; a name does not.
    expect(text).to.contain('/uses-proxyprotocol":"false"').and.to.contain('hetzner.cloud/name":""');
    expect(text).to.contain('io.cilium/global-service":"true"');
  });

  for (const [name, secret] of Object.entries(SECRETS_TO_PLANT)) {
    it(`holds no byte of ${name}, wherever it was planted`, () => {
      const objects: KubernetesObject[] = [...installation({ now: 0, caBundle: '' }), node(), service(), slice()];
      const text = snapshotOf(objects.map((object) => plantedIn(object, secret)));
      expect(text.length).to.be.greaterThan(1_000);
      for (const needle of secret.needles) expect(text.includes(needle), needle).to.equal(false);
    });
  }

  it('is no snapshot in another form, and not beside other objects', async () => {
    const { apiVersion, ...rest } = JSON.parse(snapshotOf([])) as Record<string, unknown>;
    for (const wrong of [
      { ...rest, apiVersion: 'v2' },
      { apiVersion },
      { ...rest, apiVersion, pods: { kind: 'known', items: [3] } },
    ]) {
      const stdin = JSON.stringify({ kind: 'TopologySnapshot', ...wrong });
      const { code, err } = await runTopology(['explain', 'shop/web', '-f', '-'], { stdin });
      expect([code, err]).to.deep.equal([
        2,
        err.replace(/^(?!error: standard input:1: TopologySnapshot)/, 'expected: '),
      ]);
    }
    const both = ['explain', 'shop/web', '-f', '-', '-f', clusterFile('effective')];
    expect((await runTopology(both, { stdin: snapshotOf([]) })).err).to.contain('leave out other objects');
  });

  it('exit code 2 with files, or for a Service without namespace', async () => {
    expect((await runTopology(['snapshot', '-f', clusterFile('effective')])).code).to.equal(2);
    expect((await runTopology(['snapshot', '--service', 'web'])).code).to.equal(2);
  });
});
