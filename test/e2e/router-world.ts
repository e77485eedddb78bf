// A cluster whose kube-proxies are not alike, described in the real API server as clusters describe theirs: DaemonSets with their Pods
// and ConfigMap, and a static Pod. The bed runs the same proxies, so what objects say can be held against what connections do.
import type { Bed, BedNode } from './bed/index.ts';
import type { NodeOptions } from './bed/node.ts';

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

export interface ProxyNode {
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
export const PROXY_NODES: readonly ProxyNode[] = [
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
export const startMixedProxies = async (bed: Bed): Promise<ReadonlyMap<string, BedNode>> => {
  const nodes = new Map<string, BedNode>();
  for (const node of PROXY_NODES) nodes.set(node.name, await bed.node(optionsOf(node)));
  await describeFleet(bed);
  return nodes;
};
