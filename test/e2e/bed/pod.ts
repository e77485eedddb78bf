// A Pod of a bed: an object whose status is written as a kubelet would, and real listeners on its addresses.
import type { AddressPair } from './addresses.ts';
import type { BedContext } from './context.ts';
import { addAddresses, nodeDevice, removeAddresses } from './network.ts';
import type { BedNode } from './node.ts';

export interface PodOptions {
  readonly node: BedNode;
  /** Value of the label `app`. */
  readonly app: string;
  /** Default: `<app>-<node>-<number>`. */
  readonly name?: string;
  /** Default `default`; must exist. */
  readonly namespace?: string;
  /** Labels beside `app`. Default: none. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Whether something answers on its addresses. Default true. */
  readonly serve?: boolean;
  /** The port it answers on. Default 8080. */
  readonly port?: number;
  /** Ready from the start. Default true. */
  readonly ready?: boolean;
}

/** A running Pod. */
export interface BedPod {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly addresses: AddressPair;
  readonly node: BedNode;
  /** Switches the conditions Ready and ContainersReady; the listener stays, as with a failing readiness probe. */
  setReady(ready: boolean): Promise<void>;
  /** Begins the deletion: the object gets a deletion timestamp, the Pod goes on serving. */
  terminate(): Promise<void>;
  /** Ends the Pod at once: object, listener and addresses are gone afterwards. */
  remove(): Promise<void>;
}

/** What a Pod says to every client; the bed counts connections by it. */
export interface PodAnswer {
  readonly pod: string;
  readonly node: string;
  /** Empty when the node has no zone. */
  readonly zone: string;
}

const containerName = 'main';
const containerImage = 'bed';

const familiesOf = ({ ipv4, ipv6 }: AddressPair): string[] => [ipv4, ipv6];

/** What a kubelet says of a Pod whose container runs. */
export const runningStatus = (ready: boolean, addresses: AddressPair, node: BedNode): object => {
  const now = new Date().toISOString();
  const condition = (type: string, status: boolean): object => ({
    type,
    status: status ? 'True' : 'False',
    lastTransitionTime: now,
  });
  return {
    phase: 'Running',
    podIP: addresses.ipv4,
    podIPs: familiesOf(addresses).map((ip) => ({ ip })),
    hostIP: node.addresses.ipv4,
    startTime: now,
    containerStatuses: [
      {
        name: containerName,
        image: containerImage,
        imageID: '',
        ready,
        started: true,
        restartCount: 0,
        state: { running: { startedAt: now } },
      },
    ],
    conditions: [
      condition('Ready', ready),
      condition('ContainersReady', ready),
      condition('Initialized', true),
      condition('PodScheduled', true),
    ],
  };
};

/** Gives a Pod its addresses and, where it serves, a listener on each. */
const openListeners = async (node: BedNode, addresses: AddressPair, port: number, answer: PodAnswer | undefined) => {
  await addAddresses(node.namespace, nodeDevice, addresses);
  if (answer === undefined) return;
  for (const address of familiesOf(addresses)) {
    await node.agent.perform({ task: 'listen', address, port, answer: JSON.stringify(answer) });
  }
};

const podObject = ({ node, app, labels }: PodOptions, name: string, port: number): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels: { app, ...labels } },
  spec: {
    nodeName: node.name,
    tolerations: [{ operator: 'Exists' }],
    containers: [{ name: containerName, image: containerImage, ports: [{ containerPort: port }] }],
  },
});

/** Runs a Pod; `number` makes its default name unique. */
export const startPod = async ({ api }: BedContext, number: number, options: PodOptions): Promise<BedPod> => {
  const { node, app, namespace = 'default', serve = true, port = 8080, ready = true } = options;
  const name = options.name ?? `${app}-${node.name}-${number}`;
  const path = `/api/v1/namespaces/${namespace}/pods`;
  const addresses = node.nextPodAddresses();
  // It answers before the API says so: otherwise a proxy could send the first connections into the void.
  await openListeners(node, addresses, port, serve ? { pod: name, node: node.name, zone: node.zone ?? '' } : undefined);
  const created = await api.create(path, podObject(options, name, port));
  const setReady = async (value: boolean): Promise<void> =>
    void (await api.patch(`${path}/${name}/status`, { status: runningStatus(value, addresses, node) }));
  await setReady(ready);
  return {
    name,
    namespace,
    uid: created.metadata.uid ?? '',
    addresses,
    node,
    setReady,
    terminate: () => api.delete(`${path}/${name}`, { gracePeriodSeconds: 30 }),
    async remove() {
      await api.delete(`${path}/${name}`, { gracePeriodSeconds: 0 });
      if (serve) {
        for (const address of familiesOf(addresses)) await node.agent.perform({ task: 'unlisten', address, port });
      }
      await removeAddresses(node.namespace, nodeDevice, addresses);
    },
  };
};
