// Pods and Services of a bed.
import type { KubernetesObject } from './api.ts';
import { type AddressPair, addAddresses, nodeDevice, removeAddresses } from './machine.ts';
import type { BedContext, BedNode } from './node.ts';

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
  for (const address of familiesOf(addresses))
    await node.agent.perform({ task: 'listen', address, port, answer: JSON.stringify(answer) });
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

export interface ServiceOptions {
  readonly name: string;
  /** Default `default`; must exist. */
  readonly namespace?: string;
  /** Selects the Pods with this label `app`. Default: the Service's name. */
  readonly app?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Default 80. */
  readonly port?: number;
  /** Default 8080, the port that Pods of a bed answer on. */
  readonly targetPort?: number;
  /** Written as it is. Default: absent. */
  readonly trafficDistribution?: string;
  /** Default `SingleStack`, IPv4. */
  readonly ipFamilyPolicy?: 'SingleStack' | 'PreferDualStack' | 'RequireDualStack';
  /** Further fields of the spec; they win over everything above. Default: none. */
  readonly spec?: object;
}

/** One endpoint as a slice holds it. */
export interface SliceEndpoint {
  readonly addresses: readonly string[];
  readonly zone?: string;
  readonly nodeName?: string;
  readonly conditions?: { readonly ready?: boolean; readonly serving?: boolean; readonly terminating?: boolean };
  readonly hints?: {
    readonly forZones?: readonly { readonly name: string }[];
    readonly forNodes?: readonly { readonly name: string }[];
  };
  readonly targetRef?: { readonly name?: string; readonly uid?: string };
}

/** An EndpointSlice, as far as tests look at it. */
export type Slice = KubernetesObject & {
  addressType: 'IPv4' | 'IPv6' | 'FQDN';
  endpoints: readonly SliceEndpoint[] | null;
};

export interface BedService {
  readonly name: string;
  readonly namespace: string;
  /** One per address family, the primary first. */
  readonly clusterIPs: readonly string[];
  readonly port: number;
  /** Merge patch of the whole object, e.g. `{ spec: { trafficDistribution: null } }`. */
  patch(change: object): Promise<void>;
  /** Its slices now. */
  slices(): Promise<Slice[]>;
  /** The endpoints of all its slices now. */
  endpoints(): Promise<SliceEndpoint[]>;
  remove(): Promise<void>;
}

type ServiceObject = KubernetesObject & { spec: { clusterIPs?: string[] } };

const serviceObject = (options: ServiceOptions, port: number): object => {
  const { name, app = name, labels = {}, annotations = {}, targetPort = 8080, trafficDistribution, spec } = options;
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, labels, annotations },
    spec: {
      selector: { app },
      ports: [{ name: 'main', port, targetPort }],
      ipFamilyPolicy: options.ipFamilyPolicy ?? 'SingleStack',
      ...(trafficDistribution === undefined ? {} : { trafficDistribution }),
      ...spec,
    },
  };
};

/** Creates a Service. */
export const createService = async ({ api }: BedContext, options: ServiceOptions): Promise<BedService> => {
  const { name, namespace = 'default', port = 80 } = options;
  const path = `/api/v1/namespaces/${namespace}/services`;
  const created = await api.create<ServiceObject>(path, serviceObject(options, port));
  const selector = encodeURIComponent(`kubernetes.io/service-name=${name}`);
  const slices = (): Promise<Slice[]> =>
    api.list<Slice>(`/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices?labelSelector=${selector}`);
  return {
    name,
    namespace,
    clusterIPs: created.spec.clusterIPs ?? [],
    port,
    patch: async (change) => void (await api.patch(`${path}/${name}`, change)),
    slices,
    endpoints: async () => (await slices()).flatMap((slice) => slice.endpoints ?? []),
    remove: () => api.delete(`${path}/${name}`),
  };
};
