// Addresses and ranges of both families, in the one spelling that the kernel prints.
// Addresses that a node reaches without a next hop: its Pods, where a network plugin gives each a route of its own.

const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;

/** As conntrack prints it (RFC 5952 for IPv6); undefined for what is no address. */
export const canonicalAddress = (address: string): string | undefined => {
  if (IPV4.test(address)) return address;
  if (!address.includes(':')) return undefined;
  const url = `http://[${address}]/`;
  return URL.canParse(url) ? new URL(url).hostname.slice(1, -1) : undefined;
};

const bitsOf = (parts: readonly string[], radix: number, length: number): string =>
  parts.map((part) => Number.parseInt(part, radix).toString(2).padStart(length, '0')).join('');

/** The family of an address in canonical spelling and its bits, most significant first: `4/00001010…`. The key of a range is the beginning of it. */
export const keyOfAddress = (address: string): string => {
  if (IPV4.test(address)) return `4/${bitsOf(address.split('.'), 10, 8)}`;
  const [before = [], after = []] = address.split('::').map((text) => (text === '' ? [] : text.split(':')));
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0');
  return `6/${bitsOf([...before, ...zeros, ...after], 16, 16)}`;
};

/** What the keys of all addresses of a range begin with; undefined for what is no range. */
export const keyOfRange = (cidr: string): string | undefined => {
  const [range = '', length = ''] = cidr.split('/');
  const address = canonicalAddress(range);
  if (address === undefined || !/^\d{1,3}$/.test(length)) return undefined;
  const key = keyOfAddress(address);
  const end = '4/'.length + Number(length);
  return end > key.length ? undefined : key.slice(0, end);
};

/** Loopback, link-local and multicast: such traffic never leaves a node's own network, so no zone is crossed. */
export const staysOnLink = (address: string): boolean => {
  if (address.includes(':')) return address === '::1' || address === '::' || /^(?:ff|fe[89ab])/.test(address);
  const first = Number(address.slice(0, address.indexOf('.')));
  return first === 127 || first === 0 || first >= 224 || address.startsWith('169.254.');
};

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
