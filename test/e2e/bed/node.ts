// A node: a network namespace with a real kube-proxy, and its Node object.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { UserOptions } from './access.ts';
import { type Agent, startAgent } from './agent-client.ts';
import type { Api } from './api.ts';
import type { Binaries, Program } from './binaries.ts';
import { type Component, createComponent } from './component.ts';
import { addressesOf, clusterRanges, createNamespace, joinNode, removeNamespace, waitFor } from './machine.ts';
import type { AddressPair } from './machine.ts';
import type { BedRecord } from './state.ts';

export interface BedContext {
  readonly record: BedRecord;
  /** Network namespace of the control plane. */
  readonly controlPlane: string;
  readonly api: Api;
  /** Writes the kubeconfig of a user and returns its path; the same user gets the same file. */
  readonly kubeconfig: (user: UserOptions) => Promise<string>;
  /** These binaries of any version, built where they are missing. */
  readonly binariesOf: (version: string, programs: readonly Program[]) => Promise<Binaries>;
  readonly defaultVersion: string;
}

/** Path of a log file of the bed. */
export const logOf = ({ record }: Pick<BedContext, 'record'>, name: string): string =>
  join(record.directory, 'logs', `${name}.log`);

export interface NodeOptions {
  /** Name of the Node, unique in its bed. */
  readonly name: string;
  /** Value of the label `topology.kubernetes.io/zone`. Default: no such label. */
  readonly zone?: string;
  /** Further labels. Default: none. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Allocatable CPU as a quantity; the EndpointSlice controller's `Auto` mode looks at it. Default 4. */
  readonly cpu?: string;
  /** Version of kube-proxy, a folder of hack/kubernetes. Default: the bed's version. */
  readonly proxyVersion?: string;
  /** How its kube-proxy writes rules. Default `nftables`; `iptables` needs that program. */
  readonly proxyMode?: 'nftables' | 'iptables';
  /** Version that the kubelet reports in the Node's status. Default: that of the kube-proxy folder, patch 0. */
  readonly kubeletVersion?: string;
  /** Least time between two writes of its kube-proxy's rules, for nftables. Default: kube-proxy's, a second. */
  readonly minSyncPeriod?: string;
  /** Feature gates of its kube-proxy. Default: none set. */
  readonly featureGates?: Readonly<Record<string, boolean>>;
}

/** A running node. */
export interface BedNode {
  readonly name: string;
  readonly zone: string | undefined;
  /** Its network namespace, for commands of a test. */
  readonly namespace: string;
  readonly addresses: AddressPair;
  /** Its kube-proxy, for faults. Started again, it may miss its zone: see `announceZone`. */
  readonly proxy: Component;
  /** What answers for Pods and connects for clients. */
  readonly agent: Agent;
  /** The next free addresses for a Pod on this node. */
  nextPodAddresses(): AddressPair;
  /** Sets the condition Ready as a kubelet would. */
  setReady(ready: boolean): Promise<void>;
  /** Removes the Node object, its programs and its namespace. Its Pods' objects stay, as in a cluster. */
  remove(): Promise<void>;
}

const readyCondition = (ready: boolean): object => ({
  type: 'Ready',
  status: ready ? 'True' : 'False',
  reason: ready ? 'KubeletReady' : 'KubeletNotReady',
  message: ready ? 'the bed says so' : 'switched off by a test',
  lastHeartbeatTime: new Date().toISOString(),
  lastTransitionTime: new Date().toISOString(),
});

const createNodeObject = async ({ api }: BedContext, options: NodeOptions, addresses: AddressPair): Promise<void> => {
  const { name, labels, cpu = '4', kubeletVersion } = options;
  await api.create('/api/v1/nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', ...labels } },
  });
  const resources = { cpu, memory: '8Gi', pods: '250' };
  await api.patch(`/api/v1/nodes/${name}/status`, {
    status: {
      conditions: [readyCondition(true)],
      addresses: [
        { type: 'InternalIP', address: addresses.ipv4 },
        { type: 'InternalIP', address: addresses.ipv6 },
        { type: 'Hostname', address: name },
      ],
      capacity: resources,
      allocatable: resources,
      nodeInfo: {
        kubeletVersion,
        kubeProxyVersion: kubeletVersion,
        operatingSystem: 'linux',
        architecture: 'amd64',
        osImage: 'bed',
        kernelVersion: '0',
        containerRuntimeVersion: 'bed://0',
        machineID: name,
        systemUUID: name,
        bootID: name,
      },
    },
  });
};

/** No flag sets it. With a file kube-proxy takes nothing from flags but the name of its Node. */
const configFile = ({ record }: BedContext, { name, minSyncPeriod }: NodeOptions, kubeconfig: string): string => {
  const file = join(record.directory, `kube-proxy-${name}.json`);
  const config = {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    clientConnection: { kubeconfig },
    mode: 'nftables',
    nftables: { minSyncPeriod, syncPeriod: '30s' },
    clusterCIDR: clusterRanges.join(','),
    conntrack: { maxPerCore: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
    healthzBindAddress: '127.0.0.1:10256',
  };
  writeFileSync(file, JSON.stringify(config));
  return file;
};

const createProxy = async (context: BedContext, options: NodeOptions, namespace: string): Promise<Component> => {
  const { name, proxyVersion = context.defaultVersion, proxyMode = 'nftables' } = options;
  const binaries = await context.binariesOf(proxyVersion, ['kube-proxy']);
  // Up to 1.30 the mode is behind a feature gate that is off.
  const isGated = proxyMode === 'nftables' && Number(proxyVersion.split('.')[1]) <= 30;
  const gates = Object.entries({ ...(isGated ? { NFTablesProxyMode: true } : {}), ...options.featureGates }).map(
    ([gate, on]) => `${gate}=${on}`,
  );
  const kubeconfig = await context.kubeconfig({ user: 'system:kube-proxy' });
  const configured = options.minSyncPeriod === undefined ? [] : [configFile(context, options, kubeconfig)];
  return createComponent({
    name: `kube-proxy on ${name}`,
    namespace,
    command: [
      binaries('kube-proxy'),
      ...configured.map((file) => `--config=${file}`),
      `--kubeconfig=${kubeconfig}`,
      `--hostname-override=${name}`,
      `--proxy-mode=${proxyMode}`,
      `--cluster-cidr=${clusterRanges.join(',')}`,
      // These settings belong to the whole machine, not to a namespace.
      '--conntrack-max-per-core=0',
      '--conntrack-tcp-timeout-established=0',
      '--conntrack-tcp-timeout-close-wait=0',
      '--healthz-bind-address=127.0.0.1:10256',
      ...(gates.length > 0 ? [`--feature-gates=${gates.join(',')}`] : []),
    ],
    logFile: logOf(context, `kube-proxy-${name}`),
    onStart: context.record.addProcess,
  });
};

/**
 * Gives the Node its zone, after its kube-proxy has begun to listen to changes of the Node. kube-proxy 1.34 to 1.36 registers
 * that listener in two steps; when the Node arrives between them, the proxy never learns its zone and ignores all hints
 * until the label changes (pkg/proxy/config, NodeTopologyConfig). A cloud sets this label late, too.
 */
const announceZone = async ({ api }: BedContext, name: string, zone: string, proxy: Component): Promise<void> => {
  await waitFor(
    `kube-proxy on ${name} follows its Node`,
    () => readFileSync(proxy.logFile, 'utf8'),
    (log) => log.includes('Starting node config controller'),
    { assert: () => proxy.assertRunning() },
  );
  await api.patch(`/api/v1/nodes/${name}`, { metadata: { labels: { 'topology.kubernetes.io/zone': zone } } });
};

/** Starts a node; `index` decides its addresses. Its kube-proxy follows Services shortly after. */
export const startNode = async (context: BedContext, index: number, options: NodeOptions): Promise<BedNode> => {
  const { record, api, controlPlane } = context;
  const { name, zone, proxyVersion = context.defaultVersion } = options;
  const namespace = `topology-${record.id}-${name}`;
  const addresses = addressesOf(index, 1);
  record.addNamespace(namespace);
  await createNamespace(namespace);
  await joinNode(controlPlane, namespace, index, addresses);
  await createNodeObject(context, { kubeletVersion: `v${proxyVersion}.0`, ...options }, addresses);

  const agent = startAgent({ namespace, logFile: logOf(context, `agent-${name}`), onStart: record.addProcess });
  const proxy = await createProxy(context, options, namespace);
  proxy.start();
  if (zone !== undefined) await announceZone(context, name, zone, proxy);

  let lastHost = 1;
  return {
    name,
    zone,
    namespace,
    addresses,
    proxy,
    agent,
    nextPodAddresses: () => addressesOf(index, ++lastHost),
    setReady: async (ready) =>
      void (await api.patch(`/api/v1/nodes/${name}/status`, { status: { conditions: [readyCondition(ready)] } })),
    async remove() {
      await api.delete(`/api/v1/nodes/${name}`);
      await Promise.all([proxy.stop(), agent.stop()]);
      await removeNamespace(namespace);
    },
  };
};
