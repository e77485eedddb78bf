// From Pods to the endpoints and ports that the slices of a Service should hold; behaviour of the EndpointSlice controller.
import type { Endpoint } from '../../pkg/apis/core.ts';
import { LABEL_ZONE } from '../../pkg/apis/names.ts';
import { asArray, asRecord, asString, isRecord, labelsOf, nameOf, namespaceOf } from './object.ts';
import type { JsonRecord, StoredObject } from './object.ts';

export type Family = 'IPv4' | 'IPv6';

/** Endpoints that share one set of resolved ports, hence can share slices. */
export interface PortGroup {
  readonly ports: JsonRecord[];
  readonly endpoints: Endpoint[];
}

export interface EndpointInput {
  readonly service: StoredObject;
  readonly pods: readonly StoredObject[];
  readonly nodeOf: (name: string) => StoredObject | undefined;
  readonly family: Family;
}

export interface Desired {
  readonly groups: Map<string, PortGroup>;
  /** Pods left out because their Node is not known (yet). */
  readonly missingNodes: boolean;
}

const podAddress = (pod: StoredObject, family: Family): string | undefined => {
  const status = asRecord(pod['status']);
  const addresses = asArray(status['podIPs']).map((item) => asString(asRecord(item)['ip']));
  if (addresses.length === 0 && status['podIP'] !== undefined) addresses.push(asString(status['podIP']));
  return addresses.find((address) => address !== '' && address.includes(':') === (family === 'IPv6'));
};

const isReady = (pod: StoredObject): boolean =>
  asArray(asRecord(pod['status'])['conditions']).some(
    (item) => asRecord(item)['type'] === 'Ready' && asRecord(item)['status'] === 'True',
  );

/** Conditions by the table of the controller; publishNotReady lifts `ready` only. */
export const endpointConditions = (
  podReady: boolean,
  terminating: boolean,
  publishNotReady: boolean,
): { ready: boolean; serving: boolean; terminating: boolean } => ({
  ready: publishNotReady || (podReady && !terminating),
  serving: podReady,
  terminating,
});

const belongs = (pod: StoredObject): boolean =>
  !['Failed', 'Succeeded'].includes(asString(asRecord(pod['status'])['phase']));

const containerPort = (pod: StoredObject, name: string, protocol: string): number | undefined => {
  const containers = [
    ...asArray(asRecord(pod['spec'])['containers']),
    ...asArray(asRecord(pod['spec'])['initContainers']),
  ];
  for (const container of containers) {
    for (const port of asArray(asRecord(container)['ports'])) {
      const { name: own, containerPort: number, protocol: ownProtocol = 'TCP' } = asRecord(port);
      if (own === name && ownProtocol === protocol && typeof number === 'number') return number;
    }
  }
  return undefined;
};

/** The Service's ports as this Pod serves them; ports that it does not name are left out. */
const portsOf = (service: StoredObject, pod: StoredObject): JsonRecord[] =>
  asArray(asRecord(service['spec'])['ports']).flatMap((item) => {
    const { name, protocol, port, targetPort, appProtocol } = asRecord(item);
    const target =
      typeof targetPort === 'string' ? containerPort(pod, targetPort, asString(protocol)) : (targetPort ?? port);
    if (typeof target !== 'number') return [];
    return [
      {
        name: name ?? '',
        protocol: protocol ?? 'TCP',
        port: target,
        ...(appProtocol === undefined ? {} : { appProtocol }),
      },
    ];
  });

const toEndpoint = (service: StoredObject, pod: StoredObject, address: string, zone: string): Endpoint => {
  const spec = asRecord(pod['spec']);
  const nodeName = asString(spec['nodeName']);
  const publish = asRecord(service['spec'])['publishNotReadyAddresses'] === true;
  const hostname = asString(spec['hostname']);
  const named = hostname !== '' && asString(spec['subdomain']) === nameOf(service);
  return {
    addresses: [address],
    conditions: endpointConditions(isReady(pod), pod.metadata.deletionTimestamp !== undefined, publish),
    ...(named ? { hostname } : {}),
    targetRef: {
      kind: 'Pod',
      namespace: namespaceOf(pod),
      name: nameOf(pod),
      ...(pod.metadata.uid === undefined ? {} : { uid: pod.metadata.uid }),
    },
    ...(nodeName === '' ? {} : { nodeName }),
    ...(zone === '' ? {} : { zone }),
  };
};

/** True when the Pod is behind the Service's selector. */
export const selects = (service: StoredObject, pod: StoredObject): boolean => {
  const selector = asRecord(service['spec'])['selector'];
  if (!isRecord(selector) || namespaceOf(service) !== namespaceOf(pod)) return false;
  const labels = labelsOf(pod);
  const wanted = Object.entries(selector);
  return wanted.length > 0 && wanted.every(([key, value]) => labels[key] === value);
};

/** What the slices of one address family should hold, grouped by ports. */
export const desiredEndpoints = ({ service, pods, nodeOf, family }: EndpointInput): Desired => {
  const groups = new Map<string, PortGroup>();
  let missingNodes = false;
  const publish = asRecord(service['spec'])['publishNotReadyAddresses'] === true;
  for (const pod of pods) {
    const address = podAddress(pod, family);
    if (address === undefined || !belongs(pod) || !selects(service, pod)) continue;
    const nodeName = asString(asRecord(pod['spec'])['nodeName']);
    const node = nodeOf(nodeName);
    if (node === undefined && nodeName !== '') {
      missingNodes = true;
      if (!publish) continue;
    }
    const ports = portsOf(service, pod);
    const key = JSON.stringify(ports);
    const group = groups.get(key) ?? { ports, endpoints: [] };
    group.endpoints.push(toEndpoint(service, pod, address, labelsOf(node)[LABEL_ZONE] ?? ''));
    groups.set(key, group);
  }
  return { groups, missingNodes };
};
