// Addresses that a node reaches without a next hop: its Pods, where a network plugin gives each a route of its own.
import { canonicalAddress } from './addresses.ts';

/** `0100007F`: as the kernel writes an address of IPv4, the last byte first. */
const fromHex = (hex: string): string =>
  (hex.match(/../g) ?? [])
    .reverse()
    .map((byte) => Number.parseInt(byte, 16))
    .join('.');

/** Addresses with a route of their own and no gateway, of the text of /proc/net/route. */
export const hostRoutes = (text: string): string[] =>
  text
    .split('\n')
    .slice(1)
    .map((line) => line.split('\t'))
    .filter(([, , gateway, , , , , mask]) => gateway === '00000000' && mask === 'FFFFFFFF')
    .map(([, destination = '']) => fromHex(destination));

/** The node's own addresses of IPv4, also on interfaces that are down, of the text of /proc/net/fib_trie. */
export const localAddresses = (text: string): string[] => [
  ...new Set([...text.matchAll(/\|-- (\S+)\n\s+\/32 host LOCAL/g)].map(([, address = '']) => address)),
];

/** Addresses with a route of their own and no gateway, of the text of /proc/net/ipv6_route. */
export const hostRoutes6 = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, length, , , gateway]) => length === '80' && /^0{32}$/.test(gateway ?? ''))
    .flatMap(([destination = '']) => canonicalAddress(destination.replace(/(.{4})(?=.)/g, '$1:')) ?? []);
