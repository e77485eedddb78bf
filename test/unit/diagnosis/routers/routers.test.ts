// Each data plane beside kube-proxy: who routes, by which version, how sure that is, and what becomes of hints.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { KubernetesObject } from '../../../../pkg/apis/meta.ts';
import { PLANES } from '../../../../pkg/diagnosis/routers/planes.ts';
import { routeFor } from '../../../../pkg/upstream/index.ts';
import { endpoint, endpointsIn, service, slice } from '../../../fixtures/core.ts';
import { BPF, CALICO, CILIUM, configMap, custom, daemonSet } from '../../../fixtures/data-planes.ts';

import { answer, antrea, ANTREA, calico, checkRouters, cilium, here, kubeProxy, TOPOLOGY } from './support.ts';
import type { Case } from './support.ts';

const OFF_IN_POOL = custom('cilium.io/v2', 'CiliumNodeConfig', 'off', {
  nodeSelector: { matchLabels: { pool: 'p' } },
  defaults: { 'enable-service-topology': 'false' },
});

const TERWAY = daemonSet('terway-eniip', 'registry-cn-hangzhou-vpc.ack.aliyuncs.com/acs/terway:v1.14.1', {
  container: 'policy',
});

const inCilium = (data: Record<string, string>) => configMap('cilium-config', data);
const REPLACING = inCilium({ 'kube-proxy-replacement': 'true' });
const BESIDE = inCilium({ 'kube-proxy-replacement': 'false' });
const DELEGATED = inCilium({ ipam: 'delegated-plugin', 'kube-proxy-replacement': 'true' });
const CANARY = cilium('v1.19.1', { nodeSelector: { canary: 'true' } });
const inTerway = (more: string) => configMap('eni-config', { '10-terway.conf': `{"type": "terway"${more}}` });
const GKE = daemonSet('anetd', 'gke.gcr.io/cilium/cilium:v1.15.6-gke.25', CILIUM);
const TIGERA = custom('operator.tigera.io/v1', 'Installation', 'default', { calicoNetwork: { linuxDataplane: 'BPF' } });
const FELIX = custom('crd.projectcalico.org/v1', 'FelixConfiguration', 'default', {});
const BY_ENV = daemonSet('calico-node', 'docker.io/calico/node:v3.29.1', {
  ...CALICO,
  env: { FELIX_BPFENABLED: 'true' },
});
const OVN = daemonSet('ovnkube-node', 'quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:00', {
  labels: { app: 'ovnkube-node' },
});
const OPENSHIFT = custom('operator.openshift.io/v1', 'Network', 'cluster', {
  defaultNetwork: { type: 'OVNKubernetes' },
});
const KUBE_OVN = daemonSet('kube-ovn-cni', 'kubeovn/kube-ovn:v1.14.0', { labels: { app: 'kube-ovn-cni' } });
const ALL = 'antreaProxy:\n  proxyAll: true\n';
const GATE_OFF = `featureGates:\n  # AllAlpha: false\n  TopologyAwareHints: false\n${ALL}`;
const WINDOWS = { 'kubernetes.io/os': 'windows' };
const ON_WINDOWS = daemonSet('antrea-agent-windows', 'antrea/antrea-windows:v2.3.0', {
  nodeSelector: WINDOWS,
  container: 'antrea-agent',
});
const kubeRouter = (proxy: boolean) =>
  daemonSet('kube-router', 'cloudnativelabs/kube-router:v2.11.1', {
    labels: { 'k8s-app': 'kube-router' },
    args: [`--run-service-proxy=${proxy}`],
  });
const PROXY_134 = kubeProxy('v1.34.2');
const BY_PROXY = 'kube-proxy * seen zone-and-node';

const CASES: readonly Case[] = [
  // Cilium.
  [
    'Cilium with service topology',
    'cilium 1.20.1 seen zone-and-node',
    [cilium('v1.20.1'), TOPOLOGY],
    { says: /enable-service-topology=true/ },
  ],
  [
    'Cilium without the key: off',
    'cilium * seen none',
    [cilium('v1.20.1'), REPLACING],
    { says: /enable-service-topology=\(not set\)/ },
  ],
  [
    'Cilium whose ConfigMap was not seen',
    'cilium * assumed none',
    [cilium('v1.20.1')],
    { says: /cilium-config is not among these objects/ },
  ],
  ['Cilium beside it', 'cilium * seen none', [cilium('v1.19.1'), PROXY_134, BESIDE], { says: /beside kube-proxy/ }],
  ['Cilium on a canary', BY_PROXY, [CANARY, PROXY_134, TOPOLOGY]],
  [
    'a CiliumNodeConfig that overrides the ConfigMap',
    'cilium * seen none',
    [cilium('v1.19.1'), TOPOLOGY, OFF_IN_POOL],
    { node: here({ pool: 'p' }), says: /CiliumNodeConfig kube-system\/off/ },
  ],
  ['a CiliumNodeConfig for other Nodes', 'cilium * seen zone', [cilium('v1.19.1'), TOPOLOGY, OFF_IN_POOL]],
  ['Azure CNI by Cilium', 'cilium * seen none', [cilium('v1.18.2'), DELEGATED]],
  [
    'Terway with DataPath V2',
    'terway 1.14.1 assumed zone',
    [TERWAY, inTerway(', "eniip_virtual_type": "DataPathV2"')],
    { says: /a build of its own/ },
  ],
  ['Terway without it', BY_PROXY, [TERWAY, inTerway(''), PROXY_134]],
  [
    'Terway whose ConfigMap was not seen',
    'kube-proxy * assumed zone-and-node',
    [TERWAY, PROXY_134],
    { says: /Terway \(Cilium\): ConfigMap eni-config is not among these objects/ },
  ],
  [
    'GKE Dataplane V2 without the flag',
    'gke-dataplane-v2 * unknown unknown',
    [GKE, inCilium({ ipam: 'kubernetes' })],
    { says: /ConfigMap cilium-config does not set enable-service-topology/ },
  ],
  [
    'GKE Dataplane V2 with the flag',
    'gke-dataplane-v2 * assumed zone',
    [GKE, inCilium({ 'enable-service-topology': 'true' })],
    { says: /GKE documents neither/ },
  ],
  // Calico.
  ['Calico eBPF 3.26', 'calico-ebpf 3.26.4 seen zone', [calico('v3.26.4'), BPF]],
  ['Calico eBPF 3.31.4', 'calico-ebpf * seen none', [calico('v3.31.4'), BPF]],
  ['Calico eBPF 3.31.5', 'calico-ebpf * seen zone-and-node', [calico('v3.31.5'), BPF]],
  ['Calico eBPF by its operator', 'calico-ebpf * seen zone-and-node', [calico('v3.32.0'), TIGERA]],
  ['Calico eBPF by its environment', 'calico-ebpf * seen zone', [BY_ENV], { says: /FELIX_BPFENABLED/ }],
  ['Calico without eBPF', BY_PROXY, [calico('v3.29.1'), PROXY_134, FELIX]],
  [
    'Calico whose FelixConfiguration was not seen',
    'kube-proxy * assumed zone-and-node',
    [calico('v3.29.1'), PROXY_134],
    { says: /Calico eBPF: FelixConfiguration default is not among/ },
  ],
  // The others.
  ['OVN-Kubernetes', 'ovn-kubernetes - seen none', [OVN]],
  ['OpenShift by its operator', 'ovn-kubernetes * seen none', [OPENSHIFT]],
  [
    'OpenShift SDN',
    'unexamined * unknown unknown',
    [daemonSet('sdn', 'quay.io/openshift/sdn@sha256:aa')],
    { says: /its documentation may say/ },
  ],
  ['Kube-OVN', 'kube-ovn * assumed none', [KUBE_OVN], { says: /September 2026/ }],
  ['Antrea 2.3', 'antrea 2.3.0 seen zone', [antrea('v2.3.0'), ANTREA(ALL)]],
  ['Antrea 1.11', 'antrea * seen none', [antrea('v1.11.1'), ANTREA('# featureGates:\n')], { says: /proxyAll is off/ }],
  [
    'Antrea 1.11 with the gate on',
    'antrea 1.11.1 assumed zone',
    [antrea('v1.11.1'), ANTREA('featureGates:\n  TopologyAwareHints: true\n')],
    { says: /alpha before 1\.12/ },
  ],
  ['Antrea with the gate off', 'antrea * seen none', [antrea('v2.3.0'), ANTREA(GATE_OFF)]],
  ['Antrea on Windows', 'antrea * seen zone', [ON_WINDOWS, ANTREA(ALL)], { node: here(WINDOWS) }],
  ['kube-router as Service proxy', 'kube-router * seen none', [kubeRouter(true)]],
  ['kube-router beside kube-proxy', BY_PROXY, [kubeRouter(false), PROXY_134]],
  // What a person says counts more.
  ['a flag', BY_PROXY, [cilium('v1.18.0')], { stated: { proxy: { kind: 'kube-proxy' } }, says: /^flag --proxy/ }],
  [
    "a flag of Cilium's, where it routes",
    'cilium * seen zone',
    [cilium('v1.18.3')],
    { stated: { cilium: { serviceTopology: true } } },
  ],
];

describe('which data plane routes on a Node', () => {
  checkRouters(CASES);

  it('is shown for each of the table', () => {
    const missing = PLANES.filter(({ name }) => !CASES.some(([, seen]) => seen.startsWith(`${name} `)));
    expect(
      missing.map(({ name }) => name),
      'data planes of planes.ts that need a row of CASES',
    ).to.be.empty;
  });
});

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
  ['kube-proxy 1.21.0 never learns its zone', [kubeProxy('v1.21.0')], 'Auto', 'ab', 'HintsIgnored'],
];

describe('what becomes of hints', () => {
  for (const [name, objects, asks, zones, reason] of EFFECTS) {
    it(`${name}: ${reason}`, () => {
      const { proxy, version, gates = {} } = answer({ objects }).routing;
      const annotations = asks === 'Auto' ? { 'service.kubernetes.io/topology-mode': 'Auto' } : {};
      const field = asks.startsWith('Prefer') ? { trafficDistribution: asks } : {};
      const endpoints = endpointsIn(zones, true);
      const own = service({ metadata: { annotations }, spec: field });
      const found = routeFor({ node: here(), service: own, slices: [slice({ endpoints })], version, gates }, proxy);
      expect(found.reason).to.equal(reason);
      const used = { SameZoneHints: 1, NoBackendForZone: 0 }[reason] ?? 2;
      expect(found.used).to.have.length(used);
    });
  }

  // openshift/ovn-kubernetes lb_config.go, "OCP HACK".
  for (const [nodeName, used] of [
    ['n', 1],
    ['other', 2],
  ] as const) {
    it(`OVN-Kubernetes and the DNS of OpenShift, one of two endpoints on Node ${nodeName}: uses ${used}`, () => {
      const objects = [daemonSet('ovnkube-node', 'ovn:v1', { labels: { app: 'ovnkube-node' } })];
      const { proxy, ...routing } = answer({ objects }).routing;
      const endpoints = [nodeName, ''].map((name, index) =>
        endpoint({ zone: 'a', addresses: [`198.18.0.${index}`], nodeName: name }),
      );
      const dns = service({ metadata: { namespace: 'openshift-dns', name: 'dns-default' } });
      const found = routeFor({ node: here(), service: dns, slices: [slice({ endpoints })], ...routing }, proxy);
      expect(found.used).to.have.length(used);
      expect(found.mode).to.equal('');
    });
  }
});
