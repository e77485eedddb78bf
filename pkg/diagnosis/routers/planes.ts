// The data planes as a table: by what each is recognised, by which settings it routes and follows hints, and what each
// version does. A row without a version that was read is `assumed`, with the reason.
import type { StringMap } from '../../apis/meta.ts';
import { CILIUM_RULES, OLDER_ANNOTATION, annotated, ciliumRule } from '../../upstream/proxy/hint-rule.ts';
import type { HintRule, Release } from '../../upstream/proxy/hint-rule.ts';

/** Where the value of a setting stands; the first place that has it counts. */
export type Place =
  | { readonly from: 'arg' | 'env'; readonly key: string }
  | {
      readonly from: 'object';
      readonly kind: string;
      readonly name: RegExp;
      readonly key: string;
      /** It changes single Nodes only: where it leaves the setting out, another object has the default. */
      readonly override?: true;
    };

export interface Setting {
  readonly places: readonly Place[];
  /** Its value where none of the places has it; undefined: not documented. */
  readonly absent?: string;
}

/** Settings, each with one of these values. */
export type Requirements = Readonly<Record<string, readonly string[]>>;

interface VersionRule {
  /** Older versions ignore hints; absent: it holds for every version. */
  readonly since?: Release;
  readonly rule: HintRule;
  /** It holds only with these settings. */
  readonly when?: Requirements;
  readonly assumed?: string;
}

export interface DataPlane<Name extends string = string> {
  readonly name: Name;
  readonly title: string;
  /** Its agent: name of the DaemonSet, label or container. */
  readonly agent: {
    readonly names?: RegExp;
    readonly labels?: readonly (readonly [key: string, value: string])[];
    readonly containers?: readonly string[];
  };
  /** An object of the whole cluster that shows it as well. */
  readonly shown?: { readonly kind: string; readonly key: string; readonly value: string };
  readonly settings?: Readonly<Record<string, Setting>>;
  /** What makes it load-balance what Pods send to cluster IPs; default: it always does. */
  readonly routes?: Requirements;
  /** What makes it follow hints, if its version does. */
  readonly follows?: Requirements;
  /** What is to be known of other clients. */
  readonly note?: { readonly when: Requirements; readonly text: string };
  /** What helps although it ignores hints. */
  readonly instead?: string;
  /** Kubelets beside which no release of it reads `internalTrafficPolicy`. */
  readonly blindWith?: RegExp;
  /** Newest first. */
  readonly versions: readonly VersionRule[];
  /** Routes are those of Cilium's own model, and what is stated of Cilium holds for it. */
  readonly cilium?: true;
  readonly source: string;
}

/** Calico's kube-proxy writes ready endpoints only, after it filtered ready ones and those that terminate. */
const CALICO: HintRule = { counts: ['terminating', 'stopped'], readyOnly: true };
const EACH = { ...CALICO, partial: 'each' } as const;
const HINTED = { ...CALICO, optIn: 'hints' } as const;

const ofObject = (kind: string, name: RegExp, key: string) => ({ from: 'object', kind, name, key }) as const;
const ciliumConfig = (key: string): Place => ofObject('ConfigMap', /^cilium-config$/, key);
const ciliumSetting = (key: string): Setting => ({
  places: [{ ...ofObject('CiliumNodeConfig', /./, key), override: true }, { from: 'arg', key }, ciliumConfig(key)],
  absent: 'false',
});
const antreaSetting = (absent: string, ...keys: readonly string[]): Setting => ({
  places: keys.map((key) => ofObject('ConfigMap', /^antrea-config/, key)),
  absent,
});

const ANTREA_ALPHA = {
  rule: annotated('auto', OLDER_ANNOTATION),
  assumed: 'its gate TopologyAwareHints is alpha before 1.12 (antrea pkg/features), and no such release was run',
};

const LEAVES = 'leaves Services to kube-proxy, which has to run.';
const ON_NODE = 'With a DaemonSet on every Node `internalTrafficPolicy: Local` keeps connections there, no fallback.';

const tableOf = <Name extends string>(rows: readonly DataPlane<Name>[]): readonly DataPlane<Name>[] => rows;

/** Who routes where more than one agent runs on a Node: the first. */
export const PLANES = tableOf([
  {
    name: 'unexamined',
    title: 'a data plane that was not examined',
    agent: {
      names: /^(sdn|aci-containers-(host|openvswitch)|calico-vpp-node|nsx-node-agent|everoute-agent|edgemesh-agent)$/,
    },
    shown: { kind: 'Network', key: 'spec.defaultNetwork.type', value: 'OpenShiftSDN' },
    // No object shows it.
    follows: { hints: ['true'] },
    versions: [{ rule: {}, assumed: 'its documentation may say whether this release follows hints; none was read' }],
    source:
      'openshift/sdn#426; noironetworks/aci-containers#832, #1308; Calico VPP, NSX, Everoute and EdgeMesh (kubeedge#6088): not read',
  },
  {
    name: 'gke-dataplane-v2',
    title: 'GKE Dataplane V2',
    agent: { names: /^anetd/ },
    settings: { topology: { places: [ciliumConfig('enable-service-topology')] } },
    follows: { topology: ['true'] },
    versions: CILIUM_RULES.map((release) => ({
      ...release,
      assumed: 'GKE documents neither hints nor the flag for Dataplane V2, and its Cilium is a build of its own',
    })),
    cilium: true,
    source: 'GKE documentation "Dataplane V2" (silent on hints)',
  },
  {
    name: 'cilium',
    title: 'Cilium',
    agent: { names: /^cilium$/, labels: [['k8s-app', 'cilium']], containers: ['cilium-agent'] },
    settings: {
      replacement: ciliumSetting('kube-proxy-replacement'),
      topology: ciliumSetting('enable-service-topology'),
    },
    follows: { topology: ['true'] },
    note: {
      when: { replacement: ['false', 'disabled', 'partial', 'probe'] },
      text: 'beside kube-proxy: Cilium routes what Pods send to cluster IPs, kube-proxy the host network and node ports',
    },
    versions: CILIUM_RULES,
    cilium: true,
    source:
      'cilium/cilium pkg/loadbalancer/writer/writer.go, pkg/k8s/service_cache.go; cilium#31948, #41116, #42708, #44771, #47054',
  },
  {
    name: 'terway',
    title: 'Terway (Cilium)',
    agent: { names: /^terway-eniip$/ },
    settings: { datapath: { places: [ofObject('ConfigMap', /^eni-config$/, 'eniip_virtual_type')], absent: 'veth' } },
    // In other modes Cilium does not run; in these with service topology.
    routes: { datapath: ['ipvlan', 'datapathv2'] },
    versions: [
      {
        rule: ciliumRule({ major: 1, minor: 18, patch: 7 }),
        assumed: 'its Cilium is a build of its own: 1.18.7 in the newest that was read, older in others',
      },
    ],
    source: 'AliyunContainerService/terway cmd/terway-cli/policy.go, deploy/images/policy/Dockerfile',
  },
  {
    name: 'calico-ebpf',
    title: 'Calico eBPF',
    agent: { names: /^calico-node/, labels: [['k8s-app', 'calico-node']], containers: ['calico-node'] },
    settings: {
      bpf: {
        places: [
          ofObject('FelixConfiguration', /^default$/, 'spec.bpfEnabled'),
          { from: 'env', key: 'FELIX_BPFENABLED' },
          ofObject('Installation', /./, 'spec.calicoNetwork.linuxDataplane'),
        ],
        absent: 'false',
      },
    },
    routes: { bpf: ['true', 'BPF'] },
    versions: [
      { since: [3, 31, 5], rule: { ...HINTED, sameNode: 'hints', partial: 'skip', whenAuto: HINTED } },
      { since: [3, 31, 0], rule: CALICO },
      { since: [3, 27, 0], rule: { ...EACH, ...annotated('auto') } },
      { since: [3, 26, 5], rule: { ...EACH, ...annotated('auto', OLDER_ANNOTATION) } },
      { since: [3, 26, 1], rule: { ...EACH, ...annotated('auto', OLDER_ANNOTATION), policyBlind: true } },
      { since: [3, 26, 0], rule: { ...EACH, ...annotated('auto', OLDER_ANNOTATION) } },
      { rule: { policyBlind: true } },
    ],
    source:
      'projectcalico/calico felix/bpf/proxy/topology.go, syncer.go by tag; calico#8255 (seen with 3.26.1), #8264, #10430, #11751, #11859',
  },
  {
    name: 'ovn-kubernetes',
    title: 'OVN-Kubernetes',
    agent: { names: /^ovnkube-node/, labels: [['app', 'ovnkube-node']], containers: ['ovnkube-controller'] },
    shown: { kind: 'Network', key: 'spec.defaultNetwork.type', value: 'OVNKubernetes' },
    note: { when: {}, text: 'of openshift-dns/dns-default Pods use the endpoint of their Node, the host network any' },
    instead: ON_NODE,
    // OpenShift before 4.11: ovn-kubernetes#2836, openshift-docs#46446.
    blindWith: /^v1\.(?:1?\d|2[0-3])\./,
    versions: [{ rule: { localDns: true } }],
    source:
      'ovn-kubernetes: no match for hints in the tree up to v1.3.0 and August 2026; #3165, #6888 (open); openshift/ovn-kubernetes lb_config.go ("OCP HACK"), #964',
  },
  {
    name: 'kube-ovn',
    title: 'Kube-OVN',
    agent: { names: /^kube-ovn-cni$/, labels: [['app', 'kube-ovn-cni']] },
    settings: { lb: { places: [ofObject('Deployment', /^kube-ovn-controller$/, 'enable-lb')], absent: 'true' } },
    routes: { lb: ['true'] },
    instead: `\`--enable-lb=false\` of kube-ovn-controller ${LEAVES}`,
    versions: [
      {
        rule: { policyBlind: true },
        assumed: 'hints were merged in September 2026 (kube-ovn#7378) and no release with them has been examined',
      },
    ],
    source: 'kube-ovn#7364, #7378 (merged in September 2026, in no release that was examined)',
  },
  {
    name: 'antrea',
    title: 'AntreaProxy',
    agent: { names: /^antrea-agent/, labels: [['component', 'antrea-agent']], containers: ['antrea-agent'] },
    settings: {
      enabled: antreaSetting('true', 'antreaProxy.enable', 'featureGates.AntreaProxy'),
      all: antreaSetting('false', 'antreaProxy.proxyAll'),
      hints: antreaSetting('default', 'featureGates.TopologyAwareHints'),
      distribution: antreaSetting('default', 'featureGates.ServiceTrafficDistribution'),
      nodes: antreaSetting('false', 'featureGates.PreferSameTrafficDistribution'),
      slices: antreaSetting('default', 'featureGates.EndpointSlice'),
    },
    routes: { enabled: ['true'] },
    follows: { hints: ['true', 'default'], distribution: ['true', 'default'], slices: ['true', 'default'] },
    note: {
      when: { all: ['false'] },
      text: 'proxyAll is off: AntreaProxy routes what Pods send to cluster IPs, kube-proxy the host network and node ports',
    },
    versions: [
      {
        since: [2, 5, 0],
        when: { nodes: ['true'] },
        rule: { optIn: 'hints', sameNode: 'hints' },
        assumed: 'its gate PreferSameTrafficDistribution is alpha, and no release was run with it',
      },
      { since: [2, 2, 0], rule: { optIn: 'hints' } },
      { since: [1, 13, 0], rule: annotated('auto') },
      { since: [1, 12, 0], rule: annotated('auto', OLDER_ANNOTATION) },
      { since: [1, 11, 0], when: { hints: ['true'] }, ...ANTREA_ALPHA },
      // Beta from 1.11 on (antrea-io/antrea#4634), and needed (#3515).
      { since: [1, 8, 0], when: { hints: ['true'], slices: ['true'] }, ...ANTREA_ALPHA },
      { since: [1, 7, 0], rule: {} }, // antrea-io/antrea#2792
      { rule: { policyBlind: true } },
    ],
    source: 'antrea-io/antrea docs/feature-gates.md, pkg/agent/proxy/topology.go',
  },
  {
    name: 'kube-router',
    title: 'kube-router',
    agent: { names: /^kube-router/, labels: [['k8s-app', 'kube-router']], containers: ['kube-router'] },
    settings: { proxy: { places: [{ from: 'arg', key: 'run-service-proxy' }], absent: 'true' } },
    routes: { proxy: ['true'] },
    instead: `\`--run-service-proxy=false\` of its DaemonSet ${LEAVES} ${ON_NODE}`,
    versions: [{ since: [2, 1, 0], rule: {} }, { rule: { policyBlind: 'external' } }],
    source: 'cloudnativelabs/kube-router pkg/controllers/proxy at v2.11.1; kube-router#818, #1005 (open), #1598, #1774',
  },
]);

export type PlaneName = (typeof PLANES)[number]['name'];

/** Names of the flags that hold settings of these. */
export const PLANE_FLAGS: readonly string[] = PLANES.flatMap(({ settings = {} }) =>
  Object.values(settings).flatMap(({ places }) => places.flatMap(({ from, key }) => (from === 'arg' ? key : []))),
);

/** kube-proxy's own agent: kubeadm, EKS, AKS, Gardener (DaemonSets), GKE and RKE2 (static Pods). */
export const KUBE_PROXY_AGENT: DataPlane['agent'] = {
  names: /^kube-proxy/,
  labels: [
    ['k8s-app', 'kube-proxy'],
    ['component', 'kube-proxy'],
  ],
  containers: ['kube-proxy'],
};

const AGENTS = [KUBE_PROXY_AGENT, ...PLANES.map(({ agent }) => agent)];
const LABELS = AGENTS.flatMap(({ labels = [] }) => labels);

/** Values of the labels by which Pods of all agents are found, by the label's key. */
export const AGENT_LABELS: ReadonlyMap<string, readonly string[]> = new Map(
  LABELS.map(([key]) => [key, LABELS.filter(([own]) => own === key).map(([, value]) => value)]),
);

interface AgentObject {
  readonly name: string;
  readonly labels: StringMap;
  readonly containers: readonly { readonly name: string }[];
}

export const isAgent = ({ names, labels = [], containers = [] }: DataPlane['agent'], object: AgentObject): boolean =>
  (names?.test(object.name) ?? false) ||
  labels.some(([key, value]) => object.labels[key] === value) ||
  object.containers.some(({ name }) => containers.includes(name));

/** An agent of kube-proxy or of a data plane of the table. */
export const isAnyAgent = (object: AgentObject): boolean => AGENTS.some((agent) => isAgent(agent, object));
