// Who routes, found by the commands from the objects of a real API server, and held against connections through the real proxies.
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import type { AuditReport } from '../../../pkg/diagnosis/audit/audit.ts';
import type { Explanation } from '../../../pkg/diagnosis/explain/explain.ts';
import type { SimulationReport } from '../../../pkg/diagnosis/simulate/simulate.ts';
import { runTopology, topologyJson } from '../../fixtures/topology-command.ts';
import { mastersGroup } from '../bed/access.ts';
import { type Bed, type BedNode, type BedService, useBed } from '../bed/index.ts';
import { waitFor } from '../bed/machine.ts';
import type { NodeOptions } from '../bed/node.ts';

const SYSTEM = 'kube-system';
const OLD = 'v1.30.14';

/** How the proxies of a group of Nodes are installed. */
interface Installed {
  /** Name of the DaemonSet; undefined: a static Pod. */
  readonly daemonSet?: string;
  /** Default: the version of the control plane. */
  readonly image?: string;
  readonly gates?: Readonly<Record<string, boolean>>;
}

interface ProxyNode {
  readonly name: string;
  readonly zone: string | undefined;
  /** Its proxy keeps to hints of a Service that has `trafficDistribution` alone. */
  readonly followsField: boolean;
  /** The same of one that has an annotation as well. */
  readonly followsAnnotation: boolean;
  readonly installed: Installed;
}

const present: Installed = { daemonSet: 'kube-proxy' };

/** The kubelet is 1.36 on all of them. */
const PROXY_NODES: readonly ProxyNode[] = [
  { name: 'new-a', zone: 'a', followsField: true, followsAnnotation: true, installed: present },
  { name: 'new-b', zone: 'b', followsField: true, followsAnnotation: true, installed: present },
  // Its image was pinned when the cluster was made.
  {
    name: 'old',
    zone: 'a',
    followsField: false,
    followsAnnotation: true,
    installed: { daemonSet: 'kube-proxy-pinned', image: OLD },
  },
  // Hints are switched off in its ConfigMap.
  {
    name: 'off',
    zone: 'b',
    followsField: false,
    followsAnnotation: false,
    installed: { daemonSet: 'kube-proxy-no-hints', image: OLD, gates: { TopologyAwareHints: false } },
  },
  // A static Pod whose flag switches on what was alpha in 1.30.
  {
    name: 'early',
    zone: 'a',
    followsField: true,
    followsAnnotation: true,
    installed: { image: OLD, gates: { ServiceTrafficDistribution: true } },
  },
  { name: 'zoneless', zone: undefined, followsField: false, followsAnnotation: false, installed: present },
];

const POOL = 'pool';
const gatesText = (gates: Readonly<Record<string, boolean>>): string =>
  Object.entries(gates)
    .map(([gate, on]) => `${gate}=${on}`)
    .join(',');

const labelsOf = (name: string): Readonly<Record<string, string>> => ({ 'k8s-app': 'kube-proxy', set: name });

/** kubeadm's command; its configuration is in a ConfigMap of the same name. */
const podSpec = (image: string, configMap: string | undefined, args: readonly string[]) => ({
  hostNetwork: true,
  tolerations: [{ operator: 'Exists' }],
  containers: [
    {
      name: 'kube-proxy',
      image: `registry.k8s.io/kube-proxy:${image}`,
      command: ['/usr/local/bin/kube-proxy', ...args],
      ...(configMap === undefined ? {} : { volumeMounts: [{ name: 'kube-proxy', mountPath: '/var/lib/kube-proxy' }] }),
    },
  ],
  ...(configMap === undefined ? {} : { volumes: [{ name: 'kube-proxy', configMap: { name: configMap } }] }),
});

const FILE_FLAG = '--config=/var/lib/kube-proxy/config.conf';

const createDaemonSet = async ({ api }: Bed, name: string, { gates = {} }: Installed, image: string) => {
  const lines = Object.entries(gates).map(([gate, on]) => `  ${gate}: ${on}`);
  const file = [
    'apiVersion: kubeproxy.config.k8s.io/v1alpha1',
    'kind: KubeProxyConfiguration',
    'mode: nftables',
    ...(lines.length === 0 ? [] : ['featureGates:', ...lines]),
  ].join('\n');
  await api.create(`/api/v1/namespaces/${SYSTEM}/configmaps`, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name },
    data: { 'config.conf': file },
  });
  return api.create(`/apis/apps/v1/namespaces/${SYSTEM}/daemonsets`, {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name, labels: labelsOf(name) },
    spec: {
      selector: { matchLabels: labelsOf(name) },
      template: {
        metadata: { labels: labelsOf(name) },
        spec: { ...podSpec(image, name, [FILE_FLAG]), nodeSelector: { [POOL]: name } },
      },
    },
  });
};

const createPod = ({ api }: Bed, node: string, spec: object, metadata: object): Promise<unknown> =>
  api.create(`/api/v1/namespaces/${SYSTEM}/pods`, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata,
    spec: { ...spec, nodeName: node },
  });

/** As the kubelet mirrors what lies in its folder of manifests: without the template's labels, owned by the Node. */
const createMirror = async (bed: Bed, node: string, { image = '', gates = {} }: Installed): Promise<unknown> => {
  const { metadata } = await bed.api.get(`/api/v1/nodes/${node}`);
  return createPod(bed, node, podSpec(image, undefined, [`--feature-gates=${gatesText(gates)}`]), {
    name: `kube-proxy-${node}`,
    labels: { tier: 'node', 'k8s-app': 'kube-proxy' },
    annotations: { 'kubernetes.io/config.mirror': 'd34d', 'kubernetes.io/config.source': 'file' },
    ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: node, uid: metadata.uid, controller: true }],
  });
};

/** Writes the objects of all proxies. */
const describeFleet = async (bed: Bed): Promise<void> => {
  const { gitVersion } = JSON.parse(await bed.api.text('/version')) as { gitVersion: string };
  const sets = new Map<string, string>();
  for (const { name, installed } of PROXY_NODES) {
    const { daemonSet, image = gitVersion } = installed;
    if (daemonSet === undefined) {
      await createMirror(bed, name, installed);
      continue;
    }
    const uid = sets.get(daemonSet) ?? (await createDaemonSet(bed, daemonSet, installed, image)).metadata.uid ?? '';
    sets.set(daemonSet, uid);
    await createPod(bed, name, podSpec(image, daemonSet, [FILE_FLAG]), {
      name: `${daemonSet}-${name}`,
      labels: labelsOf(daemonSet),
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: daemonSet, uid, controller: true }],
    });
  }
};

const optionsOf = ({ name, zone, installed }: ProxyNode): NodeOptions => ({
  name,
  ...(zone === undefined ? {} : { zone }),
  ...(installed.image === undefined ? {} : { proxyVersion: '1.30', kubeletVersion: 'v1.36.0' }),
  ...(installed.gates === undefined ? {} : { featureGates: installed.gates }),
  ...(installed.daemonSet === undefined ? {} : { labels: { [POOL]: installed.daemonSet } }),
});

/** Starts the Nodes with their proxies and writes the objects that show them. */
const startMixedProxies = async (bed: Bed): Promise<ReadonlyMap<string, BedNode>> => {
  const nodes = new Map<string, BedNode>();
  for (const node of PROXY_NODES) nodes.set(node.name, await bed.node(optionsOf(node)));
  await describeFleet(bed);
  return nodes;
};

const run = promisify(execFile);
const KEPT = 40;
/** A share of 200 connections is off by more than 0.2 once in a hundred million times. */
const [SPREAD, TOLERANCE] = [200, 0.2];

describe('who routes', () => {
  const bed = useBed();
  let nodes: ReadonlyMap<string, BedNode>;
  let service: BedService;
  let kubeconfig: string;

  const ask = <T>(...args: string[]): Promise<T> => topologyJson<T>([...args, '--kubeconfig', kubeconfig]);
  const explain = (): Promise<Explanation> => ask<Explanation>('explain', 'default/web');

  const connect = (name: string, count: number) => {
    const node = nodes.get(name);
    if (node === undefined) throw new Error(`no ${name}`);
    return bed().connect({ node, service, count, timeoutMs: 1_000 });
  };
  const shareOf = async (name: string, zone: string): Promise<number> =>
    ((await connect(name, SPREAD)).byZone[zone] ?? 0) / SPREAD;

  /** Connections of every Node do what the report says of it: stay in its zone, or go to as many as it says. */
  const expectMeasured = async (report: Explanation, follows: (node: ProxyNode) => boolean): Promise<void> => {
    for (const node of PROXY_NODES) {
      const { name, zone = '' } = node;
      const row = report.used.find((used) => used.node === name && used.addressType === 'IPv4');
      expect(row, name).to.deep.include({ zone, router: 'kube-proxy', certainty: 'seen' });
      expect(row?.mode !== '', `${name}: explain says that it keeps to hints`).to.equal(follows(node));
      if (follows(node)) {
        expect((await connect(name, KEPT)).byZone, name).to.deep.equal({ [zone]: KEPT });
        expect(row?.inZone, name).to.equal(1);
      } else {
        expect(row?.endpoints, name).to.equal(4);
        expect(await shareOf(name, 'a'), `${name} to zone a`).to.be.closeTo(0.5, TOLERANCE);
      }
    }
  };

  /** The share of all connections that stays, from clients that are alike on every Node. */
  const measuredShare = async (): Promise<number> => {
    const shares = await Promise.all(
      PROXY_NODES.map(async ({ name, zone }) => (zone === undefined ? 0 : shareOf(name, zone))),
    );
    return shares.reduce((sum, share) => sum + share, 0) / shares.length;
  };

  const settled = async (name: string, zone: string): Promise<void> =>
    void (await waitFor(
      `${name} keeps to zone ${zone}`,
      () => connect(name, KEPT),
      ({ byZone }) => byZone[zone] === KEPT,
    ));

  before('six Nodes with kubelet 1.36 and proxies of two versions, and a Service with the field', async () => {
    nodes = await startMixedProxies(bed());
    for (const name of ['new-a', 'new-b', 'new-a', 'new-b'])
      await bed().pod({ node: nodes.get(name) as BedNode, app: 'web' });
    service = await bed().service({ name: 'web', trafficDistribution: 'PreferSameZone' });
    kubeconfig = await bed().kubeconfig({ user: 'operator', groups: [mastersGroup] });
    await waitFor('four hinted endpoints', explain, ({ given }) => given[0]?.ready === 4 && given[0].hinted === 4);
    for (const { name, zone, followsField } of PROXY_NODES) {
      if (followsField && zone !== undefined) await settled(name, zone);
      else
        await waitFor(
          `${name} reaches both zones`,
          () => connect(name, KEPT),
          ({ byZone }) => (byZone['a'] ?? 0) > 0 && (byZone['b'] ?? 0) > 0,
        );
    }
  });

  it('explain distinguishes groups of Nodes by version, gates and configuration', async () => {
    const { router, certainty, routers } = await explain();
    expect([router, certainty]).to.deep.equal(['kube-proxy', 'seen']);
    const groups = routers.map(({ version, examples, behaviour: { hints, needs } }) => [
      version?.split('.').slice(0, 2).join('.'),
      examples,
      hints,
      needs,
    ]);
    expect(groups).to.have.deep.members([
      ['1.36', ['new-a', 'new-b', 'zoneless'], 'zone-and-node', 'hints alone'],
      ['1.30', ['old'], 'zone', 'the annotation topology-mode'],
      ['1.30', ['off'], 'none', 'the annotation topology-mode'],
      ['1.30', ['early'], 'zone', 'hints alone'],
    ]);
  });

  it('explain is right about every Node: where it says that hints are kept to connections stay, elsewhere they cross', async () => {
    const report = await explain();
    expect(report.verdict).to.equal('Ineffective');
    await expectMeasured(report, ({ followsField }) => followsField);
  });

  it('route lists for each Node the addresses that its connections reach', async () => {
    const { routes } = await ask<{ routes: readonly { node: string; reachable: readonly string[] }[] }>(
      'route',
      '--service',
      'default/web',
    );
    for (const { name, followsField } of PROXY_NODES) {
      const row = routes.find(({ node }) => node === name);
      const pods = Object.keys((await connect(name, SPREAD)).byPod);
      expect(row?.reachable, name).to.have.lengthOf(followsField ? 2 : 4);
      expect(pods, name).to.have.lengthOf(row?.reachable.length ?? 0);
    }
  });

  it('audit and simulate predict what stays as connections measure it', async () => {
    const { services, routers } = await ask<AuditReport>('audit');
    const web = services.find(({ name }) => name === 'web');
    const { now } = await ask<SimulationReport>('simulate', 'default/web', '--weights', 'nodes');
    const real = await measuredShare();
    expect(routers).to.have.lengthOf(4);
    expect(web?.group).to.equal('Fails');
    expect(web?.used).to.deep.equal({ count: 3, of: 6 });
    expect(now.inZoneShare).to.be.closeTo(real, TOLERANCE / 2);
    expect(web?.inZoneShare).to.be.closeTo(real, TOLERANCE / 2);
  });

  it('kubectl get with the line of the documentation collects what snapshot does: every command answers alike', async () => {
    const { out: help } = await runTopology(['snapshot', '--help']);
    const line = /Without this plug-in: (kubectl get .* > cluster\.json)/.exec(help)?.[1] ?? '';
    const [byHand, bySnapshot] = [join(bed().directory, 'cluster.json'), join(bed().directory, 'snapshot.json')];
    const PATH = `${dirname(bed().binaries('kubectl'))}:${process.env['PATH'] ?? ''}`;
    await run('sh', ['-ec', line], {
      cwd: bed().directory,
      env: { PATH, KUBECONFIG: kubeconfig, HOME: bed().directory },
    });
    const { out, code, err } = await runTopology(['snapshot', '--kubeconfig', kubeconfig]);
    expect([code, err]).to.deep.equal([0, '']);
    writeFileSync(bySnapshot, out);
    const explanation = ['explain', 'default/web'];
    for (const command of [
      explanation,
      ['simulate', 'default/web'],
      ['audit'],
      ['route', '--service', 'default/web'],
    ]) {
      const from = (file: string) => topologyJson<object>([...command, '-f', file]);
      const live = await ask<object>(...command);
      expect(await from(bySnapshot), `${command[0]} of the snapshot`).to.deep.equal(live);
      // A plain list does not say of which kinds there are none, and which were not asked for.
      const known = (answer: object): object =>
        JSON.parse(JSON.stringify(answer, (key, value: unknown) => (key === 'unseen' ? undefined : value))) as object;
      expect(known(await from(byHand)), `${command[0]} of kubectl get`).to.deep.equal(known(live));
    }
  });

  it('the annotation that explain offers helps the Nodes that it names, and changes nothing for the others', async () => {
    const { causes: found } = await explain();
    const fix = found.find(({ reason }) => reason === 'ProxyNeedsAnnotation')?.fix ?? [];
    expect(fix).to.have.lengthOf(1);
    const PATH = `${dirname(bed().binaries('kubectl'))}:${process.env['PATH'] ?? ''}`;
    await run('sh', ['-ec', fix[0] ?? ''], { env: { PATH, KUBECONFIG: kubeconfig, HOME: bed().directory } });
    await settled('old', 'a');
    const report = await waitFor('explain sees it', explain, ({ causes }) =>
      causes.every(({ reason }) => reason !== 'ProxyNeedsAnnotation'),
    );
    await expectMeasured(report, ({ followsAnnotation }) => followsAnnotation);
  });
});
