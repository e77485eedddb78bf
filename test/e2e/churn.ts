// Plain Nodes and Pods without programs, and Deployments of them that are rolled.
import { setTimeout as pause } from 'node:timers/promises';
import type { Node } from '../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { NODES, PODS, type Resource } from '../../pkg/apis/resources.ts';
import { ConnectionError, isNotFound } from '../../pkg/kubernetes/errors.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { node as nodeObject } from '../fixtures/core.ts';
import { DEPLOYMENTS } from '../sandbox/workloads.ts';
import { waitFor } from './bed/machine.ts';
import { each } from './hints-support.ts';

export interface PlainNode {
  readonly name: string;
  readonly zone: string;
}

/** core/v1 Pod, as far as these tests look at it. */
export interface Pod extends KubernetesObject {
  spec?: { nodeName?: string; [field: string]: unknown };
  status?: { phase?: string; podIP?: string; [field: string]: unknown };
}

/** Creates ready Nodes, zone by zone in turns: `<zone>1`, …; no program stands behind them. */
export const createNodes = async (
  client: Client,
  zones: readonly string[],
  perZone: number,
  kubeletVersion = 'v1.36.0',
): Promise<PlainNode[]> => {
  const nodes = Array.from({ length: perZone }, (_, index) =>
    zones.map((zone) => ({ name: `${zone}${index + 1}`, zone })),
  ).flat();
  await each(nodes, 8, ({ name, zone }) =>
    client.create<Node>(NODES, nodeObject({ zone, kubeletVersion, metadata: { name } })),
  );
  return nodes;
};

const container = { name: 'main', image: 'none', ports: [{ containerPort: 8080 }] };
const tolerations = [{ operator: 'Exists' }];

/** The addresses of the Pod with this number, both families; 65,000 at the most. */
const addressesOf = (number: number): string[] => [
  `198.19.${number >> 8}.${number & 255}`,
  `2001:db8:19::1:${number.toString(16)}`,
];

/** Writes the status that a kubelet would. */
export const setPodStatus = async (
  client: Client,
  pod: { readonly namespace: string; readonly name: string },
  number: number,
  ready: boolean,
): Promise<void> => {
  const condition = (type: string, status: boolean): object => ({ type, status: status ? 'True' : 'False' });
  const podIPs = addressesOf(number).map((ip) => ({ ip }));
  const conditions = [
    condition('Ready', ready),
    condition('ContainersReady', ready),
    condition('Initialized', true),
    condition('PodScheduled', true),
  ];
  const status = { phase: 'Running', podIP: podIPs[0]?.ip, podIPs, conditions };
  await client.patch(PODS, pod, 'merge', { status }, { subresource: 'status' });
};

interface PlainPodOptions {
  readonly namespace: string;
  readonly name: string;
  readonly app: string;
  readonly node: PlainNode;
  /** Decides its addresses; unique in the bed. */
  readonly number: number;
}

/** Creates a Pod that is ready on its Node. */
export const createPod = async (client: Client, options: PlainPodOptions): Promise<void> => {
  const { namespace, name, app, node: on, number } = options;
  await client.create<Pod>(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace, name, labels: { app } },
    spec: { nodeName: on.name, tolerations, containers: [container] },
  });
  await setPodStatus(client, { namespace, name }, number, true);
};

/** A Deployment that is rolled out as Kubernetes does by default: a quarter more, a quarter less. */
const deployment = (namespace: string, name: string, replicas: number): KubernetesObject & { spec: object } => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { namespace, name },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { tolerations, containers: [container], terminationGracePeriodSeconds: 1 },
    },
  },
});

const BINDINGS: Resource = { group: '', version: 'v1', kind: 'Binding', plural: 'bindings', namespaced: true };

interface KubeletOptions {
  readonly client: Client;
  readonly namespace: string;
  readonly nodes: readonly PlainNode[];
  /** How long a Pod goes on after its deletion began, milliseconds: it is a terminating endpoint meanwhile. */
  readonly terminationMs: number;
}

export interface Kubelets {
  /** Ends them; throws what went wrong meanwhile. */
  stop(): Promise<void>;
}

/** Every new Pod goes to the Node with the fewest, and is ready at once; a deleted one goes after `terminationMs`. */
export const startKubelets = ({ client, namespace, nodes, terminationMs }: KubeletOptions): Kubelets => {
  const ending = new AbortController();
  const { signal } = ending;
  const placed = new Map<string, PlainNode>();
  const leaving = new Set<string>();
  const failures: unknown[] = [];
  let lastNumber = 256;

  const leastUsed = (): PlainNode => {
    const load = (node: PlainNode): number => [...placed.values()].filter((one) => one === node).length;
    return nodes.reduce((best, node) => (load(node) < load(best) ? node : best));
  };
  const start = async (name: string): Promise<void> => {
    const node = leastUsed();
    placed.set(name, node);
    const number = (lastNumber += 1);
    const target = { apiVersion: 'v1', kind: 'Node', name: node.name };
    const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { namespace, name }, target };
    await client.create<KubernetesObject>(BINDINGS, binding).catch((error: unknown) => {
      // The API server answers a Binding with a Status, which the client takes for no answer to a create.
      if (!(error instanceof ConnectionError && error.reason === 'InvalidResponse')) throw error;
    });
    await setPodStatus(client, { namespace, name }, number, true);
  };
  const end = async (name: string): Promise<void> => {
    leaving.add(name);
    await pause(terminationMs, undefined, { signal });
    await client.delete(PODS, { namespace, name }, { gracePeriodSeconds: 0 });
  };
  const run = (work: Promise<void>): void => {
    // A Pod can be gone before its kubelet gets to it.
    work.catch((error: unknown) => void (signal.aborted || isNotFound(error) || failures.push(error)));
  };

  const seen = (type: string, { metadata, spec }: Pod): void => {
    const name = metadata?.name ?? '';
    if (type === 'DELETED') {
      placed.delete(name);
      leaving.delete(name);
    } else if (metadata?.deletionTimestamp !== undefined) {
      if (!leaving.has(name)) run(end(name));
    } else if (spec?.nodeName === undefined && !placed.has(name)) run(start(name));
  };
  const follow = async (): Promise<void> => {
    while (!signal.aborted) {
      for await (const event of client.watch<Pod>(PODS, { namespace }, signal)) {
        if (event.type !== 'BOOKMARK') seen(event.type, event.object);
      }
    }
  };
  const followed = follow().catch((error: unknown) => void (signal.aborted || failures.push(error)));
  return {
    async stop() {
      ending.abort();
      await followed;
      if (failures.length > 0) throw new AggregateError(failures, `kubelets of ${namespace}: ${String(failures[0])}`);
    },
  };
};

interface DeploymentStatus extends KubernetesObject {
  metadata?: KubernetesObject['metadata'] & { generation?: number };
  status?: { observedGeneration?: number; updatedReplicas?: number; availableReplicas?: number; replicas?: number };
}

const untilRolledOut = async (client: Client, namespace: string, name: string, replicas: number): Promise<void> => {
  await waitFor(
    `Deployment ${namespace}/${name} rolled out`,
    () => client.get<DeploymentStatus>(DEPLOYMENTS, { namespace, name }),
    ({ metadata, status }) =>
      status?.observedGeneration === metadata?.generation &&
      [status?.updatedReplicas, status?.availableReplicas, status?.replicas].every((count) => count === replicas),
    { timeoutSeconds: 120 },
  );
};

export interface Workload {
  /** Replaces every Pod, as `kubectl rollout restart` does, and waits until that is done. */
  restart(round: number): Promise<void>;
}

/** Creates a Deployment and waits for its Pods. */
export const deploy = async (client: Client, namespace: string, name: string, replicas: number): Promise<Workload> => {
  await client.create(DEPLOYMENTS, deployment(namespace, name, replicas));
  await untilRolledOut(client, namespace, name, replicas);
  return {
    async restart(round) {
      const template = { metadata: { annotations: { 'kubectl.kubernetes.io/restartedAt': String(round) } } };
      await client.patch(DEPLOYMENTS, { namespace, name }, 'merge', { spec: { template } });
      await untilRolledOut(client, namespace, name, replicas);
    },
  };
};
