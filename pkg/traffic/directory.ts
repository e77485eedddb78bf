// Which Service an address and port belong to, and in which zone an address is: from Services, EndpointSlices and Nodes.
import { type EndpointSlice, type Node, type Service, zoneOfNode } from '../apis/core.ts';
import type { KubernetesObject } from '../apis/meta.ts';
import { LABEL_SERVICE_NAME, LABEL_SLICE_MANAGED_BY } from '../apis/names.ts';
import { keyOf, nameOf } from '../apis/values.ts';
import { isZoneName } from '../hints/readiness.ts';
import { type Prefix, canonicalAddress, createRangeMap, prefixOf } from './addresses.ts';
import { type Claim, type Owner, createClaims } from './claims.ts';

/** Owners of slices choose the values: with more than these, and with long ones, remembering begins anew or is left out. */
const MOST = 10_000;
const LONGEST = 1_000;

/** A function that returns a value equal to the given one, the same each time. `identityOf` is equal for equal values. */
export const createPool = <T>(identityOf: (value: T) => string): ((value: T) => T) => {
  const known = new Map<string, T>();
  return (value) => {
    const key = identityOf(value);
    const found = known.get(key);
    if (found !== undefined) return found;
    if (key.length > LONGEST) return value;
    if (known.size >= MOST) known.clear();
    known.set(key, value);
    return value;
  };
};

/** Where an address is. */
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
}

interface PlaceClaim extends Claim {
  readonly place: Place;
}

interface SliceOwner extends Owner {
  /** `namespace/name` */
  readonly service: string;
  /** The EndpointSlice controller says so; it does of a Service with a selector. */
  readonly isKept: boolean;
}

interface EndpointClaim extends PlaceClaim {
  readonly by: SliceOwner;
}

/**
 * Whose an address is, the strongest first. The API server gives a cluster IP to one Service; a cloud's controller writes the address of a
 * load balancer; owners of Services write any text into `externalIPs`.
 */
const KINDS = ['cluster', 'loadBalancer', 'external'] as const;

const CONTROLLER = 'endpointslice-controller.k8s.io';

const byText = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0);
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

const protocolOf = (port: { readonly protocol?: string }): string => (port.protocol ?? 'TCP').toLowerCase();

const ingressAddresses = (status: unknown): string[] => {
  const ingress = (status as { loadBalancer?: { ingress?: { ip?: string }[] } } | undefined)?.loadBalancer?.ingress;
  return (ingress ?? []).flatMap(({ ip }) => (ip === undefined ? [] : [ip]));
};

/** Each address of a Service with the strongest of what makes it its own. */
const addressesOf = ({ spec = {}, status }: Service): Map<string, ServiceClaim['kind']> => {
  const external = Array.isArray(spec['externalIPs']) ? spec['externalIPs'].filter((ip) => typeof ip === 'string') : [];
  const texts = {
    cluster: spec.clusterIPs ?? [spec.clusterIP ?? ''],
    loadBalancer: ingressAddresses(status),
    external,
  };
  const found = new Map<string, ServiceClaim['kind']>();
  for (const kind of KINDS)
    for (const address of texts[kind].flatMap((text) => canonicalAddress(text) ?? []))
      if (!found.has(address)) found.set(address, kind);
  return found;
};

const portKey = (protocol: string, port: number): string => `${protocol} ${port}`;

const podRangesOf = ({ spec = {} }: Node): Prefix[] => {
  const [single, several] = [spec['podCIDR'], spec['podCIDRs']];
  const cidrs: unknown[] = Array.isArray(several) ? several : [single];
  return cidrs.flatMap((cidr) => (typeof cidr === 'string' ? (prefixOf(cidr) ?? []) : []));
};

const prefixKey = ({ family, bits }: Prefix): string => `${family}/${bits}`;

export type Directory = ReturnType<typeof createDirectory>;

/** An empty directory; callers keep it equal to the cluster. */
export const createDirectory = () => {
  const services = createClaims<ServiceClaim>(strongestFirst, losesPorts);
  const nodePorts = createClaims<Claim>(oldestFirst);
  const endpoints = createClaims<EndpointClaim>(keptFirst);
  const nodeAddresses = createClaims<PlaceClaim>(newestFirst);
  const rangeOwners = createClaims<PlaceClaim>(newestFirst);
  const ranges = createRangeMap<Place>();
  const pooled = createPool<Place>(({ zone, node }) => `${zone}\n${node}`);
  const names = new Set<string>();
  /** Services whose endpoints are chosen by the EndpointSlice controller. */
  const selecting = new Set<string>();
  const nodeZones = new Map<string, string>();
  const prefixes = new Map<string, readonly Prefix[]>();
  let zones: ReadonlySet<string> | undefined;

  const setRanges = (by: Owner, own: readonly Prefix[], place?: Place): void => {
    const before = prefixes.get(by.name) ?? [];
    if (place === undefined) rangeOwners.remove(by.name);
    else rangeOwners.set(by.name, new Map(own.map((prefix) => [prefixKey(prefix), { by, place }])));
    for (const prefix of [...before, ...own]) {
      const first = rangeOwners.first(prefixKey(prefix));
      if (first === undefined) ranges.delete(prefix);
      else ranges.set(prefix, first.place);
    }
  };

  const endpointAt = (address: string): EndpointClaim | undefined =>
    endpoints.find(address, ({ by }) => by.isKept && selecting.has(by.service)) ?? endpoints.first(address);

  return {
    setService(service: Service): void {
      const by = ownerOf(service);
      const { ports = [], selector = {} } = service.spec ?? {};
      const own = new Set(ports.map((port) => portKey(protocolOf(port), port.port)));
      const claims = new Map<string, ServiceClaim>();
      for (const [address, kind] of addressesOf(service)) claims.set(address, { by, kind, ports: own });
      const nodes = ports.flatMap((port) =>
        port.nodePort === undefined ? [] : [portKey(protocolOf(port), port.nodePort)],
      );
      services.set(by.name, claims);
      nodePorts.set(by.name, new Map(nodes.map((key) => [key, { by }])));
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
      const labels = slice.metadata?.labels ?? {};
      const service = labels[LABEL_SERVICE_NAME];
      if (service === undefined) return endpoints.remove(owner.name);
      const by = {
        ...owner,
        service: `${owner.namespace}/${service}`,
        isKept: labels[LABEL_SLICE_MANAGED_BY] === CONTROLLER,
      };
      const claims = new Map<string, EndpointClaim>();
      for (const { addresses, zone, nodeName = '' } of slice.endpoints ?? []) {
        // The API server takes any text for a zone.
        const own = zone === undefined ? nodeZones.get(nodeName) : isZoneName(zone) ? zone : '';
        const claim = { by, place: pooled({ zone: own ?? '', node: nodeName }) };
        for (const address of addresses.flatMap((text) => canonicalAddress(text) ?? [])) claims.set(address, claim);
      }
      endpoints.set(owner.name, claims);
    },
    removeSlice: (slice: EndpointSlice): void => endpoints.remove(keyOf(slice)),
    setNode(node: Node): void {
      const by = { ...ownerOf(node), name: nameOf(node) };
      const place = pooled({ zone: zoneOfNode(node), node: by.name });
      const addresses = (node.status?.addresses ?? []).flatMap(({ address }) => canonicalAddress(address) ?? []);
      nodeAddresses.set(by.name, new Map(addresses.map((address) => [address, { by, place }])));
      nodeZones.set(by.name, place.zone);
      zones = undefined;
      const own = podRangesOf(node);
      setRanges(by, own, place);
      prefixes.set(by.name, own);
    },
    removeNode(node: Node): void {
      const name = nameOf(node);
      nodeAddresses.remove(name);
      nodeZones.delete(name);
      zones = undefined;
      setRanges({ ...ownerOf(node), name }, []);
      prefixes.delete(name);
    },
    /** `namespace/name` of the Service that answers at a cluster or load-balancer address. */
    serviceAt(protocol: string, address: string, port: number): string | undefined {
      const key = portKey(protocol, port);
      const isMeant = ({ ports }: ServiceClaim): boolean => ports.has(key);
      return (services.find(address, isMeant) ?? services.departed(address, isMeant))?.by.name;
    },
    serviceOfNodePort(protocol: string, port: number): string | undefined {
      const key = portKey(protocol, port);
      return (nodePorts.first(key) ?? nodePorts.departed(key))?.by.name;
    },
    /**
     * What a Node says of itself, then what the EndpointSlice controller says of Pods, then what others do, then what was said last.
     * Undefined for an address that is in no slice, on no Node and in no Node's range of Pods.
     */
    placeOf: (address: string): Place | undefined =>
      (nodeAddresses.first(address) ?? endpointAt(address))?.place ??
      (endpoints.departed(address) ?? nodeAddresses.departed(address))?.place ??
      ranges.get(address),
    /** Whether an address belongs to a Node itself. */
    isNode: (address: string): boolean =>
      (nodeAddresses.first(address) ?? nodeAddresses.departed(address)) !== undefined,
    hasService: (name: string): boolean => names.has(name),
    /** Whether a Node is in it. */
    isZone(name: string): boolean {
      zones ??= new Set(nodeZones.values());
      return zones.has(name);
    },
    /** Empty where it has none or is not known. */
    zoneOfNode: (name: string): string => nodeZones.get(name) ?? '',
    get nodes() {
      return nodeZones.size;
    },
    /** Whether every Node has a range of Pods: only then an unknown address is outside of the cluster. */
    get knowsPodRanges() {
      return prefixes.size > 0 && [...prefixes.values()].every((list) => list.length > 0);
    },
  };
};
