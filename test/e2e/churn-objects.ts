// Nodes, Pods and Deployments as plain objects: for what depends on the API alone, hundreds of them cost nothing.
import type { Node } from '../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { NODES, PODS } from '../../pkg/apis/resources.ts';
import type { Resource } from '../../pkg/apis/resources.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { node } from '../fixtures/core.ts';
import { each } from './hints-support.ts';

export const DEPLOYMENTS: Resource = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  namespaced: true,
};

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
    client.create<Node>(NODES, node({ zone, kubeletVersion, metadata: { name } })),
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

export interface PlainPodOptions {
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
export const deployment = (namespace: string, name: string, replicas: number): KubernetesObject & { spec: object } => ({
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
