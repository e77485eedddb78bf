// Each data plane beside kube-proxy: who routes, by which version, how sure that is, and what becomes of hints.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { KubernetesObject } from '../../../../pkg/apis/meta.ts';
import { routeFor } from '../../../../pkg/upstream/index.ts';
import { service, slice, endpoint } from '../../../fixtures/core.ts';
import { BPF, CALICO, CILIUM, configMap, custom, daemonSet } from '../../../fixtures/data-planes.ts';

import { answer, antrea, ANTREA, calico, checkRouters, cilium, here, kubeProxy, TOPOLOGY } from './support.ts';
import type { Case } from './support.ts';

const CASES: readonly Case[] = [
  // Cilium.
  {
    name: 'Cilium with service topology',
    objects: [cilium('v1.20.1'), TOPOLOGY],
    want: ['cilium', '1.20.1', 'seen', 'zone-and-node'],
    evidence: /enable-service-topology=true/,
  },
  {
    name: 'Cilium without the key: off',
    objects: [cilium('v1.20.1'), configMap('cilium-config', { 'kube-proxy-replacement': 'true' })],
    want: ['cilium', undefined, 'seen', 'none'],
    evidence: /enable-service-topology=\(not set\)/,
  },
  {
    name: 'Cilium whose ConfigMap was not seen',
    objects: [cilium('v1.20.1')],
    want: ['cilium', undefined, 'assumed', 'none'],
    why: /cilium-config is not among these objects/,
  },
  {
    name: 'Cilium beside kube-proxy',
    objects: [
      cilium('v1.19.1'),
      kubeProxy('v1.34.2'),
      configMap('cilium-config', { 'kube-proxy-replacement': 'false' }),
    ],
    want: ['cilium', undefined, 'seen', 'none'],
    notes: /beside kube-proxy/,
  },
  {
    name: 'Cilium on a canary',
    objects: [cilium('v1.19.1', { nodeSelector: { canary: 'true' } }), kubeProxy('v1.34.2'), TOPOLOGY],
    want: ['kube-proxy', undefined, 'seen', 'zone-and-node'],
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
    want: ['cilium', undefined, 'seen', 'none'],
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
    want: ['cilium', undefined, 'seen', 'zone'],
  },
  {
    name: 'Azure CNI by Cilium',
    objects: [
      cilium('v1.18.2'),
      configMap('cilium-config', { ipam: 'delegated-plugin', 'kube-proxy-replacement': 'true' }),
    ],
    want: ['cilium', undefined, 'seen', 'none'],
  },
  {
    name: 'Terway V2',
    objects: [
      daemonSet('terway-eniip', 'registry.aliyuncs.com/acs/terway:v1.18.1', {
        container: 'policy',
        args: ['cilium-agent', '--enable-service-topology=true'],
      }),
    ],
    want: ['cilium', undefined, 'seen', 'zone'],
  },
  {
    name: 'GKE Dataplane V2 without the flag',
    objects: [daemonSet('anetd', 'gke.gcr.io/cilium/cilium:v1.15.6-gke.25', CILIUM)],
    want: ['gke-dataplane-v2', undefined, 'unknown', 'unknown'],
  },
  {
    name: 'GKE Dataplane V2 with the flag',
    objects: [
      daemonSet('anetd', 'gke.gcr.io/cilium/cilium:v1.15.6-gke.25', CILIUM),
      configMap('cilium-config', { 'enable-service-topology': 'true' }),
    ],
    want: ['gke-dataplane-v2', undefined, 'assumed', 'zone'],
    why: /GKE documents neither/,
  },
  // Calico.
  {
    name: 'Calico eBPF 3.26',
    objects: [calico('v3.26.4'), BPF],
    want: ['calico-ebpf', '3.26.4', 'seen', 'zone'],
  },
  {
    name: 'Calico eBPF 3.31.4',
    objects: [calico('v3.31.4'), BPF],
    want: ['calico-ebpf', undefined, 'seen', 'none'],
  },
  {
    name: 'Calico eBPF 3.31.5',
    objects: [calico('v3.31.5'), BPF],
    want: ['calico-ebpf', undefined, 'seen', 'zone-and-node'],
  },
  {
    name: 'Calico eBPF by its operator',
    objects: [
      calico('v3.32.0'),
      custom('operator.tigera.io/v1', 'Installation', 'default', { calicoNetwork: { linuxDataplane: 'BPF' } }),
    ],
    want: ['calico-ebpf', undefined, 'seen', 'zone-and-node'],
  },
  {
    name: 'Calico eBPF by its environment',
    objects: [
      daemonSet('calico-node', 'docker.io/calico/node:v3.29.1', { ...CALICO, env: { FELIX_BPFENABLED: 'true' } }),
    ],
    want: ['calico-ebpf', undefined, 'seen', 'zone'],
    evidence: /FELIX_BPFENABLED/,
  },
  {
    name: 'Calico without eBPF',
    objects: [
      calico('v3.29.1'),
      kubeProxy('v1.34.2'),
      custom('crd.projectcalico.org/v1', 'FelixConfiguration', 'default', {}),
    ],
    want: ['kube-proxy', undefined, 'seen', 'zone-and-node'],
  },
  {
    name: 'Calico whose FelixConfiguration was not seen',
    objects: [calico('v3.29.1'), kubeProxy('v1.34.2')],
    want: ['kube-proxy', undefined, 'assumed', 'zone-and-node'],
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
    want: ['ovn-kubernetes', null, 'seen', 'none'],
  },
  {
    name: 'OpenShift by its operator',
    objects: [custom('operator.openshift.io/v1', 'Network', 'cluster', { defaultNetwork: { type: 'OVNKubernetes' } })],
    want: ['ovn-kubernetes', undefined, 'seen', 'none'],
  },
  {
    name: 'Kube-OVN',
    objects: [daemonSet('kube-ovn-cni', 'kubeovn/kube-ovn:v1.14.0', { labels: { app: 'kube-ovn-cni' } })],
    want: ['kube-ovn', undefined, 'assumed', 'none'],
    why: /September 2026/,
  },
  {
    name: 'Antrea 2.3',
    objects: [antrea('v2.3.0'), ANTREA('antreaProxy:\n  proxyAll: true\n')],
    want: ['antrea', '2.3.0', 'seen', 'zone'],
  },
  {
    name: 'Antrea 1.11: off',
    objects: [antrea('v1.11.1'), ANTREA('# featureGates:\n')],
    want: ['antrea', undefined, 'seen', 'none'],
    notes: /proxyAll is off/,
  },
  {
    name: 'Antrea with the gate off',
    objects: [
      antrea('v2.3.0'),
      ANTREA('featureGates:\n  # AllAlpha: false\n  TopologyAwareHints: false\nantreaProxy:\n  proxyAll: true\n'),
    ],
    want: ['antrea', undefined, 'seen', 'none'],
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
    want: ['antrea', undefined, 'seen', 'zone'],
  },
  {
    name: 'kube-router as Service proxy',
    objects: [
      daemonSet('kube-router', 'cloudnativelabs/kube-router:v2.11.1', {
        labels: { 'k8s-app': 'kube-router' },
        args: ['--run-service-proxy=true'],
      }),
    ],
    want: ['kube-router', undefined, 'seen', 'none'],
  },
  {
    name: 'kube-router beside kube-proxy',
    objects: [
      daemonSet('kube-router', 'cloudnativelabs/kube-router:v2.11.1', { args: ['--run-service-proxy=false'] }),
      kubeProxy('v1.34.2'),
    ],
    want: ['kube-proxy', undefined, 'seen', 'zone-and-node'],
  },
  // What a person says counts more.
  {
    name: 'a flag',
    objects: [cilium('v1.18.0')],
    stated: { proxy: { kind: 'kube-proxy' } },
    want: ['kube-proxy', undefined, 'seen', 'zone-and-node'],
    evidence: /^flag --proxy/,
  },
  {
    name: "a flag of Cilium's, where it routes",
    objects: [cilium('v1.18.3')],
    stated: { cilium: { serviceTopology: true } },
    want: ['cilium', undefined, 'seen', 'zone'],
  },
];

describe('which data plane routes on a Node', () => checkRouters(CASES));

type Effect = readonly [
  name: string,
  objects: readonly KubernetesObject[],
  asks: string,
  zones: string,
  reason: string,
];

/** Endpoints of `zones`, each hinted for its own zone; the client is in zone a. By release: planes.test.ts. */
const EFFECTS: readonly Effect[] = [
  [
    'Cilium 1.19 does not read PreferSameZone',
    [cilium('v1.19.4'), TOPOLOGY],
    'PreferSameZone',
    'ab',
    'CiliumNotOptedIn',
  ],
  ['Cilium 1.18.0 refuses where none matches', [cilium('v1.18.0'), TOPOLOGY], 'PreferClose', 'bb', 'NoBackendForZone'],
  ['Calico 3.29 without annotation', [calico('v3.29.1'), BPF], 'PreferClose', 'ab', 'RouterNotOptedIn'],
  ['Calico 3.31.5 uses all', [calico('v3.31.5'), BPF], 'PreferClose', 'bb', 'ZoneNotHinted'],
  ['Calico 3.31.0 ignores them', [calico('v3.31.0'), BPF], 'Auto', 'ab', 'HintsIgnored'],
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
});
