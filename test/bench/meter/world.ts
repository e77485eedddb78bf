// The cluster that the meter is measured in: 5,000 Services with 50,000 endpoints on 500 Nodes.
import type { EndpointSlice, Node, Service } from '../../../pkg/apis/core.ts';

const NODES = 500;
const SERVICES = 5_000;
const ENDPOINTS = 10;
const ZONES = ['a', 'b', 'c'];

const addressOf = (service: number, endpoint: number): string => {
  const number = service * ENDPOINTS + endpoint;
  return `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`;
};
const zoneOf = (index: number): string => ZONES[index % ZONES.length] ?? '';
const clusterIp = (service: number): string => `172.16.${service >> 8}.${service & 255}`;

/** Pods of Node n0 ask the Service 77 and get its first endpoint. */
const ASKED = 77;
/** Several, so that ports do not run out. */
export const clientAddresses = ['10.0.0.247', '10.0.0.248', '10.0.0.249', '10.0.0.250'];
export const serverAddress = addressOf(ASKED, 0);
export const serviceAddress = clusterIp(ASKED);

const nodeOf = (index: number): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: `n${index}`, labels: { 'topology.kubernetes.io/zone': zoneOf(index) } },
  spec: { podCIDR: `10.${index >> 8}.${index & 255}.0/24` },
  status: { addresses: [{ type: 'InternalIP', address: `192.168.${index >> 8}.${index & 255}` }] },
});

const serviceOf = (index: number): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: `n${index % 50}`, name: `s${index}` },
  spec: { clusterIP: clusterIp(index), ports: [{ port: 80 }] },
});

const sliceOf = (index: number): EndpointSlice => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { namespace: `n${index % 50}`, name: `s${index}`, labels: { 'kubernetes.io/service-name': `s${index}` } },
  addressType: 'IPv4',
  ports: [{ port: 8080 }],
  endpoints: Array.from({ length: ENDPOINTS }, (_, endpoint) => ({
    addresses: [addressOf(index, endpoint)],
    zone: zoneOf(endpoint),
    nodeName: `n${(index + endpoint) % NODES}`,
    hints: { forZones: [{ name: zoneOf(endpoint) }] },
  })),
});

export const clusterOf = (): (Node | Service | EndpointSlice)[] => [
  ...Array.from({ length: NODES }, (_, index) => nodeOf(index)),
  ...Array.from({ length: SERVICES }, (_, index) => serviceOf(index)),
  ...Array.from({ length: SERVICES }, (_, index) => sliceOf(index)),
];
