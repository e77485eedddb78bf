// SPDX-License-Identifier: Apache-2.0
// Each data plane and each platform's kube-proxy: who routes, by which version, how sure that is, and what becomes of hints.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Node } from '../../../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../../../pkg/apis/meta.ts';
import { createCollector } from '../../../../pkg/diagnosis/project/collect.ts';
import { routersOf } from '../../../../pkg/diagnosis/routers/of-snapshot.ts';
import type {
  Behaviour,
  Certainty,
  RouterAnswer,
  RouterName,
  Stated,
} from '../../../../pkg/diagnosis/routers/types.ts';
import { routeFor } from '../../../../pkg/upstream/index.ts';
import { node, service, slice, endpoint } from '../../../fixtures/core.ts';
import { BPF, CALICO, CILIUM, agentPod, configMap, custom, daemonSet } from '../../../fixtures/data-planes.ts';

interface Case {
  readonly name: string;
  readonly objects: readonly KubernetesObject[];
  readonly node?: Node;
  readonly stated?: Stated;
  readonly router: RouterName;
  readonly version?: string | null;
  readonly certainty: Certainty;
  readonly hints: Behaviour['hints'];
  readonly evidence?: RegExp;
  readonly why?: RegExp;
  readonly notes?: RegExp;
}

const here = (
  labels: Record<string, string> = {},
  kubeletVersion = 'v1.34.2',
  annotations: Record<string, string> = {},
) => node({ zone: 'a', kubeletVersion, metadata: { name: 'n', labels, annotations } });

const answer = ({ objects, node: own = here(), stated }: Pick<Case, 'objects' | 'node' | 'stated'>): RouterAnswer => {
  const collector = createCollector();
  for (const object of [own, ...objects]) collector.add(object);
  return routersOf(collector.snapshot(new Map()), stated).of(own);
};

const PROXY = { labels: { 'k8s-app': 'kube-proxy' } };
const kubeProxy = (tag: string, image = 'registry.k8s.io/kube-proxy') =>
  daemonSet('kube-proxy', `${image}:${tag}`, PROXY);
const cilium = (tag: string, more = {}) => daemonSet('cilium', `quay.io/cilium/cilium:${tag}`, { ...CILIUM, ...more });
const TOPOLOGY = configMap('cilium-config', { 'kube-proxy-replacement': 'true', 'enable-service-topology': 'true' });
const calico = (tag: string) => daemonSet('calico-node', `docker.io/calico/node:${tag}`, CALICO);
const antrea = (tag: string) =>
  daemonSet('antrea-agent', `antrea/antrea-agent-ubuntu:${tag}`, { labels: { component: 'antrea-agent' } });
const ANTREA = (text: string) => configMap('antrea-config', { 'antrea-agent.conf': text });
const AUTO = 'eks.amazonaws.com/compute-type';

const CASES: readonly Case[] = [
  // kube-proxy by platform: its own version, suffix stripped.
  {
    name: 'kubeadm',
    objects: [kubeProxy('v1.33.4')],
    router: 'kube-proxy',
    version: '1.33.4',
    certainty: 'seen',
    hints: 'zone',
    evidence: /^DaemonSet kube-system\/kube-proxy containers\[kube-proxy\]\.image/,
    notes: /kube-proxy 1\.33, kubelet 1\.34/,
  },
  {
    name: 'EKS',
    objects: [kubeProxy('v1.29.0-minimal-eksbuild.2', '602.dkr.ecr.eu-west-1.amazonaws.com/eks/kube-proxy')],
    router: 'kube-proxy',
    version: '1.29.0',
    certainty: 'seen',
    hints: 'zone',
    notes: /more than Kubernetes supports/,
  },
  {
    name: 'AKS',
    objects: [
      daemonSet('kube-proxy', 'mcr.microsoft.com/oss/kubernetes/kube-proxy:v1.30.3-hotfix.20240901', {
        labels: { component: 'kube-proxy', tier: 'node' },
      }),
    ],
    router: 'kube-proxy',
    version: '1.30.3',
    certainty: 'seen',
    hints: 'zone',
  },
  {
    name: 'GKE, a static Pod',
    objects: [
      agentPod('kube-proxy-n', 'n', 'gke.gcr.io/kube-proxy-amd64:v1.31.5-gke.1023000', {
        labels: { component: 'kube-proxy' },
        container: 'kube-proxy',
      }),
    ],
    router: 'kube-proxy',
    version: '1.31.5',
    certainty: 'seen',
    hints: 'zone',
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
    router: 'kube-proxy',
    version: '1.30.4',
    certainty: 'seen',
    hints: 'zone',
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
    router: 'kube-proxy',
    version: '1.34.2',
    certainty: 'seen',
    hints: 'zone-and-node',
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
    router: 'kube-proxy',
    version: '1.30.9',
    certainty: 'seen',
    hints: 'zone',
  },
  {
    name: 'a tag that names no version',
    objects: [kubeProxy('latest')],
    router: 'kube-proxy',
    version: null,
    certainty: 'assumed',
    hints: 'zone-and-node',
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
    router: 'kube-proxy',
    version: '1.31.2',
    certainty: 'seen',
    hints: 'none',
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
    router: 'kube-proxy',
    version: '1.31.2',
    certainty: 'seen',
    hints: 'none',
    evidence: /ConfigMap kube-system\/kube-proxy-no-hints featureGates\.TopologyAwareHints/,
  },
  {
    name: 'a configuration file that was not seen, before 1.33',
    objects: [daemonSet('kube-proxy', 'x/kube-proxy:v1.31.2', { ...PROXY, args: ['--config=/c'] })],
    router: 'kube-proxy',
    certainty: 'assumed',
    hints: 'zone',
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
    router: 'kube-proxy',
    certainty: 'seen',
    hints: 'none',
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
    router: 'kube-proxy',
    version: null,
    certainty: 'seen',
    hints: 'zone-and-node',
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
    router: 'kube-proxy',
    certainty: 'assumed',
    hints: 'zone-and-node',
    why: /has Pods on other Nodes but not here/,
  },
  {
    name: 'nothing that says',
    objects: [],
    router: 'kube-proxy',
    version: null,
    certainty: 'assumed',
    hints: 'zone-and-node',
    why: /nothing in these objects shows another one; add the DaemonSets/,
  },
  {
    name: 'k3s',
    objects: [],
    node: here({}, 'v1.33.4+k3s1'),
    router: 'kube-proxy',
    certainty: 'seen',
    hints: 'zone',
    evidence: /kubeletVersion/,
  },
  {
    name: 'k3s with kube-proxy switched off',
    objects: [],
    node: here({}, 'v1.33.4+k3s1', { 'k3s.io/node-args': '["server","--disable-kube-proxy"]' }),
    router: 'unknown',
    certainty: 'unknown',
    hints: 'unknown',
    why: /switched off/,
  },
  {
    name: 'EKS Auto Mode',
    objects: [],
    node: here({ [AUTO]: 'auto' }),
    router: 'kube-proxy',
    certainty: 'seen',
    hints: 'zone-and-node',
    evidence: /compute-type/,
  },
  {
    name: 'Fargate',
    objects: [],
    node: here({ [AUTO]: 'fargate' }),
    router: 'kube-proxy',
    certainty: 'assumed',
    hints: 'zone-and-node',
    why: /Fargate/,
  },
  {
    name: 'a virtual kubelet',
    objects: [kubeProxy('v1.34.2')],
    node: here({ type: 'virtual-kubelet' }),
    router: 'unknown',
    certainty: 'unknown',
    hints: 'unknown',
  },
  {
    name: 'Windows',
    objects: [
      daemonSet('kube-proxy', 'x/kube-proxy:v1.34.2', { ...PROXY, nodeSelector: { 'kubernetes.io/os': 'linux' } }),
    ],
    node: here({ 'kubernetes.io/os': 'windows' }),
    router: 'kube-proxy-windows',
    certainty: 'seen',
    hints: 'none',
  },
  // Cilium.
  {
    name: 'Cilium with service topology',
    objects: [cilium('v1.20.1'), TOPOLOGY],
    router: 'cilium',
    version: '1.20.1',
    certainty: 'seen',
    hints: 'zone-and-node',
    evidence: /enable-service-topology=true/,
  },
  {
    name: 'Cilium without the key: off',
    objects: [cilium('v1.20.1'), configMap('cilium-config', { 'kube-proxy-replacement': 'true' })],
    router: 'cilium',
    certainty: 'seen',
    hints: 'none',
    evidence: /enable-service-topology=\(not set\)/,
  },
  {
    name: 'Cilium whose ConfigMap was not seen',
    objects: [cilium('v1.20.1')],
    router: 'cilium',
    certainty: 'assumed',
    hints: 'none',
    why: /cilium-config is not among these objects/,
  },
  {
    name: 'Cilium beside kube-proxy',
    objects: [
      cilium('v1.19.1'),
      kubeProxy('v1.34.2'),
      configMap('cilium-config', { 'kube-proxy-replacement': 'false' }),
    ],
    router: 'cilium',
    certainty: 'seen',
    hints: 'none',
    notes: /beside kube-proxy/,
  },
  {
    name: 'Cilium on a canary',
    objects: [cilium('v1.19.1', { nodeSelector: { canary: 'true' } }), kubeProxy('v1.34.2'), TOPOLOGY],
    router: 'kube-proxy',
    certainty: 'seen',
    hints: 'zone-and-node',
  },
  {
    name: 'a CiliumNodeConfig that overrides the ConfigMap',
    objects: [
      cilium('v1.19.1'),
      TOPOLOGY,
      custom('cilium.io/v2', 'CiliumNodeConfig', 'off', {
        nodeSelector: { matchLabels: { pool: 'p' } },
        defaults: { 'enable-service-topology': 'false' },
      }),
    ],
    node: here({ pool: 'p' }),
    router: 'cilium',
    certainty: 'seen',
    hints: 'none',
    evidence: /CiliumNodeConfig kube-system\/off/,
  },
  {
    name: 'a CiliumNodeConfig for other Nodes',
    objects: [
      cilium('v1.19.1'),
      TOPOLOGY,
      custom('cilium.io/v2', 'CiliumNodeConfig', 'off', {
        nodeSelector: { matchLabels: { pool: 'p' } },
        defaults: { 'enable-service-topology': 'false' },
      }),
    ],
    router: 'cilium',
    certainty: 'seen',
    hints: 'zone',
  },
  {
    name: 'Azure CNI by Cilium',
    objects: [
      cilium('v1.18.2'),
      configMap('cilium-config', { ipam: 'delegated-plugin', 'kube-proxy-replacement': 'true' }),
    ],
    router: 'cilium',
    certainty: 'seen',
    hints: 'none',
  },
  {
    name: 'Terway V2',
    objects: [
      daemonSet('terway-eniip', 'registry.aliyuncs.com/acs/terway:v1.18.1', {
        container: 'policy',
        args: ['cilium-agent', '--enable-service-topology=true'],
      }),
    ],
    router: 'cilium',
    certainty: 'seen',
    hints: 'zone',
  },
  {
    name: 'GKE Dataplane V2 without the flag',
    objects: [daemonSet('anetd', 'gke.gcr.io/cilium/cilium:v1.15.6-gke.25', CILIUM)],
    router: 'gke-dataplane-v2',
    certainty: 'unknown',
    hints: 'unknown',
  },
  {
    name: 'GKE Dataplane V2 with the flag',
    objects: [
      daemonSet('anetd', 'gke.gcr.io/cilium/cilium:v1.15.6-gke.25', CILIUM),
      configMap('cilium-config', { 'enable-service-topology': 'true' }),
    ],
    router: 'gke-dataplane-v2',
    certainty: 'assumed',
    hints: 'zone',
    why: /GKE documents neither/,
  },
  // Calico.
  {
    name: 'Calico eBPF 3.26',
    objects: [calico('v3.26.4'), BPF],
    router: 'calico-ebpf',
    version: '3.26.4',
    certainty: 'seen',
    hints: 'zone',
  },
  {
    name: 'Calico eBPF 3.31.4',
    objects: [calico('v3.31.4'), BPF],
    router: 'calico-ebpf',
    certainty: 'seen',
    hints: 'none',
  },
  {
    name: 'Calico eBPF 3.31.5',
    objects: [calico('v3.31.5'), BPF],
    router: 'calico-ebpf',
    certainty: 'seen',
    hints: 'zone-and-node',
  },
  {
    name: 'Calico eBPF by its operator',
    objects: [
      calico('v3.32.0'),
      custom('operator.tigera.io/v1', 'Installation', 'default', { calicoNetwork: { linuxDataplane: 'BPF' } }),
    ],
    router: 'calico-ebpf',
    certainty: 'seen',
    hints: 'zone-and-node',
  },
  {
    name: 'Calico eBPF by its environment',
    objects: [
      daemonSet('calico-node', 'docker.io/calico/node:v3.29.1', { ...CALICO, env: { FELIX_BPFENABLED: 'true' } }),
    ],
    router: 'calico-ebpf',
    certainty: 'seen',
    hints: 'zone',
    evidence: /FELIX_BPFENABLED/,
  },
  {
    name: 'Calico without eBPF',
    objects: [
      calico('v3.29.1'),
      kubeProxy('v1.34.2'),
      custom('crd.projectcalico.org/v1', 'FelixConfiguration', 'default', {}),
    ],
    router: 'kube-proxy',
    certainty: 'seen',
    hints: 'zone-and-node',
  },
  {
    name: 'Calico whose FelixConfiguration was not seen',
    objects: [calico('v3.29.1'), kubeProxy('v1.34.2')],
    router: 'kube-proxy',
    certainty: 'assumed',
    hints: 'zone-and-node',
    why: /Calico eBPF: FelixConfiguration default is not among/,
  },
  // The others.
  {
    name: 'OVN-Kubernetes',
    objects: [
      daemonSet('ovnkube-node', 'quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:00', {
        labels: { app: 'ovnkube-node' },
      }),
    ],
    router: 'ovn-kubernetes',
    version: null,
    certainty: 'seen',
    hints: 'none',
  },
  {
    name: 'OpenShift by its operator',
    objects: [custom('operator.openshift.io/v1', 'Network', 'cluster', { defaultNetwork: { type: 'OVNKubernetes' } })],
    router: 'ovn-kubernetes',
    certainty: 'seen',
    hints: 'none',
  },
  {
    name: 'Kube-OVN',
    objects: [daemonSet('kube-ovn-cni', 'kubeovn/kube-ovn:v1.14.0', { labels: { app: 'kube-ovn-cni' } })],
    router: 'kube-ovn',
    certainty: 'assumed',
    hints: 'none',
    why: /September 2026/,
  },
  {
    name: 'Antrea 2.3',
    objects: [antrea('v2.3.0'), ANTREA('antreaProxy:\n  proxyAll: true\n')],
    router: 'antrea',
    version: '2.3.0',
    certainty: 'seen',
    hints: 'zone',
  },
  {
    name: 'Antrea 1.11: off',
    objects: [antrea('v1.11.1'), ANTREA('# featureGates:\n')],
    router: 'antrea',
    certainty: 'seen',
    hints: 'none',
    notes: /proxyAll is off/,
  },
  {
    name: 'Antrea with the gate off',
    objects: [
      antrea('v2.3.0'),
      ANTREA('featureGates:\n  # AllAlpha: false\n  TopologyAwareHints: false\nantreaProxy:\n  proxyAll: true\n'),
    ],
    router: 'antrea',
    certainty: 'seen',
    hints: 'none',
  },
  {
    name: 'Antrea on Windows',
    objects: [
      daemonSet('antrea-agent-windows', 'antrea/antrea-windows:v2.3.0', {
        nodeSelector: { 'kubernetes.io/os': 'windows' },
        container: 'antrea-agent',
      }),
      ANTREA('antreaProxy:\n  proxyAll: true\n'),
    ],
    node: here({ 'kubernetes.io/os': 'windows' }),
    router: 'antrea',
    certainty: 'seen',
    hints: 'zone',
  },
  {
    name: 'kube-router as Service proxy',
    objects: [
      daemonSet('kube-router', 'cloudnativelabs/kube-router:v2.11.1', {
        labels: { 'k8s-app': 'kube-router' },
        args: ['--run-service-proxy=true'],
      }),
    ],
    router: 'kube-router',
    certainty: 'seen',
    hints: 'none',
  },
  {
    name: 'kube-router beside kube-proxy',
    objects: [
      daemonSet('kube-router', 'cloudnativelabs/kube-router:v2.11.1', { args: ['--run-service-proxy=false'] }),
      kubeProxy('v1.34.2'),
    ],
    router: 'kube-proxy',
    certainty: 'seen',
    hints: 'zone-and-node',
  },
  // What a person says counts more.
  {
    name: 'a flag',
    objects: [cilium('v1.18.0')],
    stated: { proxy: { kind: 'kube-proxy' } },
    router: 'kube-proxy',
    certainty: 'seen',
    hints: 'zone-and-node',
    evidence: /^flag --proxy/,
  },
  {
    name: "a flag of Cilium's, where it routes",
    objects: [cilium('v1.18.3')],
    stated: { cilium: { serviceTopology: true } },
    router: 'cilium',
    certainty: 'seen',
    hints: 'zone',
  },
];

const shown = ({ evidence }: RouterAnswer): string =>
  evidence.map(({ object, field, value }) => `${object} ${field}=${value}`).join('; ');

describe('who routes on a Node', () => {
  for (const { name, router, version, certainty, hints, evidence, why, notes, ...input } of CASES) {
    it(`${name}: ${router}, ${certainty}`, () => {
      const found = answer(input);
      expect([found.router, found.certainty, found.behaviour.hints], found.why).to.deep.equal([
        router,
        certainty,
        hints,
      ]);
      if (version !== undefined) expect(found.version).to.equal(version);
      if (evidence !== undefined) expect(shown(found)).to.match(evidence);
      if (notes !== undefined) expect(found.notes.join('; ')).to.match(notes);
      if (why !== undefined) expect(found.why).to.match(why);
      expect(found.certainty === 'seen', found.why).to.equal(found.why === '');
      expect(found.behaviour.source).to.match(/\S/);
      if (certainty === 'seen') expect(found.evidence, 'nothing is seen without evidence').not.to.deep.equal([]);
    });
  }

  it('is never read from nodeInfo.kubeProxyVersion', () => {
    const own = node({ zone: 'a', kubeletVersion: 'v1.34.2', metadata: { name: 'n' } });
    own.status!.nodeInfo!.kubeProxyVersion = 'v1.20.0';
    expect(answer({ objects: [], node: own }).routing.version).to.deep.equal({ major: 1, minor: 34 });
  });
});

type Effect = readonly [
  name: string,
  objects: readonly KubernetesObject[],
  asks: string,
  zones: string,
  reason: string,
];

/** Endpoints of `zones`, each hinted for its own zone; the client is in zone a. */
const EFFECTS: readonly Effect[] = [
  ['Cilium 1.20 reads PreferSameZone', [cilium('v1.20.1'), TOPOLOGY], 'PreferSameZone', 'ab', 'SameZoneHints'],
  ['Cilium 1.19 does not', [cilium('v1.19.4'), TOPOLOGY], 'PreferSameZone', 'ab', 'CiliumNotOptedIn'],
  ['Cilium 1.18 reads PreferClose', [cilium('v1.18.4'), TOPOLOGY], 'PreferClose', 'ab', 'SameZoneHints'],
  ['Cilium 1.17 needs hints alone', [cilium('v1.17.4'), TOPOLOGY], '', 'ab', 'SameZoneHints'],
  ['Cilium 1.15 needs the annotation', [cilium('v1.15.4'), TOPOLOGY], 'PreferClose', 'ab', 'CiliumNotOptedIn'],
  ['Cilium 1.15 reads the annotation', [cilium('v1.15.4'), TOPOLOGY], 'Auto', 'ab', 'SameZoneHints'],
  ['Cilium 1.18.0 refuses where none matches', [cilium('v1.18.0'), TOPOLOGY], 'PreferClose', 'bb', 'NoBackendForZone'],
  ['Cilium 1.18.1 uses all', [cilium('v1.18.1'), TOPOLOGY], 'PreferClose', 'bb', 'ZoneNotHinted'],
  ['Calico 3.29 without annotation', [calico('v3.29.1'), BPF], 'PreferClose', 'ab', 'RouterNotOptedIn'],
  ['Calico 3.29 with it', [calico('v3.29.1'), BPF], 'Auto', 'ab', 'SameZoneHints'],
  ['Calico 3.29 gives no backend where none matches', [calico('v3.29.1'), BPF], 'Auto', 'bb', 'NoBackendForZone'],
  ['Calico 3.31.5 uses all', [calico('v3.31.5'), BPF], 'PreferClose', 'bb', 'ZoneNotHinted'],
  ['Calico 3.31.5 follows hints alone', [calico('v3.31.5'), BPF], '', 'ab', 'SameZoneHints'],
  ['Calico 3.31.0 ignores them', [calico('v3.31.0'), BPF], 'Auto', 'ab', 'HintsIgnored'],
  ['Antrea 2.2 follows hints alone', [antrea('v2.2.0'), ANTREA('')], '', 'ab', 'SameZoneHints'],
  ['Antrea 2.1 needs the annotation', [antrea('v2.1.0'), ANTREA('')], 'PreferClose', 'ab', 'RouterNotOptedIn'],
  ['kube-proxy 1.30 needs the annotation', [kubeProxy('v1.30.1')], 'PreferClose', 'ab', 'ProxyNeedsAnnotation'],
  ['kube-proxy 1.31 does not', [kubeProxy('v1.31.1')], '', 'ab', 'SameZoneHints'],
];

describe('what becomes of hints', () => {
  for (const [name, objects, asks, zones, reason] of EFFECTS) {
    it(`${name}: ${reason}`, () => {
      const { proxy, version, gates = {} } = answer({ objects }).routing;
      const annotations = asks === 'Auto' ? { 'service.kubernetes.io/topology-mode': 'Auto' } : {};
      const field = asks.startsWith('Prefer') ? { trafficDistribution: asks } : {};
      const endpoints = Array.from(zones, (zone, index) =>
        endpoint({ zone, addresses: [`198.18.0.${index}`], hints: { forZones: [{ name: zone }] } }),
      );
      const own = service({ metadata: { annotations }, spec: field });
      const found = routeFor({ node: here(), service: own, slices: [slice({ endpoints })], version, gates }, proxy);
      expect(found.reason).to.equal(reason);
      const used = { SameZoneHints: 1, NoBackendForZone: 0 }[reason] ?? 2;
      expect(found.used).to.have.length(used);
    });
  }

  it("Cilium's zone routing is off while an endpoint without hint starts", () => {
    const { proxy, version } = answer({ objects: [cilium('v1.19.4'), TOPOLOGY] }).routing;
    const ready = ['a', 'b'].map((zone, index) =>
      endpoint({ zone, addresses: [`198.18.0.${index}`], hints: { forZones: [{ name: zone }] } }),
    );
    const starting = endpoint({ zone: 'a', addresses: ['198.18.0.9'], conditions: { ready: false, serving: false } });
    const own = service({ spec: { trafficDistribution: 'PreferClose' } });
    const slices = [slice({ endpoints: [...ready, starting] })];
    expect(routeFor({ node: here(), service: own, slices, version }, proxy).reason).to.equal('EndpointWithoutHint');
  });
});
