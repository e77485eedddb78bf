// Which Service an address belongs to, in which zone it is and what slices say of it: from Services, EndpointSlices and Nodes.
import { type EndpointSlice, type Node, type Service, zoneOfNode } from '../apis/core.ts';
import type { KubernetesObject } from '../apis/meta.ts';
import { LABEL_SERVICE_NAME, LABEL_SLICE_MANAGED_BY, SLICE_CONTROLLER } from '../apis/names.ts';
import { byText, createPool, keptIn, keyOf, nameOf } from '../apis/values.ts';
import { isZoneName } from '../hints/readiness.ts';
import { canonicalAddress, keyOfAddress, keyOfRange } from './addresses.ts';
import { type Claim, type Owner, createClaims } from './claims.ts';

interface Place {
  /** A label value; empty where it has none. */
  readonly zone: string;
  /** Name of its Node; empty where that is not known. */
  readonly node: string;
}

interface ServiceClaim extends Claim {
  readonly kind: (typeof KINDS)[number];
  /** `tcp 80` */
  readonly ports: ReadonlySet<string>;
  /** Connections from inside the cluster stay on their Node. */
  readonly isLocal: boolean;
}

interface NodeClaim extends Claim {
  readonly by: Owner & Pick<Place, 'zone'>;
}

/** What a slice says of an endpoint. */
export interface Endpoint {
  readonly ready: boolean;
  /** Zones of its hints as `|a|b|`, so that a zone is found as `|a|`; empty without hints. */
  readonly hints: string;
  /** Undefined where the slice has none; empty for a text that is none, which the API server takes as well. */
  readonly zone: string | undefined;
  readonly node: string;
}

interface SliceOwner extends Owner {
  /** `namespace/name` */
  readonly service: string;
  /** The EndpointSlice controller says so; it does of a Service with a selector. */
  readonly isKept: boolean;
  /** `tcp 8080` */
  readonly ports: readonly string[];
  readonly version: string;
}

export interface EndpointClaim extends Claim {
  readonly by: SliceOwner;
  readonly endpoint: Endpoint;
}

/** Slices of one namespace that count for an address: each new connection to it looks at all that do. */
export const MOST_SLICES = 64;
/** Endpoints that differ, as owners of slices choose their values. */
const MOST_ENDPOINTS = 10_000;

/**
 * Whose an address is, the strongest first. The API server gives a cluster IP to one Service; a cloud's controller writes the address of a
 * load balancer; owners of Services write any text into `externalIPs`.
 */
const KINDS = ['cluster', 'loadBalancer', 'external'] as const;

/** The API server sets the time, so nothing becomes older than it is. */
const oldestFirst = ({ by: left }: Claim, { by: right }: Claim): number =>
  byText(left.since, right.since) || byText(left.name, right.name);
const strongestFirst = (left: ServiceClaim, right: ServiceClaim): number =>
  KINDS.indexOf(left.kind) - KINDS.indexOf(right.kind) || oldestFirst(left, right);
const keptFirst = (left: EndpointClaim, right: EndpointClaim): number =>
  Number(right.by.isKept) - Number(left.by.isKept) || oldestFirst(left, right);
/** A machine that took an address over is younger than the Node that it replaced. */
const newestFirst = (left: Claim, right: Claim): number => oldestFirst(right, left);

const losesPorts = (before: ServiceClaim, now: ServiceClaim): boolean =>
  [...before.ports].some((port) => !now.ports.has(port));

const ownerOf = (object: KubernetesObject): Owner => ({
  name: keyOf(object),
  namespace: object.metadata?.namespace ?? '',
  since: object.metadata?.creationTimestamp ?? '',
});

const portKey = (protocol: string, port: number | undefined): string => `${protocol.toLowerCase()} ${port}`;

const canonical = (texts: readonly string[]): string[] => texts.flatMap((text) => canonicalAddress(text) ?? []);

/** Each address of a Service with the strongest of what makes it its own. */
const addressesOf = ({ spec = {}, status }: Service): Map<string, ServiceClaim['kind']> => {
  const balancer = (status as { loadBalancer?: { ingress?: { ip?: string }[] } } | undefined)?.loadBalancer;
  const external = Array.isArray(spec['externalIPs']) ? spec['externalIPs'].filter((ip) => typeof ip === 'string') : [];
  const texts = {
    cluster: spec.clusterIPs ?? [spec.clusterIP ?? ''],
    loadBalancer: (balancer?.ingress ?? []).map(({ ip = '' }) => ip),
    external,
  };
  // The last one that is set stays.
  return new Map(KINDS.toReversed().flatMap((kind) => canonical(texts[kind]).map((address) => [address, kind])));
};

const podRangesOf = ({ spec = {} }: Node): string[] => {
  const [single, several] = [spec['podCIDR'], spec['podCIDRs']];
  const cidrs: unknown[] = Array.isArray(several) ? several : [single];
  return cidrs.flatMap((cidr) => (typeof cidr === 'string' ? (keyOfRange(cidr) ?? []) : []));
};

export type Directory = ReturnType<typeof createDirectory>;

/** An empty directory; callers keep it equal to the cluster. `now`: monotonic milliseconds. */
export const createDirectory = (now: () => number = () => 0) => {
  const services = createClaims<ServiceClaim>(strongestFirst, losesPorts);
  const nodePorts = createClaims<Claim>(oldestFirst);
  const endpoints = createClaims<EndpointClaim>(keptFirst, undefined, MOST_SLICES);
  const nodeAddresses = createClaims<NodeClaim>(newestFirst);
  const ranges = createClaims<NodeClaim>(newestFirst);
  const pooled = createPool<Endpoint>(JSON.stringify, MOST_ENDPOINTS);
  const names = new Set<string>();
  /** Services whose endpoints are chosen by the EndpointSlice controller. */
  const selecting = new Set<string>();
  const nodes = new Map<string, { readonly zone: string; readonly changedAt: number; readonly hasRange: boolean }>();
  /** Of the keys of ranges, the longest first: few, whatever the number of Nodes. */
  let rangeLengths: readonly number[] = [];
  const slices = new Map<string, SliceOwner>();
  /** Of each Service. */
  const groups = new Map<string, { readonly slices: Set<string>; changedAt: number }>();

  const endpointOf = (address: string): Endpoint | undefined => {
    const kept = endpoints.first(address, ({ by }) => by.isKept && selecting.has(by.service));
    return (kept ?? endpoints.first(address) ?? endpoints.departed(address))?.endpoint;
  };

  const leaveGroup = ({ name, service }: SliceOwner): void => {
    const group = groups.get(service);
    slices.delete(name);
    group?.slices.delete(name);
    if (group?.slices.size === 0) groups.delete(service);
    else if (group !== undefined) group.changedAt = now();
  };

  const removeSlice = (name: string): void => {
    const known = slices.get(name);
    if (known !== undefined) leaveGroup(known);
    endpoints.remove(name);
  };

  const joinGroup = (by: SliceOwner): void => {
    const group = keptIn(groups, by.service, () => ({ slices: new Set<string>(), changedAt: 0 }));
    group.slices.add(by.name);
    group.changedAt = now();
    slices.set(by.name, by);
  };

  return {
    setService(service: Service): void {
      const by = ownerOf(service);
      const { ports = [], selector = {}, internalTrafficPolicy } = service.spec ?? {};
      const own = new Set(ports.map(({ protocol = 'TCP', port }) => portKey(protocol, port)));
      const isLocal = internalTrafficPolicy === 'Local';
      const claims = [...addressesOf(service)].map(
        ([address, kind]) => [address, { by, kind, ports: own, isLocal }] as const,
      );
      const onNodes = ports.filter(({ nodePort }) => nodePort !== undefined);
      services.set(by.name, new Map(claims));
      nodePorts.set(
        by.name,
        new Map(onNodes.map(({ protocol = 'TCP', nodePort }) => [portKey(protocol, nodePort), { by }])),
      );
      names.add(by.name);
      if (Object.keys(selector).length > 0) selecting.add(by.name);
      else selecting.delete(by.name);
    },
    removeService(service: Service): void {
      const name = keyOf(service);
      services.remove(name);
      nodePorts.remove(name);
      names.delete(name);
      selecting.delete(name);
    },
    setSlice(slice: EndpointSlice): void {
      const owner = ownerOf(slice);
      const { labels = {}, resourceVersion: version = '' } = slice.metadata ?? {};
      const known = slices.get(owner.name);
      // A list that is read again says nothing new.
      if (known !== undefined && version !== '' && known.version === version) return;
      const service = labels[LABEL_SERVICE_NAME];
      if (service === undefined) return removeSlice(owner.name);
      if (known !== undefined) leaveGroup(known);
      const by: SliceOwner = {
        ...owner,
        service: `${owner.namespace}/${service}`,
        isKept: labels[LABEL_SLICE_MANAGED_BY] === SLICE_CONTROLLER,
        ports: (slice.ports ?? []).map(({ protocol = 'TCP', port }) => portKey(protocol, port)),
        version,
      };
      joinGroup(by);
      const claims = new Map<string, EndpointClaim>();
      for (const { addresses, conditions, hints, zone, nodeName: node = '' } of slice.endpoints ?? []) {
        const hinted = (hints?.forZones ?? []).map(({ name }) => `${name}|`).join('');
        const endpoint = pooled({
          ready: conditions?.ready !== false,
          hints: hinted === '' ? '' : `|${hinted}`,
          zone: zone === undefined || isZoneName(zone) ? zone : '',
          node,
        });
        for (const address of canonical(addresses)) claims.set(address, { by, endpoint });
      }
      endpoints.set(owner.name, claims);
    },
    removeSlice: (slice: EndpointSlice): void => removeSlice(keyOf(slice)),
    setNode(node: Node): void {
      const [name, zone] = [nameOf(node), zoneOfNode(node)];
      const by = { ...ownerOf(node), name, zone };
      const claimed = (keys: readonly string[]) => new Map(keys.map((key) => [key, { by }]));
      const own = podRangesOf(node);
      nodeAddresses.set(name, claimed(canonical((node.status?.addresses ?? []).map(({ address }) => address))));
      ranges.set(name, claimed(own));
      rangeLengths = [...new Set([...rangeLengths, ...own.map(({ length }) => length)])].sort((a, b) => b - a);
      const known = nodes.get(name);
      nodes.set(name, { zone, changedAt: known?.zone === zone ? known.changedAt : now(), hasRange: own.length > 0 });
    },
    removeNode(node: Node): void {
      const name = nameOf(node);
      nodeAddresses.remove(name);
      ranges.remove(name);
      nodes.delete(name);
    },
    /** `namespace/name` of the Service that answers at a cluster or load-balancer address. */
    serviceAt(protocol: string, address: string, port: number): string | undefined {
      const key = portKey(protocol, port);
      const departed = services.departed(address);
      const found = services.first(address, ({ ports }) => ports.has(key));
      return (found ?? (departed?.ports.has(key) === true ? departed : undefined))?.by.name;
    },
    serviceOfNodePort(protocol: string, port: number): string | undefined {
      const key = portKey(protocol, port);
      return (nodePorts.first(key) ?? nodePorts.departed(key))?.by.name;
    },
    /** Whether it is the cluster address of this Service, for connections that may leave their Node. */
    isAsked: (service: string, address: string): boolean =>
      services.first(address, ({ by, kind, isLocal }) => by.name === service && kind === 'cluster' && !isLocal) !==
      undefined,
    /**
     * What a Node says of itself, then what the EndpointSlice controller says of Pods, then what others do, then what was said last.
     * Undefined for an address that is in no slice, on no Node and in no Node's range of Pods.
     */
    placeOf(address: string): Place | undefined {
      const living = nodeAddresses.first(address);
      const endpoint = living === undefined ? endpointOf(address) : undefined;
      if (endpoint) return { zone: endpoint.zone ?? nodes.get(endpoint.node)?.zone ?? '', node: endpoint.node };
      const node = living ?? nodeAddresses.departed(address);
      if (node !== undefined) return { zone: node.by.zone, node: node.by.name };
      const key = keyOfAddress(address);
      for (const length of rangeLengths) {
        const range = ranges.first(key.slice(0, length));
        if (range !== undefined) return { zone: range.by.zone, node: range.by.name };
      }
      return undefined;
    },
    endpointsOf: (service: string): (readonly [address: string, Endpoint])[] =>
      [...(groups.get(service)?.slices ?? [])].flatMap((name) =>
        endpoints.keysOf(name).flatMap((address) => {
          const endpoint = endpoints.first(address, ({ by }) => by.name === name)?.endpoint;
          return endpoint === undefined ? [] : [[address, endpoint] as const];
        }),
      ),
    /** What slices say of an address, with the Service and the ports of each. */
    claimsOf: (address: string): readonly EndpointClaim[] => endpoints.all(address),
    slicesChangedAt: (service: string): number | undefined => groups.get(service)?.changedAt,
    /** Zone of a Node, empty without one, and since when; undefined where it is not known. */
    nodeAt: (name: string): { readonly zone: string; readonly changedAt: number } | undefined => nodes.get(name),
    /** Whether an address belongs to a Node itself. */
    isNode: (address: string): boolean =>
      (nodeAddresses.first(address) ?? nodeAddresses.departed(address)) !== undefined,
    hasService: (name: string): boolean => names.has(name),
    isZone: (name: string): boolean => [...nodes.values()].some(({ zone }) => zone === name),
    nodes: () => nodes.size,
    /** Whether every Node has a range of Pods: only then an unknown address is outside of the cluster. */
    knowsPodRanges: () => nodes.size > 0 && [...nodes.values()].every(({ hasRange }) => hasRange),
  };
};
