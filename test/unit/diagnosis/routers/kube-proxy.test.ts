// Each platform's kube-proxy: its own version and gates, how sure that is, and which nodes have another.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { routersOf } from '../../../../pkg/diagnosis/routers/routers.ts';
import { node } from '../../../fixtures/core.ts';
import { agentPod, configMap, daemonSet } from '../../../fixtures/data-planes.ts';
import { snapshotOf } from '../../../fixtures/snapshot.ts';
import { AUTO, type Case, PROXY, answer, checkRouters, here, kubeProxy, proxyPod } from './support.ts';

const staticPod = (image: string) =>
  agentPod('kube-proxy-n', 'n', image, { labels: { component: 'kube-proxy' }, container: 'kube-proxy' });
const ofPool = (pool: string, tag: string) =>
  daemonSet(`kube-proxy-${pool}`, `x/kube-proxy:${tag}`, { container: 'kube-proxy', nodeSelector: { pool } });
const CONFIGURED = { args: ['--config=/var/lib/kube-proxy/config.conf'] };
const OF_K3S = daemonSet('svclb-traefik', 'rancher/klipper-lb:v0.4.9', {});
const OFF = 'featureGates:\n  TopologyAwareHints: false\n  ServiceTrafficDistribution: false\n';

const ECR = '602.dkr.ecr.eu-west-1.amazonaws.com/eks/kube-proxy';
const ON_AKS = { labels: { component: 'kube-proxy', tier: 'node' } };
const inConf = (text: string, name = 'kube-proxy') => configMap(name, { 'config.conf': text });
const KIND = 'kind: KubeProxyConfiguration\n';
const BY_SHELL = ['/bin/sh', '-c', 'exec kube-proxy --feature-gates=TopologyAwareHints=false --v=2'];
const ASSUMED = 'kube-proxy * assumed zone-and-node';
const UNKNOWN = 'unknown * unknown unknown';
const ON_K3S = here({}, 'v1.33.4+k3s1');
const WITHOUT = here({}, 'v1.33.4+k3s1', { 'k3s.io/node-args': '["server","--disable-kube-proxy"]' });
const notOn = (key: string, value: string) => ({ affinity: [{ key, operator: 'NotIn', values: [value] }] });
const LINUX = { nodeSelector: { 'kubernetes.io/os': 'linux' } };

const CASES: readonly Case[] = [
  [
    'kubeadm',
    'kube-proxy 1.33.4 seen zone',
    [kubeProxy('v1.33.4')],
    { says: [/kube-proxy 1\.33, kubelet 1\.34/, /^DaemonSet kube-system\/kube-proxy containers\[kube-proxy\]\.image/] },
  ],
  ...['"', '? ', '[', '{a: '].map((text): Case => [
    `what keeps a parser of its configuration busy: ${text}`,
    'kube-proxy 1.33.4 seen zone',
    [kubeProxy('v1.33.4', CONFIGURED), inConf(text.repeat(25_000))],
  ]),
  [
    'EKS',
    'kube-proxy 1.29.0 seen zone',
    [daemonSet('kube-proxy', `${ECR}:v1.29.0-minimal-eksbuild.2`, PROXY)],
    { says: /more than Kubernetes supports/ },
  ],
  [
    'AKS',
    'kube-proxy 1.30.3 seen zone',
    [daemonSet('kube-proxy', 'mcr.microsoft.com/oss/kubernetes/kube-proxy:v1.30.3-hotfix.20240901', ON_AKS)],
  ],
  [
    'GKE, a static Pod',
    'kube-proxy 1.31.5 seen zone',
    [staticPod('gke.gcr.io/kube-proxy-amd64:v1.31.5-gke.1023000')],
    { says: /^Pod kube-system\/kube-proxy-n/ },
  ],
  [
    'RKE2, a static Pod',
    'kube-proxy 1.30.4 seen zone',
    [staticPod('rancher/hardened-kubernetes:v1.30.4-rke2r1-build20240815')],
  ],
  [
    'Gardener, a DaemonSet of a pool',
    'kube-proxy 1.34.2 seen zone-and-node',
    [ofPool('p', 'v1.34.2'), ofPool('q', 'v1.30.9')],
    { node: here({ pool: 'p' }) },
  ],
  ['a Pod older than its DaemonSet', 'kube-proxy 1.30.9 seen zone', [kubeProxy('v1.34.2'), proxyPod('v1.30.9')]],
  [
    'a tag that names no version',
    'kube-proxy - assumed zone-and-node',
    [kubeProxy('latest')],
    { says: /the kubelet's \(1\.34\) is assumed/ },
  ],
  [
    'gates in the configuration file',
    'kube-proxy 1.31.2 seen none',
    [kubeProxy('v1.31.2', CONFIGURED), inConf(`${KIND}${OFF}mode: ipvs\n`)],
    { says: /ConfigMap kube-system\/kube-proxy featureGates\.TopologyAwareHints/ },
  ],
  [
    'gates in a ConfigMap of another name, which it mounts, beside one of the usual name',
    'kube-proxy 1.31.2 seen none',
    [
      kubeProxy('v1.31.2', { ...CONFIGURED, configMap: 'kube-proxy-no-hints' }),
      inConf(`${KIND}mode: ipvs\n`),
      inConf(OFF, 'kube-proxy-no-hints'),
    ],
    { says: /ConfigMap kube-system\/kube-proxy-no-hints featureGates\.TopologyAwareHints/ },
  ],
  [
    'a configuration file that was not seen, before 1.33',
    'kube-proxy * assumed zone',
    [kubeProxy('v1.31.2', { args: ['--config=/c'] })],
    { says: /its ConfigMap is not among these objects/ },
  ],
  [
    'gates by a shell',
    'kube-proxy * seen none',
    [kubeProxy('v1.28.2', { args: BY_SHELL })],
    { says: /--feature-gates/ },
  ],
  [
    'a Node that its DaemonSet does not select',
    'kube-proxy - seen zone-and-node',
    [kubeProxy('v1.34.1', notOn(AUTO, 'auto'))],
    { node: here({ [AUTO]: 'auto' }), says: /compute-type/ },
  ],
  [
    'a Node without the Pod that others have',
    ASSUMED,
    [kubeProxy('v1.34.2'), proxyPod('v1.34.2', 'other')],
    { says: /has Pods on other Nodes but not here/ },
  ],
  [
    'nothing that says',
    'kube-proxy - assumed zone-and-node',
    [],
    { says: /nothing in these objects shows another one; add the DaemonSets/ },
  ],
  ['k3s', 'kube-proxy * seen zone', [OF_K3S], { node: ON_K3S, says: /kubeletVersion/ }],
  ['a part of k3s', 'kube-proxy * assumed zone', [], { node: ON_K3S, says: /add the DaemonSets/ }],
  ['k3s with kube-proxy switched off', UNKNOWN, [], { node: WITHOUT, says: /switched off/ }],
  ['EKS Auto Mode', 'kube-proxy * seen zone-and-node', [], { node: here({ [AUTO]: 'auto' }), says: /compute-type/ }],
  ['Fargate', ASSUMED, [], { node: here({ [AUTO]: 'fargate' }), says: /Fargate/ }],
  ['a virtual kubelet', UNKNOWN, [kubeProxy('v1.34.2')], { node: here({ type: 'virtual-kubelet' }) }],
  [
    'Windows',
    'kube-proxy-windows * seen none',
    [kubeProxy('v1.34.2', LINUX)],
    { node: here({ 'kubernetes.io/os': 'windows' }) },
  ],
];

describe('which kube-proxy routes on a Node', () => {
  checkRouters(CASES);

  it('is one answer for all Nodes of a DaemonSet with the same kubelet, and another for another kubelet', () => {
    const nodes = ['v1.33.4', 'v1.33.4', 'v1.34.2'].map((kubeletVersion, index) =>
      node({ zone: 'a', kubeletVersion, metadata: { name: `n${index}` } }),
    );
    const routers = routersOf(snapshotOf(...nodes, kubeProxy('v1.33.4')));
    const [first, second, third] = nodes.map((each) => routers.of(each));
    expect(second).to.equal(first);
    expect(first?.notes).to.deep.equal([]);
    expect(third?.notes.join()).to.match(/kube-proxy 1\.33, kubelet 1\.34/);
    expect(nodes.map((each) => routers.keyOf(each) === routers.keyOf(nodes[0]!))).to.deep.equal([true, true, false]);
  });

  it('is never read from nodeInfo.kubeProxyVersion', () => {
    const own = node({ zone: 'a', kubeletVersion: 'v1.34.2', metadata: { name: 'n' } });
    own.status!.nodeInfo!.kubeProxyVersion = 'v1.20.0';
    expect(answer({ objects: [], node: own }).routing.version).to.deep.equal({ major: 1, minor: 34 });
  });
});
