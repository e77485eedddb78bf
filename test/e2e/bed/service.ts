// A Service of a bed and what the real EndpointSlice controller makes of it.
import type { KubernetesObject } from './api.ts';
import type { BedContext } from './context.ts';

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
