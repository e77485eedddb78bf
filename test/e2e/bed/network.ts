// Wires the namespaces of a bed: one bridge in the control plane, one veth pair per node, no route that leads out.
import { clusterRanges, serviceRanges } from './addresses.ts';
import type { AddressPair } from './addresses.ts';
import { ip } from './namespaces.ts';

const bridge = 'bed0';

const prefixLength = (range: string): string => range.slice(range.indexOf('/'));

/** Gives an interface both addresses; usable at once, without duplicate address detection. */
export const addAddresses = async (namespace: string, device: string, addresses: AddressPair): Promise<void> => {
  await ip(namespace, 'addr', 'add', `${addresses.ipv4}${prefixLength(clusterRanges[0])}`, 'dev', device);
  await ip(namespace, 'addr', 'add', `${addresses.ipv6}${prefixLength(clusterRanges[1])}`, 'dev', device, 'nodad');
};

/** Takes both addresses from an interface. */
export const removeAddresses = async (namespace: string, device: string, addresses: AddressPair): Promise<void> => {
  await ip(namespace, 'addr', 'del', `${addresses.ipv4}${prefixLength(clusterRanges[0])}`, 'dev', device);
  await ip(namespace, 'addr', 'del', `${addresses.ipv6}${prefixLength(clusterRanges[1])}`, 'dev', device);
};

/** Creates the bridge that joins all nodes, and gives the control plane its addresses on it. */
export const createBridge = async (controlPlane: string, addresses: AddressPair): Promise<void> => {
  // Left to itself a bridge takes the lowest address of its ports: a node that joins could change it, and the others
  // would go on sending to the old one until their neighbour entry expires, up to 45 seconds later.
  await ip(controlPlane, 'link', 'add', bridge, 'address', '02:00:00:00:00:01', 'type', 'bridge');
  await ip(controlPlane, 'link', 'set', bridge, 'up');
  await addAddresses(controlPlane, bridge, addresses);
};

/** Removes the bridge, for a control-plane namespace that goes on living. */
export const removeBridge = (controlPlane: string): Promise<string> => ip(controlPlane, 'link', 'delete', bridge);

/** The one network device of a node. */
export const nodeDevice = 'eth0';

/**
 * Joins a node's namespace to the bridge. The pair is made inside the two namespaces: made in the root namespace,
 * two beds would collide over the names. Service addresses get a route so that the kernel has a way out for the
 * packet before kube-proxy's rules replace its destination.
 */
export const joinNode = async (
  controlPlane: string,
  node: string,
  index: number,
  addresses: AddressPair,
): Promise<void> => {
  const port = `node${index}`;
  await ip(node, 'link', 'add', nodeDevice, 'type', 'veth', 'peer', 'name', port, 'netns', controlPlane);
  await ip(controlPlane, 'link', 'set', port, 'master', bridge, 'up');
  await ip(node, 'link', 'set', nodeDevice, 'up');
  await addAddresses(node, nodeDevice, addresses);
  for (const range of serviceRanges) await ip(node, 'route', 'add', range, 'dev', nodeDevice);
};
