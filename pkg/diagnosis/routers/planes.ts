// The data planes as a table: by what each is recognised, by which settings it routes and follows hints, and what each
// version does. A row without a version that was read is `assumed`, with the reason.
import { BOTH_ANNOTATIONS, type HintRule, OLDER_ANNOTATION, type Release } from '../../upstream/proxy/hint-rule.ts';
import type { RouterName, RouterObject } from './types.ts';

/** Where the value of a setting stands; the first place that has it counts. */
export type Place =
  | { readonly from: 'arg'; readonly key: string }
  | { readonly from: 'env'; readonly key: string }
  | { readonly from: 'object'; readonly kind: string; readonly name: RegExp; readonly key: string };

export interface Setting {
  readonly places: readonly Place[];
  /** Its value where none of the places has it; undefined: not documented. */
  readonly absent?: string;
}

/** A setting with one of these values. */
export interface Requirement {
  readonly setting: string;
  readonly is: readonly string[];
}

export interface VersionRule {
  readonly since: Release;
  readonly rule: HintRule | 'cilium';
  /** It holds only with this setting. */
  readonly when?: Requirement;
  /** Why it is not more than assumed. */
  readonly assumed?: string;
}

export interface DataPlane {
  readonly name: RouterName;
  readonly title: string;
  /** Its agent: name of the DaemonSet, label or container. */
  readonly agent: {
    readonly names?: RegExp;
    readonly labels?: readonly (readonly [key: string, value: string])[];
    readonly containers?: readonly string[];
  };
  /** An object of the whole cluster that shows it as well. */
  readonly shown?: { readonly kind: string; readonly key: string; readonly value: string };
  readonly settings: Readonly<Record<string, Setting>>;
  /** All of them make it load-balance what Pods send to cluster IPs. */
  readonly routes: readonly Requirement[];
  /** All of them make it follow hints. */
  readonly follows: readonly Requirement[];
  /** What is to be known of other clients. */
  readonly note?: { readonly when: Requirement; readonly text: string };
  /** Newest first. Older versions ignore hints. */
  readonly versions: readonly VersionRule[];
  readonly source: string;
}

const annotated = (annotations: readonly string[]): HintRule => ({
  optIn: { annotations, annotationValue: 'auto', distributions: [] },
});
/** Calico's kube-proxy writes ready endpoints only, after it filtered ready ones and those that terminate. */
const CALICO: HintRule = { counts: ['terminating', 'stopped'], readyOnly: true };
const EACH = { ...CALICO, partial: 'each' } as const;

const ciliumConfig = (key: string): Place => ({ from: 'object', kind: 'ConfigMap', name: /^cilium-config$/, key });
const antreaConfig = (key: string): Place => ({ from: 'object', kind: 'ConfigMap', name: /^antrea-config/, key });

const CILIUM_SETTINGS: DataPlane['settings'] = {
  replacement: {
    places: [
      { from: 'object', kind: 'CiliumNodeConfig', name: /./, key: 'kube-proxy-replacement' },
      { from: 'arg', key: 'kube-proxy-replacement' },
      ciliumConfig('kube-proxy-replacement'),
    ],
    absent: 'false',
  },
  topology: {
    places: [
      { from: 'object', kind: 'CiliumNodeConfig', name: /./, key: 'enable-service-topology' },
      { from: 'arg', key: 'enable-service-topology' },
      ciliumConfig('enable-service-topology'),
    ],
    absent: 'false',
  },
};

const CILIUM_BESIDE = {
  when: { setting: 'replacement', is: ['false', 'disabled', 'partial', 'probe'] },
  text: 'beside kube-proxy: Cilium routes what Pods send to cluster IPs, kube-proxy the host network and node ports',
} as const;

const ANY_VERSION: Release = [0, 0, 0];

/** Who routes where more than one agent runs on a Node: the first. */
export const PLANES: readonly DataPlane[] = [
  {
    name: 'gke-dataplane-v2',
    title: 'GKE Dataplane V2',
    agent: { names: /^anetd/ },
    settings: { topology: { places: [ciliumConfig('enable-service-topology')] } },
    routes: [],
    follows: [{ setting: 'topology', is: ['true'] }],
    versions: [
      {
        since: ANY_VERSION,
        rule: 'cilium',
        assumed: 'GKE documents neither hints nor the flag for Dataplane V2, and its Cilium is a build of its own',
      },
    ],
    source: 'GKE documentation "Dataplane V2" (silent on hints)',
  },
  {
    name: 'cilium',
    title: 'Cilium',
    agent: { names: /^(?:cilium|terway-eniip)$/, labels: [['k8s-app', 'cilium']], containers: ['cilium-agent'] },
    settings: CILIUM_SETTINGS,
    routes: [],
    follows: [{ setting: 'topology', is: ['true'] }],
    note: CILIUM_BESIDE,
    versions: [{ since: ANY_VERSION, rule: 'cilium' }],
    source:
      'cilium/cilium pkg/loadbalancer/writer/writer.go, pkg/k8s/service_cache.go; cilium#31948, #41116, #42708, #44771, #47054',
  },
  {
    name: 'calico-ebpf',
    title: 'Calico eBPF',
    agent: { names: /^calico-node/, labels: [['k8s-app', 'calico-node']], containers: ['calico-node'] },
    settings: {
      bpf: {
        places: [
          { from: 'object', kind: 'FelixConfiguration', name: /^default$/, key: 'spec.bpfEnabled' },
          { from: 'env', key: 'FELIX_BPFENABLED' },
          { from: 'object', kind: 'Installation', name: /./, key: 'spec.calicoNetwork.linuxDataplane' },
        ],
        absent: 'false',
      },
    },
    routes: [{ setting: 'bpf', is: ['true', 'BPF'] }],
    follows: [],
    versions: [
      {
        since: [3, 31, 5],
        rule: {
          ...CALICO,
          optIn: 'hints',
          sameNode: 'hints',
          partial: 'skip',
          whenAuto: { ...CALICO, optIn: 'hints' },
        },
      },
      { since: [3, 31, 0], rule: CALICO },
      { since: [3, 27, 0], rule: { ...EACH, ...annotated(BOTH_ANNOTATIONS) } },
      { since: [3, 26, 0], rule: { ...EACH, ...annotated(OLDER_ANNOTATION) } },
    ],
    source: 'projectcalico/calico felix/bpf/proxy/topology.go, syncer.go by tag; calico#10430, #11751, #11859',
  },
  {
    name: 'ovn-kubernetes',
    title: 'OVN-Kubernetes',
    agent: { names: /^ovnkube-node/, labels: [['app', 'ovnkube-node']], containers: ['ovnkube-controller'] },
    shown: { kind: 'Network', key: 'spec.defaultNetwork.type', value: 'OVNKubernetes' },
    settings: {},
    routes: [],
    follows: [],
    versions: [{ since: ANY_VERSION, rule: {} }],
    source: 'ovn-kubernetes: no match for hints in the tree up to v1.3.0 and August 2026; #3165, #6888 (open)',
  },
  {
    name: 'kube-ovn',
    title: 'Kube-OVN',
    agent: { names: /^kube-ovn-cni$/, labels: [['app', 'kube-ovn-cni']] },
    settings: {
      lb: {
        places: [{ from: 'object', kind: 'Deployment', name: /^kube-ovn-controller$/, key: 'enable-lb' }],
        absent: 'true',
      },
    },
    routes: [{ setting: 'lb', is: ['true'] }],
    follows: [],
    versions: [
      {
        since: ANY_VERSION,
        rule: {},
        assumed: 'hints were merged in September 2026 (kube-ovn#7378) and no release with them has been examined',
      },
    ],
    source: 'kube-ovn#7364, #7378',
  },
  {
    name: 'antrea',
    title: 'AntreaProxy',
    agent: { names: /^antrea-agent/, labels: [['component', 'antrea-agent']], containers: ['antrea-agent'] },
    settings: {
      enabled: {
        places: [antreaConfig('antreaProxy.enable'), antreaConfig('featureGates.AntreaProxy')],
        absent: 'true',
      },
      all: { places: [antreaConfig('antreaProxy.proxyAll')], absent: 'false' },
      hints: { places: [antreaConfig('featureGates.TopologyAwareHints')], absent: 'default' },
      distribution: { places: [antreaConfig('featureGates.ServiceTrafficDistribution')], absent: 'default' },
      nodes: { places: [antreaConfig('featureGates.PreferSameTrafficDistribution')], absent: 'false' },
    },
    routes: [{ setting: 'enabled', is: ['true'] }],
    follows: [
      { setting: 'hints', is: ['true', 'default'] },
      { setting: 'distribution', is: ['true', 'default'] },
    ],
    note: {
      when: { setting: 'all', is: ['false'] },
      text: 'proxyAll is off: AntreaProxy routes what Pods send to cluster IPs, kube-proxy the host network and node ports',
    },
    versions: [
      {
        since: [2, 5, 0],
        when: { setting: 'nodes', is: ['true'] },
        rule: { optIn: 'hints', sameNode: 'hints' },
        assumed: 'its gate PreferSameTrafficDistribution is alpha, and no release was run with it',
      },
      { since: [2, 2, 0], rule: { optIn: 'hints' } },
      { since: [1, 13, 0], rule: annotated(BOTH_ANNOTATIONS) },
      { since: [1, 12, 0], rule: annotated(OLDER_ANNOTATION) },
    ],
    source: 'antrea-io/antrea docs/feature-gates.md, pkg/agent/proxy/topology.go',
  },
  {
    name: 'kube-router',
    title: 'kube-router',
    agent: { names: /^kube-router/, labels: [['k8s-app', 'kube-router']], containers: ['kube-router'] },
    settings: { proxy: { places: [{ from: 'arg', key: 'run-service-proxy' }], absent: 'true' } },
    routes: [{ setting: 'proxy', is: ['true'] }],
    follows: [],
    versions: [{ since: ANY_VERSION, rule: {} }],
    source: 'cloudnativelabs/kube-router pkg/controllers/proxy at v2.11.1; kube-router#1005 (open)',
  },
];

/** kube-proxy's own agent: kubeadm, EKS, AKS, Gardener (DaemonSets), GKE and RKE2 (static Pods). */
export const KUBE_PROXY_AGENT: DataPlane['agent'] = {
  names: /^kube-proxy/,
  labels: [
    ['k8s-app', 'kube-proxy'],
    ['component', 'kube-proxy'],
  ],
  containers: ['kube-proxy'],
};

/** Where its configuration file is, and what it is called where no Pod says which it mounts: kubeadm, EKS, Gardener. */
export const KUBE_PROXY_CONFIG = /^kube-proxy(?:-config.*)?$/;
/** What a DaemonSet for a pool of Nodes may call its own. */
export const KUBE_PROXY_CONFIGS = /^kube-proxy/;

export const KUBE_PROXY_SOURCE = 'kubernetes/kubernetes pkg/proxy/topology.go; KEP-2433, KEP-4444, KEP-3015';

/** Values of the labels by which Pods of all agents are found, by the label's key. */
export const AGENT_LABELS: ReadonlyMap<string, readonly string[]> = new Map(
  [
    ...Map.groupBy(
      [KUBE_PROXY_AGENT, ...PLANES.map(({ agent }) => agent)].flatMap(({ labels = [] }) => labels),
      ([key]) => key,
    ),
  ].map(([key, labels]) => [key, labels.map(([, value]) => value)]),
);

export const isAgent = ({ names, labels = [], containers = [] }: DataPlane['agent'], object: RouterObject): boolean =>
  (names?.test(object.name) ?? false) ||
  labels.some(([key, value]) => object.labels[key] === value) ||
  object.containers.some(({ name }) => containers.includes(name));
