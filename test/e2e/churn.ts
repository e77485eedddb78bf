// Plays scheduler and kubelets for the Pods of a namespace, so that real Deployments roll out without a container.
import { setTimeout as pause } from 'node:timers/promises';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { PODS } from '../../pkg/apis/resources.ts';
import type { Resource } from '../../pkg/apis/resources.ts';
import { ConnectionError, isNotFound } from '../../pkg/kubernetes/errors.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { waitFor } from './bed/wait-for.ts';
import { DEPLOYMENTS, deployment, setPodStatus } from './churn-objects.ts';
import type { PlainNode, Pod } from './churn-objects.ts';

const BINDINGS: Resource = { group: '', version: 'v1', kind: 'Binding', plural: 'bindings', namespaced: true };

export interface KubeletOptions {
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
