// Which Service a flow asked for and which zones it connects, and whether this node is the one that counts it.
import { staysOnLink } from './addresses.ts';
import type { Flow } from './conntrack.ts';
import type { Directory } from './directory.ts';

/** Zone of an address that is in the cluster, in a zone that cannot be found out. */
export const ZONE_UNKNOWN = 'unknown';
/** In place of a zone: the address is outside of the cluster. */
export const ZONE_EXTERNAL = 'external';
/** In place of a Service: the flow asked for none. */
export const NO_SERVICE = '';

export interface Route {
  /** `namespace/name`, `NO_SERVICE`, or `unknown` where an address was translated for a Service that is not found. */
  readonly service: string;
  /** Zone of the client, where it is in the cluster. */
  readonly source: string;
  /** Zone of the endpoint that was chosen. */
  readonly destination: string;
}

/** `elsewhere`: another node counts it. `ambiguous`: nothing says where its client is, so it would be counted twice. */
export type Routing =
  | { readonly kind: 'counted'; readonly route: Route }
  | { readonly kind: 'skipped'; readonly reason: 'elsewhere' | 'link' | 'ambiguous' };

/** The node whose conntrack table is read. */
export interface OwnNode {
  readonly name: string;
  /** Whether an address is this node's or one of its Pods', by what the node itself knows: its addresses and routes. */
  isLocal(address: string): boolean;
}

const skipped = (reason: 'elsewhere' | 'link' | 'ambiguous'): Routing => ({ kind: 'skipped', reason });

const isTranslated = ({ original, reply }: Flow): boolean =>
  original.destination !== reply.source || original.destinationPort !== reply.sourcePort;

const serviceOf = ({ protocol, original }: Flow, directory: Directory): string | undefined => {
  const { destination, destinationPort } = original;
  return (
    directory.serviceAt(protocol, destination, destinationPort) ??
    (directory.isNode(destination) ? directory.serviceOfNodePort(protocol, destinationPort) : undefined)
  );
};

const zoneOf = (address: string, directory: Directory): string => {
  const place = directory.placeOf(address);
  if (place !== undefined) return place.zone === '' ? ZONE_UNKNOWN : place.zone;
  return directory.knowsPodRanges ? ZONE_EXTERNAL : ZONE_UNKNOWN;
};

/** The own zone, as the Node's label says now. */
export const ownZone = (own: OwnNode, directory: Directory): string => directory.zoneOfNode(own.name) || ZONE_UNKNOWN;

/**
 * A flow to a Service is translated on its client's node and nowhere else, and counted there. One that asked for no Service is
 * in the tables of both nodes: the client's counts it, or the only one, where the client is outside of the cluster.
 */
export const routeOf = (flow: Flow, own: OwnNode, directory: Directory): Routing => {
  const { original, reply } = flow;
  if (staysOnLink(original.destination) && !isTranslated(flow)) return skipped('link');
  const here = ownZone(own, directory);
  const service = serviceOf(flow, directory);
  if (service !== undefined || isTranslated(flow)) {
    const destination = service !== undefined && !isTranslated(flow) ? ZONE_UNKNOWN : zoneOf(reply.source, directory);
    return { kind: 'counted', route: { service: service ?? 'unknown', source: here, destination } };
  }
  const place = directory.placeOf(original.source);
  if (own.isLocal(original.source) || place?.node === own.name) {
    const route = { service: NO_SERVICE, source: here, destination: zoneOf(original.destination, directory) };
    return { kind: 'counted', route };
  }
  if (place !== undefined) return skipped('elsewhere');
  if (!directory.knowsPodRanges) return skipped('ambiguous');
  return { kind: 'counted', route: { service: NO_SERVICE, source: ZONE_EXTERNAL, destination: here } };
};
