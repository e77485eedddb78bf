// Each platform's kube-proxy: its own version and gates, how sure that is, and which nodes have another.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { createCollector } from '../../../../pkg/diagnosis/project/collect.ts';
import { routersOf } from '../../../../pkg/diagnosis/routers/routers.ts';
import { node } from '../../../fixtures/core.ts';
import { agentPod, configMap, daemonSet } from '../../../fixtures/data-planes.ts';

import { AUTO, type Case, PROXY, answer, checkRouters, here, kubeProxy } from './support.ts';

const CASES: readonly Case[] = [
  {
    name: 'kubeadm',
    objects: [kubeProxy('v1.33.4')],
    want: ['kube-proxy', '1.33.4', 'seen', 'zone'],
    evidence: /^DaemonSet kube-system\/kube-proxy containers\[kube-proxy\]\.image/,
    notes: /kube-proxy 1\.33, kubelet 1\.34/,
  },
  {
    name: 'EKS',
    objects: [kubeProxy('v1.29.0-minimal-eksbuild.2', '602.dkr.ecr.eu-west-1.amazonaws.com/eks/kube-proxy')],
    want: ['kube-proxy', '1.29.0', 'seen', 'zone'],
    notes: /more than Kubernetes supports/,
  },
  {
    name: 'AKS',
    objects: [
      daemonSet('kube-proxy', 'mcr.microsoft.com/oss/kubernetes/kube-proxy:v1.30.3-hotfix.20240901', {
        labels: { component: 'kube-proxy', tier: 'node' },
      }),
    ],
    want: ['kube-proxy', '1.30.3', 'seen', 'zone'],
  },
  {
    name: 'GKE, a static Pod',
    objects: [
      agentPod('kube-proxy-n', 'n', 'gke.gcr.io/kube-proxy-amd64:v1.31.5-gke.1023000', {
        labels: { component: 'kube-proxy' },
        container: 'kube-proxy',
      }),
    ],
    want: ['kube-proxy', '1.31.5', 'seen', 'zone'],
    evidence: /^Pod kube-system\/kube-proxy-n/,
  },
  {
    name: 'RKE2, a static Pod',
    objects: [
      agentPod('kube-proxy-n', 'n', 'rancher/hardened-kubernetes:v1.30.4-rke2r1-build20240815', {
        labels: { component: 'kube-proxy' },
        container: 'kube-proxy',
      }),
    ],
    want: ['kube-proxy', '1.30.4', 'seen', 'zone'],
  },
  {
    name: 'Gardener, a DaemonSet of a pool',
    objects: [
      daemonSet('kube-proxy-pool-v1.34.2', 'europe-docker.pkg.dev/x/kube-proxy:v1.34.2', {
        container: 'kube-proxy',
        nodeSelector: { pool: 'p' },
      }),
      daemonSet('kube-proxy-old-v1.30.9', 'x/kube-proxy:v1.30.9', {
        container: 'kube-proxy',
        nodeSelector: { pool: 'q' },
      }),
    ],
    node: here({ pool: 'p' }),
    want: ['kube-proxy', '1.34.2', 'seen', 'zone-and-node'],
  },
  {
    name: 'a Pod that is older than its DaemonSet',
    objects: [
      kubeProxy('v1.34.2'),
      agentPod('kube-proxy-x', 'n', 'registry.k8s.io/kube-proxy:v1.30.9', {
        ...PROXY,
        owner: 'kube-proxy',
        container: 'kube-proxy',
      }),
    ],
    want: ['kube-proxy', '1.30.9', 'seen', 'zone'],
  },
  {
    name: 'a tag that names no version',
    objects: [kubeProxy('latest')],
    want: ['kube-proxy', null, 'assumed', 'zone-and-node'],
    why: /the kubelet's \(1\.34\) is assumed/,
  },
  {
    name: 'gates in the configuration file',
    objects: [
      daemonSet('kube-proxy', 'x/kube-proxy:v1.31.2', { ...PROXY, args: ['--config=/var/lib/kube-proxy/config.conf'] }),
      configMap('kube-proxy', {
        'config.conf':
          'kind: KubeProxyConfiguration\nfeatureGates:\n  TopologyAwareHints: false\n  ServiceTrafficDistribution: false\nmode: ipvs\n',
      }),
    ],
    want: ['kube-proxy', '1.31.2', 'seen', 'none'],
    evidence: /ConfigMap kube-system\/kube-proxy featureGates\.TopologyAwareHints/,
  },
  {
    name: 'gates in a ConfigMap of another name, which it mounts, beside one of the usual name',
    objects: [
      daemonSet('kube-proxy', 'x/kube-proxy:v1.31.2', {
        ...PROXY,
        args: ['--config=/var/lib/kube-proxy/config.conf'],
        configMap: 'kube-proxy-no-hints',
      }),
      configMap('kube-proxy', { 'config.conf': 'kind: KubeProxyConfiguration\nmode: ipvs\n' }),
      configMap('kube-proxy-no-hints', {
        'config.conf': 'featureGates:\n  TopologyAwareHints: false\n  ServiceTrafficDistribution: false\n',
      }),
    ],
    want: ['kube-proxy', '1.31.2', 'seen', 'none'],
    evidence: /ConfigMap kube-system\/kube-proxy-no-hints featureGates\.TopologyAwareHints/,
  },
  {
    name: 'a configuration file that was not seen, before 1.33',
    objects: [daemonSet('kube-proxy', 'x/kube-proxy:v1.31.2', { ...PROXY, args: ['--config=/c'] })],
    want: ['kube-proxy', undefined, 'assumed', 'zone'],
    why: /its ConfigMap is not among these objects/,
  },
  {
    name: 'gates on the command line of a shell',
    objects: [
      daemonSet('kube-proxy', 'x/kube-proxy:v1.28.2', {
        ...PROXY,
        args: ['/bin/sh', '-c', 'exec kube-proxy --feature-gates=TopologyAwareHints=false --v=2'],
      }),
    ],
    want: ['kube-proxy', undefined, 'seen', 'none'],
    evidence: /--feature-gates/,
  },
  {
    name: 'a Node that its DaemonSet does not select',
    objects: [
      daemonSet('kube-proxy', 'x/kube-proxy:v1.34.1', {
        ...PROXY,
        affinity: [{ key: AUTO, operator: 'NotIn', values: ['auto'] }],
      }),
    ],
    node: here({ [AUTO]: 'auto' }),
    want: ['kube-proxy', null, 'seen', 'zone-and-node'],
    evidence: /compute-type/,
  },
  {
    name: 'a Node without the Pod that others have',
    objects: [
      kubeProxy('v1.34.2'),
      agentPod('kube-proxy-x', 'other', 'x/kube-proxy:v1.34.2', {
        ...PROXY,
        owner: 'kube-proxy',
        container: 'kube-proxy',
      }),
    ],
    want: ['kube-proxy', undefined, 'assumed', 'zone-and-node'],
    why: /has Pods on other Nodes but not here/,
  },
  {
    name: 'nothing that says',
    objects: [],
    want: ['kube-proxy', null, 'assumed', 'zone-and-node'],
    why: /nothing in these objects shows another one; add the DaemonSets/,
  },
  {
    name: 'k3s',
    objects: [],
    node: here({}, 'v1.33.4+k3s1'),
    want: ['kube-proxy', undefined, 'seen', 'zone'],
    evidence: /kubeletVersion/,
  },
  {
    name: 'k3s with kube-proxy switched off',
    objects: [],
    node: here({}, 'v1.33.4+k3s1', { 'k3s.io/node-args': '["server","--disable-kube-proxy"]' }),
    want: ['unknown', undefined, 'unknown', 'unknown'],
    why: /switched off/,
  },
  {
    name: 'EKS Auto Mode',
    objects: [],
    node: here({ [AUTO]: 'auto' }),
    want: ['kube-proxy', undefined, 'seen', 'zone-and-node'],
    evidence: /compute-type/,
  },
  {
    name: 'Fargate',
    objects: [],
    node: here({ [AUTO]: 'fargate' }),
    want: ['kube-proxy', undefined, 'assumed', 'zone-and-node'],
    why: /Fargate/,
  },
  {
    name: 'a virtual kubelet',
    objects: [kubeProxy('v1.34.2')],
    node: here({ type: 'virtual-kubelet' }),
    want: ['unknown', undefined, 'unknown', 'unknown'],
  },
  {
    name: 'Windows',
    objects: [
      daemonSet('kube-proxy', 'x/kube-proxy:v1.34.2', { ...PROXY, nodeSelector: { 'kubernetes.io/os': 'linux' } }),
    ],
    node: here({ 'kubernetes.io/os': 'windows' }),
    want: ['kube-proxy-windows', undefined, 'seen', 'none'],
  },
];

describe('which kube-proxy routes on a Node', () => {
  checkRouters(CASES);

  it('is one answer for all Nodes of a DaemonSet with the same kubelet, and another for another kubelet', () => {
    const collector = createCollector();
    const nodes = ['v1.33.4', 'v1.33.4', 'v1.34.2'].map((kubeletVersion, index) =>
      node({ zone: 'a', kubeletVersion, metadata: { name: `n${index}` } }),
    );
    for (const object of [...nodes, kubeProxy('v1.33.4')]) collector.add(object);
    const routers = routersOf(collector.snapshot(new Map()));
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
