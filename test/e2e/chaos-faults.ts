// Faults of processes, networks and whole zones, and repeatable choices.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { CONFIG_API_VERSION } from '../../pkg/apis/config/load.ts';
import { ENDPOINTSLICE_WEBHOOK_CONFIGURATION } from '../../pkg/apis/config/endpointslice-webhook.ts';
import { FLOW_CONTROLLER_CONFIGURATION } from '../../pkg/apis/config/flow-controller.ts';
import { SETTINGS_RECONCILER_CONFIGURATION } from '../../pkg/apis/config/settings-reconciler.ts';
import type { Endpoint, Lease, Service } from '../../pkg/apis/core.ts';
import { COMMANDS } from '../../pkg/apis/names.ts';
import { ENDPOINT_SLICES, LEASES, NAMESPACES, SERVICES } from '../../pkg/apis/resources.ts';
import { createClient } from '../../pkg/kubernetes/client.ts';
import { loadKubeConfig } from '../../pkg/kubernetes/kubeconfig.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { endpoint, slice } from '../fixtures/core.ts';
import { mastersGroup, serverUrl } from './bed/access.ts';
import type { Component } from './bed/component.ts';
import type { Bed, BedNode } from './bed/index.ts';
import { controlPlaneAddresses, enterPrefix, run, waitFor } from './bed/machine.ts';
import { commandReady, ownNamespace } from './commands.ts';

type FaultKind = 'kill' | 'freeze' | 'end' | 'partition';

export interface Fault {
  readonly kind: FaultKind;
  readonly target: string;
  inject(signal: AbortSignal): Promise<void>;
}

export const nft = async (namespace: string, ...words: string[]): Promise<void> => {
  const [program, ...prefix] = enterPrefix(namespace);
  await run(program, [...prefix, 'nft', ...words]);
};

const table = ['inet', 'chaos'] as const;

/** Drops every packet from and to these TCP ports in a network namespace until `heal`, also of open connections. */
const startPartition = async (namespace: string, ports: readonly number[]): Promise<{ heal(): Promise<void> }> => {
  const set = `{ ${ports.join(', ')} }`;
  await nft(namespace, 'add', 'table', ...table);
  await nft(namespace, 'add', 'chain', ...table, 'in', '{ type filter hook input priority 0; }');
  for (const side of ['dport', 'sport']) await nft(namespace, 'add', 'rule', ...table, 'in', 'tcp', side, set, 'drop');
  return { heal: () => nft(namespace, 'delete', 'table', ...table) };
};

interface ChaosOptions {
  /** Network namespace of the programs. */
  readonly namespace: string;
  /** What is killed and frozen. */
  readonly programs: readonly Component[];
  /** Of these, what is also ended with SIGTERM: programs that end soon after it. */
  readonly graceful: readonly Component[];
  /** Ports that are cut off, by what listens there. */
  readonly ports: Readonly<Record<string, number>>;
  readonly random: Random;
  /** Seconds that a freeze or a partition lasts, from and to. */
  readonly seconds: readonly [number, number];
}

/** One of every fault that there is, in random order. */
export const deckOf = (options: ChaosOptions): Fault[] => {
  const { namespace, programs, graceful, ports, random, seconds } = options;
  const last = (signal: AbortSignal): Promise<void> =>
    pause(random.between(...seconds) * 1_000, undefined, { signal }).catch(() => undefined);
  const signalled = (component: Component, signal: NodeJS.Signals): void => {
    // It may be just between two lives.
    if (component.pid !== undefined) component.signal(signal);
  };
  return random.shuffled([
    ...programs.map((one): Fault => ({
      kind: 'kill',
      target: one.name,
      inject: async () => signalled(one, 'SIGKILL'),
    })),
    ...programs.map((one): Fault => ({
      kind: 'freeze',
      target: one.name,
      async inject(signal) {
        signalled(one, 'SIGSTOP');
        await last(signal);
        signalled(one, 'SIGCONT');
      },
    })),
    ...graceful.map((one): Fault => ({ kind: 'end', target: one.name, inject: async () => signalled(one, 'SIGTERM') })),
    ...Object.entries(ports).map(([target, port]): Fault => ({
      kind: 'partition',
      target,
      async inject(signal) {
        const partition = await startPartition(namespace, [port]);
        await last(signal);
        await partition.heal();
      },
    })),
  ]);
};

export interface Random {
  /** In [0, 1). */
  next(): number;
  /** A whole number in [0, below). */
  below(below: number): number;
  between(low: number, high: number): number;
  pick<T>(items: readonly T[]): T;
  shuffled<T>(items: readonly T[]): T[];
}

/** Mulberry32: 32 bits of state are plenty for choosing victims. */
export const createRandom = (seed: number): Random => {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (bound: number): number => Math.floor(next() * bound);
  return {
    next,
    below,
    between: (low, high) => low + next() * (high - low),
    pick<T>(items: readonly T[]): T {
      if (items.length === 0) throw new RangeError('nothing to pick from');
      return items[below(items.length)] as T;
    },
    shuffled: (items) =>
      items
        .map((item) => ({ item, order: next() }))
        .sort((left, right) => left.order - right.order)
        .map(({ item }) => item),
  };
};

/** The seed from the environment, or one that the time gives. */
export const seedOf = (environment: NodeJS.ProcessEnv): number =>
  Number(environment['E2E_SEED'] ?? Date.now() % 1_000_000);

const { endpointSliceWebhook: WEBHOOK, settingsReconciler: RECONCILER, flowController: FLOW } = COMMANDS;

/** Configuration of each command, and its first port of two: each node has a network of its own. */
const KINDS = {
  [WEBHOOK]: { kind: ENDPOINTSLICE_WEBHOOK_CONFIGURATION.kind, port: 8_081, config: {} },
  [RECONCILER]: { kind: SETTINGS_RECONCILER_CONFIGURATION.kind, port: 8_083, config: { modes: { cluster: {} } } },
  [FLOW]: { kind: FLOW_CONTROLLER_CONFIGURATION.kind, port: 8_085, config: {} },
} as const;
type ReplicaOf = keyof typeof KINDS;

const ETCD_PORT = 2_379;
/** etcd listens where only the control plane reaches it. */
const RELAY = `const net = require('node:net');
net.createServer((from) => {
  const to = net.connect(${ETCD_PORT}, '127.0.0.1');
  for (const side of [from, to]) side.on('error', () => { from.destroy(); to.destroy(); });
  from.pipe(to).pipe(from);
}).listen(${ETCD_PORT}, '${controlPlaneAddresses.ipv4}');`;

/** A kubeconfig of a user who may do everything, at the API server of a node. */
const kubeconfigAt = async (bed: Bed, user: string, node: BedNode): Promise<string> => {
  const usual = await bed.kubeconfig({ user, groups: [mastersGroup] });
  const file = usual.replace(/\.kubeconfig$/, `-${node.name}.kubeconfig`);
  const url = `https://${node.addresses.ipv4}:6443`;
  writeFileSync(file, readFileSync(usual, 'utf8').replace(serverUrl, url), { mode: 0o600 });
  return file;
};

/** What was written through the API server of a node. */
export const auditLogOn = (bed: Bed, node: BedNode): string => join(bed.directory, 'logs', `audit-${node.name}.log`);

/** The bed's API server once more, on a node, with the same etcd. */
export const startApiServerOn = async (bed: Bed, node: BedNode): Promise<void> => {
  bed.program({ name: 'etcd-relay', command: [process.execPath, '-e', RELAY] }).start();
  const { pid } = bed.controlPlane.apiServer;
  const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').filter(Boolean);
  const { ipv4 } = node.addresses;
  const { certificate, key } = await bed.pki.serving(`api-server-${node.name}`, [ipv4]);
  const other: Readonly<Record<string, string>> = {
    'etcd-servers': `http://${controlPlaneAddresses.ipv4}:${ETCD_PORT}`,
    'advertise-address': ipv4,
    'tls-cert-file': certificate,
    'tls-private-key-file': key,
    'audit-log-path': auditLogOn(bed, node),
  };
  const flags = words.map((word) => {
    const name = /^--([^=]+)=/.exec(word)?.[1] ?? '';
    return name in other ? `--${name}=${other[name]}` : word;
  });
  const server = bed.program({
    name: `kube-apiserver-${node.name}`,
    command: [...enterPrefix(node.namespace), ...flags],
  });
  server.start();
  const kubeconfig = await kubeconfigAt(bed, 'visitor', node);
  const client = createClient({ config: loadKubeConfig({ kubeconfig }), userAgent: 'e2e/1' });
  await waitFor(
    `${server.name} ready`,
    () => client.list(NAMESPACES),
    ({ items }) => items.length > 0,
    { timeoutSeconds: 120, assert: () => server.assertRunning() },
  );
  await client.close();
};

const webhookRef = { name: WEBHOOK, namespace: ownNamespace };
const webhookEndpoints = (nodes: readonly BedNode[]): Endpoint[] =>
  nodes.map(({ name, zone = '', addresses: { ipv4 } }) => endpoint({ zone, nodeName: name, addresses: [ipv4] }));

/** From now on API servers that connect anew may choose any of these; they keep connections that they have. */
export const republishWebhooks = async (client: Client, nodes: readonly BedNode[]): Promise<void> =>
  void (await client.patch(ENDPOINT_SLICES, webhookRef, 'merge', { endpoints: webhookEndpoints(nodes) }));

/** The webhook's Service, with an endpoint on each of these nodes: nodes of a zone that is cut off are not found out for minutes. */
export const publishWebhooks = async (client: Client, nodes: readonly BedNode[]): Promise<void> => {
  await client.create(NAMESPACES, { metadata: { name: ownNamespace } });
  const spec = { ports: [{ name: 'https', port: 443, targetPort: 10_250 }] };
  await client.create<Service>(SERVICES, { metadata: webhookRef, spec });
  const labels = { 'endpointslice.kubernetes.io/managed-by': 'bed' };
  const ports = [{ name: 'https', protocol: 'TCP', port: 10_250 }];
  await client.create(
    ENDPOINT_SLICES,
    slice({ service: WEBHOOK, metadata: { ...webhookRef, labels }, ports, endpoints: webhookEndpoints(nodes) }),
  );
};

interface ReplicaOptions {
  readonly node: BedNode;
  /** Whose API server it asks: the node's own. Default: the control plane's. */
  readonly ownApiServer?: boolean;
}

/** A command on a node, with its defaults, ready. */
export const startReplica = async (
  bed: Bed,
  command: ReplicaOf,
  { node, ownApiServer = false }: ReplicaOptions,
): Promise<Component> => {
  const { kind, port, config } = KINDS[command];
  const user = `system:serviceaccount:${ownNamespace}:${command}`;
  const file = join(bed.directory, `${command}-${node.name}.json`);
  const ports = { health: { port }, metrics: { port: port + 1 } };
  writeFileSync(file, JSON.stringify({ apiVersion: CONFIG_API_VERSION, kind, ...config, ...ports }));
  const main = fileURLToPath(new URL(`../../cmd/${command}/main.ts`, import.meta.url));
  const replica = bed.program({
    name: `${command}-${node.name}`,
    command: [...enterPrefix(node.namespace), process.execPath, main, '--config', file],
    environment: {
      POD_NAMESPACE: ownNamespace,
      KUBECONFIG: ownApiServer
        ? await kubeconfigAt(bed, user, node)
        : await bed.kubeconfig({ user, groups: [mastersGroup] }),
    },
  });
  replica.start();
  await commandReady(replica, port, node.addresses.ipv4);
  return replica;
};

/** Who holds the command's Lease; empty for no one. */
export const leaderOf = async (client: Client, command: ReplicaOf): Promise<string> =>
  (await client.get<Lease>(LEASES, { namespace: ownNamespace, name: command })).spec?.holderIdentity ?? '';

const outageTable = ['inet', 'outage'] as const;

/** Drops every packet from and to a node, also of connections that are open, until `heal`. What runs there goes on. */
export const cutOff = async ({ namespace }: BedNode): Promise<{ heal(): Promise<void> }> => {
  const rules = Object.entries({ input: 'iifname', output: 'oifname' }).map(
    ([hook, name]) =>
      `add chain ${outageTable.join(' ')} ${hook} { type filter hook ${hook} priority -300; }\n` +
      `add rule ${outageTable.join(' ')} ${hook} ${name} != "lo" drop`,
  );
  await nft(namespace, [`add table ${outageTable.join(' ')}`, ...rules].join('\n'));
  return { heal: () => nft(namespace, 'delete', 'table', ...outageTable) };
};
