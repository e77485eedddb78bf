// Makes a program that listens in the control plane's namespace reachable through a Service, as webhooks are.
import { controlPlaneAddresses } from './addresses.ts';
import type { Api } from './api.ts';

export interface ExposeOptions {
  /** Namespace of the Service; must exist. */
  readonly namespace: string;
  /** Name of the Service. The program's certificate has to be for `<name>.<namespace>.svc`. */
  readonly name: string;
  /** The port that the program listens on, on all addresses or on `controlPlaneAddresses.ipv4`. */
  readonly targetPort: number;
  /** The Service's port. Default 443. */
  readonly port?: number;
}

/** Host name under which the API server calls a Service. */
export const serviceHost = ({ name, namespace }: Pick<ExposeOptions, 'name' | 'namespace'>): string =>
  `${name}.${namespace}.svc`;

/** Creates a slice and Endpoints for a Service that exists, as `exposeProgram` does. */
export const exposeAddress = async (
  api: Api,
  { namespace, name, targetPort, portName = 'https' }: Omit<ExposeOptions, 'port'> & { readonly portName?: string },
): Promise<void> => {
  const ports = [{ name: portName, port: targetPort, protocol: 'TCP' }];
  await api.create(`/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`, {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: `${name}-bed`,
      labels: { 'kubernetes.io/service-name': name, 'endpointslice.kubernetes.io/managed-by': 'bed' },
    },
    addressType: 'IPv4',
    ports,
    endpoints: [{ addresses: [controlPlaneAddresses.ipv4], conditions: { ready: true } }],
  });
  await api.create(`/api/v1/namespaces/${namespace}/endpoints`, {
    apiVersion: 'v1',
    kind: 'Endpoints',
    // Not to be mirrored to a second slice.
    metadata: { name, labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } },
    subsets: [{ addresses: [{ ip: controlPlaneAddresses.ipv4 }], ports }],
  });
};

/**
 * Creates a Service without selector, its slice, and its Endpoints, which older API servers look at. The API server finds
 * webhooks through these (`--enable-aggregator-routing`), so it connects to the address itself and no kube-proxy takes part.
 */
export const exposeProgram = async (api: Api, options: ExposeOptions): Promise<void> => {
  const { namespace, name, targetPort, port = 443 } = options;
  await api.create(`/api/v1/namespaces/${namespace}/services`, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { ports: [{ name: 'https', port, targetPort }] },
  });
  await exposeAddress(api, options);
};
