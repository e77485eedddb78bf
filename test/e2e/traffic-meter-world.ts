// Meters on the nodes of a bed, servers that answer with any number of bytes, and the kernel's own counters to hold them against.
import { fileURLToPath } from 'node:url';
import { METER_AUDIENCE, METER_NAMESPACE, METER_READER, TRAFFIC_METER } from '../../pkg/apis/names.ts';
import { grant, mastersGroup } from './bed/access.ts';
import type { Component } from './bed/component.ts';
import type { Bed, BedNode, BedPod } from './bed/index.ts';
import { enterPrefix, is, run, waitFor } from './bed/machine.ts';
import type { NodeOptions } from './bed/node.ts';
import { runningStatus } from './bed/pod.ts';

const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const load = source('./traffic-load.ts');

/** Port of the metrics of every meter: each node has its own namespace. */
export const metricsPort = 9_200;
const healthPort = 9_201;

/** Runs a command in the node's network namespace. */
export const inside = ({ namespace }: Pick<BedNode, 'namespace'>, ...command: string[]): Promise<string> => {
  const [enter, ...words] = enterPrefix(namespace);
  return run(enter, [...words, ...command]);
};

/** The interface of NodeLocal DNSCache with the DNS Service's address, never up, as the cache makes it. (A veth: not every kernel has dummies.) */
export const addLocalDns = async (node: Pick<BedNode, 'namespace'>, address = ''): Promise<void> => {
  await inside(node, 'ip', 'link', 'add', 'nodelocaldns', 'type', 'veth', 'peer', 'name', 'nodelocalpeer');
  await inside(node, 'ip', 'addr', 'add', `${address}/32`, 'dev', 'nodelocaldns');
};

export interface Meter {
  readonly component: Component;
  /** Values of one metric by its labels as text, for example `service_name="web"`. */
  read(name: string): Promise<Sample[]>;
  ready(): Promise<void>;
}

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const samplesOf = (text: string, name: string): Sample[] =>
  text.split('\n').flatMap((line) => {
    const match = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (match?.[1] !== name) return [];
    const labels = Object.fromEntries(
      [...(match[2] ?? '').matchAll(/(\w+)="([^"]*)"/g)].map(([, key, value]) => [key, value]),
    ) as Record<string, string>;
    return [{ labels, value: Number(match[3]) }];
  });

/** Starts a meter on a node whose kernel counts bytes. */
export const startMeter = async (bed: Bed, node: BedNode, ...flags: string[]): Promise<Meter> => {
  const kubeconfig = await bed.kubeconfig({ user: `traffic-meter-${node.name}`, groups: [mastersGroup] });
  const component = bed.program({
    name: `traffic-meter on ${node.name}`,
    command: [
      ...enterPrefix(node.namespace),
      process.execPath,
      source('../../cmd/traffic-meter/main.ts'),
      `--node-name=${node.name}`,
      `--kubeconfig=${kubeconfig}`,
      `--metrics-port=${metricsPort}`,
      `--health-port=${healthPort}`,
      '--list-interval=5',
      ...flags,
    ],
  });
  const host = flags.find((flag) => flag.startsWith('--bind-address='))?.split('=')[1] ?? '127.0.0.1';
  const page = (port: number, path: string): Promise<string> =>
    inside(node, process.execPath, load, 'read', `http://${host}:${port}${path}`);
  const ready = async (): Promise<void> => {
    await waitFor(`${component.name} ready`, () => page(healthPort, '/readyz'), is('ok\n'), {
      assert: () => component.assertRunning(),
    });
  };
  component.start();
  await ready();
  return { component, ready, read: async (name) => samplesOf(await page(metricsPort, '/metrics'), name) };
};

/** A server on the addresses of a Pod, for requests that name the size of their answer. */
export const startServers = (bed: Bed, pod: BedPod): Component[] =>
  [pod.addresses.ipv4, pod.addresses.ipv6].map((address) => {
    const server = bed.program({
      name: `server ${address}`,
      command: [...enterPrefix(pod.node.namespace), process.execPath, load, 'serve', address, '8080'],
    });
    server.start();
    return server;
  });

interface Pulse {
  /** Address of one of the node's Pods. Default: the kernel chooses one of the node. */
  readonly from?: string;
  /** Connections. Default 3. */
  readonly perSecond?: number;
}

/** Opens connections evenly from a node to an address until it is stopped. */
export const startPulse = (
  bed: Bed,
  node: BedNode,
  address: string,
  port: number,
  { from = '0', perSecond = 3 }: Pulse = {},
): Component => {
  const client = bed.program({
    name: `client on ${node.name} of ${address}, ${perSecond} a second`,
    command: [
      ...enterPrefix(node.namespace),
      process.execPath,
      load,
      'pulse',
      address,
      String(port),
      from,
      String(perSecond),
    ],
  });
  client.start();
  return client;
};

export interface Load {
  readonly connections: number;
  /** Bytes that the client read. */
  readonly payload: number;
}

/**
 * Opens connections one after another from a node to an address, and reads all they send: answers of a size, or of mixed sizes.
 * `outside`: from where the suite runs, which is no Node.
 */
export const sendLoad = async (
  node: BedNode | 'outside',
  address: string,
  port: number,
  count: number,
  size = 0,
): Promise<Load> => {
  const words = [load, 'connect', address, ...[port, count, size].map(String)];
  const said = node === 'outside' ? run(process.execPath, words) : inside(node, process.execPath, ...words);
  return JSON.parse(await said) as Load;
};

/** Bytes with IP headers between a node and an endpoint, as its own firewall counts them. */
export interface KernelCounters {
  readonly request: number;
  readonly response: number;
}

const table = 'inet traffic-witness';

/** Counts on the node what goes to and comes from each of these endpoints. */
export const installCounters = async (node: BedNode, pods: readonly BedPod[]): Promise<void> => {
  const rules = pods.flatMap(({ name, node: { name: home }, addresses: { ipv4, ipv6 } }) =>
    Object.entries({ ip: ipv4, ip6: ipv6 }).flatMap(([family, address]) => [
      `add rule ${table} out ${family} daddr ${address} tcp dport 8080 counter comment "${name} request"`,
      `add rule ${table} ${home === node.name ? 'own' : 'in'} ${family} saddr ${address} tcp sport 8080 counter comment "${name} response"`,
    ]),
  );
  const script = [
    `add table ${table}`,
    // After the address was translated, and before it is translated back.
    `add chain ${table} out { type filter hook postrouting priority 300; }`,
    // What an endpoint of the same node answers is translated back before it comes in.
    `add chain ${table} own { type filter hook output priority -300; }`,
    `add chain ${table} in { type filter hook prerouting priority -150; }`,
    ...rules,
  ].join('\n');
  await inside(node, 'nft', script);
};

interface NftRule {
  readonly rule?: {
    readonly comment?: string;
    readonly expr: readonly { readonly counter?: { readonly bytes: number; readonly packets: number } }[];
  };
}

/** Each counter of a table with the comment of its rule. */
const countersIn = async (node: BedNode, name: string) => {
  const { nftables } = JSON.parse(await inside(node, 'nft', '-j', 'list', 'table', ...name.split(' '))) as {
    nftables: NftRule[];
  };
  return nftables.flatMap(({ rule }) => {
    const counter = rule?.expr.find((part) => part.counter !== undefined)?.counter;
    return rule?.comment === undefined || counter === undefined ? [] : [{ comment: rule.comment, ...counter }];
  });
};

/** By name of the Pod, both families together. */
export const readCounters = async (node: BedNode): Promise<Map<string, KernelCounters>> => {
  const counters = new Map<string, KernelCounters>();
  for (const { comment, bytes } of await countersIn(node, table)) {
    const [pod = '', direction = ''] = comment.split(' ');
    const known = counters.get(pod) ?? { request: 0, response: 0 };
    counters.set(pod, { ...known, [direction]: known[direction as keyof KernelCounters] + bytes });
  }
  return counters;
};

const arrivals = 'inet traffic-arrivals';

/** Counts on the node of these Pods the connections that arrive at each. */
export const countArrivals = async (node: BedNode, pods: readonly BedPod[]): Promise<void> => {
  const rules = pods.map(
    ({ name, addresses: { ipv4 } }) =>
      `add rule ${arrivals} in ip daddr ${ipv4} tcp dport 8080 tcp flags & (syn | ack) == syn counter comment "${name}"`,
  );
  const chain = `add chain ${arrivals} in { type filter hook input priority 0; }`;
  await inside(node, 'nft', [`add table ${arrivals}`, chain, ...rules].join('\n'));
};

/** Connections so far, by name of the Pod. */
export const readArrivals = async (node: BedNode): Promise<Map<string, number>> =>
  new Map((await countersIn(node, arrivals)).map(({ comment, packets }) => [comment, packets]));

export const SECURE_PORT = 9_518;
const RBAC = '/apis/rbac.authorization.k8s.io/v1';

/** The account that may read meters, and the role of who may become it. */
export const createMeterAccount = async ({ api }: Bed): Promise<void> => {
  const metadata = { name: METER_READER, namespace: METER_NAMESPACE };
  await api.create('/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: METER_NAMESPACE, labels: { 'pod-security.kubernetes.io/enforce': 'privileged' } },
  });
  await api.create(`/api/v1/namespaces/${METER_NAMESPACE}/serviceaccounts`, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata,
  });
  const rules = [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }];
  await grant(api, { metadata: { name: METER_READER }, rules }, { kind: 'ServiceAccount', ...metadata });
  await api.create(`${RBAC}/namespaces/${METER_NAMESPACE}/roles`, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    metadata,
    rules: [
      { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
      { apiGroups: [''], resources: ['pods/proxy'], verbs: ['get'] },
      { apiGroups: [''], resources: ['serviceaccounts/token'], resourceNames: [METER_READER], verbs: ['create'] },
    ],
  });
};

/** Lets a user read meters as the command does. */
export const letRead = ({ api }: Bed, user: string): Promise<unknown> =>
  api.create(`${RBAC}/namespaces/${METER_NAMESPACE}/rolebindings`, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: user },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: METER_READER },
    subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: user }],
  });

const createPod = async ({ api }: Bed, node: BedNode): Promise<void> => {
  const path = `/api/v1/namespaces/${METER_NAMESPACE}/pods`;
  const name = `${TRAFFIC_METER}-${node.name}`;
  await api.create(path, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { 'app.kubernetes.io/component': TRAFFIC_METER } },
    spec: {
      nodeName: node.name,
      hostNetwork: true,
      tolerations: [{ operator: 'Exists' }],
      containers: [
        {
          name: TRAFFIC_METER,
          image: 'meter',
          ports: [{ name: 'metrics', containerPort: SECURE_PORT, hostPort: SECURE_PORT }],
        },
      ],
    },
  });
  await api.patch(`${path}/${name}/status`, { status: runningStatus(true, node.addresses, node) });
};

/** A token as the command and the flow-controller use it. */
export const readerToken = async ({ api }: Bed): Promise<string> => {
  const path = `/api/v1/namespaces/${METER_NAMESPACE}/serviceaccounts/${METER_READER}/token`;
  const spec = { audiences: [METER_AUDIENCE], expirationSeconds: 3_600 };
  const { status } = await api.create<{ status: { token: string } }>(path, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec,
  });
  return status.token;
};

export interface MeasuredBed {
  readonly nodes: readonly BedNode[];
}

/** A node whose meter has a Pod, as the chart's DaemonSet makes it. */
export const startMeasuredNode = async (bed: Bed, options: NodeOptions): Promise<{ node: BedNode; meter: Meter }> => {
  const node = await bed.node(options);
  await inside(node, 'sysctl', '-qw', 'net.netfilter.nf_conntrack_acct=1');
  const meter = await startMeter(bed, node, `--secure-port=${SECURE_PORT}`);
  await createPod(bed, node);
  return { node, meter };
};

/** A node in each zone with a meter and a server of `shop/web`, whose Service the caller makes. */
export const startMeasured = async (bed: Bed, zones: readonly string[]): Promise<MeasuredBed> => {
  const { api } = bed;
  await api.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
  await createMeterAccount(bed);
  const nodes: BedNode[] = [];
  for (const zone of zones) {
    const { node } = await startMeasuredNode(bed, { name: `${zone}1`, zone });
    nodes.push(node);
    const pod = await bed.pod({ node, app: 'web', namespace: 'shop', serve: false });
    startServers(bed, pod);
  }
  return { nodes };
};
