// SPDX-License-Identifier: Apache-2.0
// Which Service an address and port belong to, and in which zone an address is: from Services, EndpointSlices and Nodes.
import type { EndpointSlice, Node, Service } from '../apis/core.ts';
import { LABEL_SERVICE_NAME, LABEL_ZONE } from '../apis/names.ts';
import { keyOf, nameOf } from '../apis/object.ts';
import { canonicalAddress, createRangeMap, prefixOf } from './addresses.ts';
import type { Prefix } from './addresses.ts';
import { createPool } from './pool.ts';

/** Keys that an object brought to one of the maps: enough to forget it again. */
interface Brought {
  readonly keys: readonly string[];
  readonly from: { remove(key: string): void };
}

/** Where an address is. */
export interface Place {
  /** Empty where it has none. */
  readonly zone: string;
  /** Name of its Node; empty where that is not known. */
  readonly node: string;
}

export interface Directory {
  setService(service: Service): void;
  removeService(service: Service): void;
  setSlice(slice: EndpointSlice): void;
  removeSlice(slice: EndpointSlice): void;
  setNode(node: Node): void;
  removeNode(node: Node): void;
  /** `namespace/name` of the Service that answers at a cluster or load-balancer address. */
  serviceAt(protocol: string, address: string, port: number): string | undefined;
  /** The same of a node port. */
  serviceOfNodePort(protocol: string, port: number): string | undefined;
  /** Undefined for an address that is in no slice, on no Node and in no Node's range of Pods. */
  placeOf(address: string): Place | undefined;
  /** Whether an address belongs to a Node itself. */
  isNode(address: string): boolean;
  /** Zone of a Node; empty where it has none or is not known. */
  zoneOfNode(name: string): string;
  /** How many Nodes there are. */
  readonly nodes: number;
  /** Whether every Node has a range of Pods: only then an unknown address is outside of the cluster. */
  readonly knowsPodRanges: boolean;
}

/** What left is found for a while: flows outlive Services and endpoints. */
const DEPARTED = 10_000;

/** A map whose entries have several owners, and that finds departed ones until others have taken their room. */
const createShared = <T>() => {
  const living = new Map<string, T>();
  /** Owners beyond the first, where there are any: most entries have one. */
  const more = new Map<string, number>();
  const departed = new Map<string, T>();
  return {
    get: (key: string): T | undefined => living.get(key) ?? departed.get(key),
    add(key: string, value: T) {
      if (living.has(key)) more.set(key, (more.get(key) ?? 0) + 1);
      living.set(key, value);
      departed.delete(key);
    },
    remove(key: string) {
      const value = living.get(key);
      if (value === undefined) return;
      const others = more.get(key) ?? 0;
      if (others > 1) more.set(key, others - 1);
      else more.delete(key);
      if (others > 0) return;
      living.delete(key);
      departed.delete(key);
      departed.set(key, value);
      if (departed.size > DEPARTED) departed.delete(departed.keys().next().value ?? '');
    },
  };
};

const protocolOf = (port: { readonly protocol?: string }): string => (port.protocol ?? 'TCP').toLowerCase();

const ingressAddresses = (status: unknown): string[] => {
  const ingress = (status as { loadBalancer?: { ingress?: { ip?: string }[] } } | undefined)?.loadBalancer?.ingress;
  return (ingress ?? []).flatMap(({ ip }) => (ip === undefined ? [] : [ip]));
};

const addressesOf = ({ spec = {}, status }: Service): string[] => {
  const external = Array.isArray(spec['externalIPs']) ? spec['externalIPs'].filter((ip) => typeof ip === 'string') : [];
  return [...(spec.clusterIPs ?? [spec.clusterIP ?? '']), ...external, ...ingressAddresses(status)].flatMap(
    (address) => {
      const canonical = canonicalAddress(address);
      return canonical === undefined ? [] : [canonical];
    },
  );
};

const endpointKey = (protocol: string, address: string, port: number): string => `${protocol} ${address} ${port}`;

const podRangesOf = ({ spec = {} }: Node): Prefix[] => {
  const [single, several] = [spec['podCIDR'], spec['podCIDRs']];
  const cidrs: unknown[] = Array.isArray(several) ? several : [single];
  return cidrs.flatMap((cidr) => (typeof cidr === 'string' ? (prefixOf(cidr) ?? []) : []));
};

/** An empty directory; callers keep it equal to the cluster. */
export const createDirectory = (): Directory => {
  const services = createShared<string>();
  const nodePorts = createShared<string>();
  const endpoints = createShared<Place>();
  const nodeAddresses = createShared<Place>();
  const ranges = createRangeMap<Place>();
  const prefixes = new Map<string, readonly Prefix[]>();
  const remembered = new Map<string, readonly Brought[]>();
  const pooled = createPool<Place>(({ zone, node }) => `${zone}\n${node}`);

  const forget = (owner: string): void => {
    for (const { keys, from } of remembered.get(owner) ?? []) for (const key of keys) from.remove(key);
    remembered.delete(owner);
  };
  const nodeZones = new Map<string, string>();

  return {
    setService(service) {
      const [owner, name] = [`service ${keyOf(service)}`, keyOf(service)];
      const addresses = addressesOf(service);
      const ports = service.spec?.ports ?? [];
      const keys = addresses.flatMap((address) =>
        ports.map((port) => endpointKey(protocolOf(port), address, port.port)),
      );
      const nodes = ports.flatMap((port) =>
        port.nodePort === undefined ? [] : [endpointKey(protocolOf(port), '', port.nodePort)],
      );
      forget(owner);
      for (const key of keys) services.add(key, name);
      for (const key of nodes) nodePorts.add(key, name);
      remembered.set(owner, [
        { keys, from: services },
        { keys: nodes, from: nodePorts },
      ]);
    },
    removeService: (service) => forget(`service ${keyOf(service)}`),
    setSlice(slice) {
      const owner = `slice ${keyOf(slice)}`;
      forget(owner);
      if (slice.metadata?.labels?.[LABEL_SERVICE_NAME] === undefined) return;
      const keys: string[] = [];
      for (const { addresses, zone, nodeName = '' } of slice.endpoints ?? []) {
        for (const address of addresses) {
          const key = canonicalAddress(address);
          if (key === undefined) continue;
          endpoints.add(key, pooled({ zone: zone ?? nodeZones.get(nodeName) ?? '', node: nodeName }));
          keys.push(key);
        }
      }
      remembered.set(owner, [{ keys, from: endpoints }]);
    },
    removeSlice: (slice) => forget(`slice ${keyOf(slice)}`),
    setNode(node) {
      const name = nameOf(node);
      const place = pooled({ zone: node.metadata?.labels?.[LABEL_ZONE] ?? '', node: name });
      const owner = `node ${name}`;
      forget(owner);
      nodeZones.set(name, place.zone);
      const keys = (node.status?.addresses ?? []).flatMap(({ address }) => canonicalAddress(address) ?? []);
      for (const key of keys) nodeAddresses.add(key, place);
      remembered.set(owner, [{ keys, from: nodeAddresses }]);
      for (const prefix of prefixes.get(name) ?? []) ranges.delete(prefix);
      const own = podRangesOf(node);
      for (const prefix of own) ranges.set(prefix, place);
      prefixes.set(name, own);
    },
    removeNode(node) {
      const name = nameOf(node);
      forget(`node ${name}`);
      nodeZones.delete(name);
      for (const prefix of prefixes.get(name) ?? []) ranges.delete(prefix);
      prefixes.delete(name);
    },
    serviceAt: (protocol, address, port) => services.get(endpointKey(protocol, address, port)),
    serviceOfNodePort: (protocol, port) => nodePorts.get(endpointKey(protocol, '', port)),
    placeOf: (address) => endpoints.get(address) ?? nodeAddresses.get(address) ?? ranges.get(address),
    isNode: (address) => nodeAddresses.get(address) !== undefined,
    zoneOfNode: (name) => nodeZones.get(name) ?? '',
    get nodes() {
      return nodeZones.size;
    },
    get knowsPodRanges() {
      return prefixes.size > 0 && [...prefixes.values()].every((list) => list.length > 0);
    },
  };
};
