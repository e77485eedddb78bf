// Objects of three zones that the models of `kubectl topology` are asked about, and how they reach it.
import type { Node, Service } from '../../pkg/apis/core.ts';
import type { KubernetesObject } from '../../pkg/apis/meta.ts';
import { ANNOTATION_TOPOLOGY_MODE } from '../../pkg/apis/names.ts';
import { endpointsIn, node, service } from '../fixtures/core.ts';

export const ZONES = ['eu-1a', 'eu-1b', 'eu-1c'];
export const nodes = (overrides: Parameters<typeof node>[0] = {}): Node[] =>
  ZONES.map((zone) => node({ ...overrides, zone }));
export const auto: Service = service({ metadata: { annotations: { [ANNOTATION_TOPOLOGY_MODE]: 'Auto' } } });
export const endpoints = (...zones: string[]) => endpointsIn(zones);
export const own = (...zones: string[]) => endpointsIn(zones, true);

/** A ready Pod of the Service `server` on the Node of this zone. */
export const webPod = (zone: string) => {
  const podIP = `198.18.1.${10 + ZONES.indexOf(zone)}`;
  const resources = { requests: { cpu: '500m' } };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `web-${zone}`, namespace: 'shop', labels: { app: 'server' } },
    spec: { nodeName: `node-${zone}`, containers: [{ name: 'server', image: 'server', resources }] },
    status: { phase: 'Running', podIP, podIPs: [{ ip: podIP }], conditions: [{ type: 'Ready', status: 'True' }] },
  };
};

export const stdin = (...objects: readonly KubernetesObject[]): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });

/** A list as kubectl prints it. */
export const list = (items: readonly unknown[], kind = 'List', apiVersion = 'v1'): string =>
  JSON.stringify({ apiVersion, items, kind, metadata: { resourceVersion: '' } }, null, 2);
