// What makes Pods run in a real cluster, as small as a story needs it: Deployment controller, scheduler and kubelet in one.
import type { Node } from '../../pkg/apis/core.ts';
import type { KubernetesObject, StringMap } from '../../pkg/apis/meta.ts';
import { LABEL_ZONE } from '../../pkg/apis/names.ts';
import { NODES, PODS, type Resource } from '../../pkg/apis/resources.ts';
import { systemClock } from '../../pkg/kubernetes/wait.ts';
import { createInformer } from '../../pkg/kubernetes/informer.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { nullLogger } from '../../pkg/telemetry/log.ts';
import type { Sandbox } from './types.ts';

/** To be served beside the built-in resources. */
export const DEPLOYMENTS: Resource = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  namespaced: true,
};

interface Deployment extends KubernetesObject {
  spec?: { replicas?: number; template?: { metadata?: { labels?: StringMap }; spec?: object } };
}

interface Pod extends KubernetesObject {
  spec?: { nodeName?: string };
  status?: object;
}

export interface Workloads {
  stop(): Promise<void>;
}

const OWNER = 'deployment';

const nameOf = ({ metadata }: KubernetesObject): string => metadata?.name ?? '';

/** Fewest Pods of the Deployment in the zone, then on the Node, then by name. */
const placeOf = (nodes: readonly Node[], pods: readonly Pod[]): string | undefined => {
  const zoneOf = (name: string): string =>
    nodes.find((node) => nameOf(node) === name)?.metadata?.labels?.[LABEL_ZONE] ?? '';
  const count = (matches: (node: string) => boolean): number =>
    pods.filter(({ spec }) => matches(spec?.nodeName ?? '')).length;
  const ranked = nodes.map((node) => {
    const name = nameOf(node);
    const zone = zoneOf(name);
    return { name, rank: [count((other) => zoneOf(other) === zone), count((other) => other === name)] as const };
  });
  ranked.sort((a, b) => a.rank[0] - b.rank[0] || a.rank[1] - b.rank[1] || (a.name < b.name ? -1 : 1));
  return ranked[0]?.name;
};

const runningPod = (deployment: Deployment, name: string, nodeName: string, ip: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name,
    namespace: deployment.metadata?.namespace ?? 'default',
    labels: { ...deployment.spec?.template?.metadata?.labels },
    annotations: { [OWNER]: nameOf(deployment) },
  },
  spec: { ...deployment.spec?.template?.spec, nodeName },
  status: { phase: 'Running', podIP: ip, podIPs: [{ ip }], conditions: [{ type: 'Ready', status: 'True' }] },
});

/** A Node that came without a kubelet's word gets one: four cores, ready. */
const registered = (node: Node, version: string): Node => ({
  ...node,
  status: {
    allocatable: { cpu: '4' },
    conditions: [{ type: 'Ready', status: 'True' }],
    nodeInfo: { kubeletVersion: version },
    ...node.status,
  },
});

export interface WorkloadsOptions {
  readonly sandbox: Sandbox;
  /** Watches with it; stays open. */
  readonly client: Client;
  /** Of the kubelet on Nodes that say none, `v1.33.4`. */
  readonly version: string;
}

/** Runs until it is stopped. */
export const startWorkloads = ({ sandbox, client, version }: WorkloadsOptions): Workloads => {
  const end = new AbortController();
  let addresses = 0;

  const scale = async (deployment: Deployment, nodes: readonly Node[]): Promise<void> => {
    const { namespace = 'default' } = deployment.metadata ?? {};
    const wanted = deployment.spec?.replicas ?? 1;
    const pods = sandbox
      .list<Pod>(PODS, namespace)
      .filter(({ metadata }) => metadata?.annotations?.[OWNER] === nameOf(deployment));
    for (let index = 1; index <= wanted; index += 1) {
      const name = `${nameOf(deployment)}-${index}`;
      const place = placeOf(nodes, pods);
      if (place === undefined || pods.some((pod) => nameOf(pod) === name)) continue;
      addresses += 1;
      const pod = runningPod(deployment, name, place, `10.1.0.${addresses}`);
      sandbox.seed([pod]);
      pods.push(pod);
    }
    const extra = pods.filter((pod) => Number(nameOf(pod).slice(nameOf(deployment).length + 1)) > wanted);
    for (const pod of extra) await sandbox.remove(PODS, { namespace, name: nameOf(pod) });
  };

  const reconcile = async (): Promise<void> => {
    const nodes = sandbox.list<Node>(NODES);
    for (const node of nodes) {
      if ((node.status?.conditions ?? []).length === 0) sandbox.seed([registered(node, version)]);
    }
    for (const deployment of sandbox.list<Deployment>(DEPLOYMENTS)) await scale(deployment, nodes);
  };

  // One at a time, and once more after whatever came meanwhile.
  let work = Promise.resolve();
  const wake = (): void => void (work = work.then(reconcile));
  const running = [DEPLOYMENTS, NODES].map((resource) => {
    const handlers = { onUpsert: wake, onDelete: wake };
    const options = { client, resource, clock: systemClock, random: Math.random, logger: nullLogger };
    return createInformer({ ...options, ...handlers }).run(end.signal);
  });
  return {
    async stop() {
      end.abort(new Error('stopped'));
      await Promise.all(running);
      await work;
    },
  };
};
