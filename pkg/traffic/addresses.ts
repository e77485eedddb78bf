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

/** Bits of an address, most significant first. */
const bitsOf = (address: string): string => {
  if (IPV4.test(address))
    return address
      .split('.')
      .map((part) => Number(part).toString(2).padStart(8, '0'))
      .join('');
  const [head = '', tail] = address.split('::');
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const [before, after] = [groups(head), groups(tail ?? '')];
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length);
  return [...before, ...Array.from({ length: zeros }, () => '0'), ...after]
    .map((group) => Number.parseInt(group, 16).toString(2).padStart(16, '0'))
    .join('');
};

export interface Prefix {
  readonly family: 4 | 6;
  /** As text of zeros and ones. */
  readonly bits: string;
}

const familyOf = (address: string): 4 | 6 => (address.includes(':') ? 6 : 4);

/** The leading bits that all addresses of a range share; undefined for what is no range. */
export const prefixOf = (cidr: string): Prefix | undefined => {
  const [range = '', length = ''] = cidr.split('/');
  const address = canonicalAddress(range);
  if (address === undefined || !/^\d{1,3}$/.test(length)) return undefined;
  const bits = bitsOf(address);
  return Number(length) > bits.length ? undefined : { family: familyOf(address), bits: bits.slice(0, Number(length)) };
};

/** Values by range of addresses; the longest range wins. */
export const createRangeMap = <T>() => {
  const values = new Map<string, T>();
  /** How many ranges have this family and length: few kinds, whatever the number of Nodes. */
  const lengths = new Map<string, { family: 4 | 6; length: number; count: number }>();
  const keyOf = ({ family, bits }: Prefix): string => `${family}/${bits}`;
  return {
    set(prefix: Prefix, value: T): void {
      if (!values.has(keyOf(prefix))) {
        const { family, bits } = prefix;
        const kind = lengths.get(`${family}/${bits.length}`) ?? { family, length: bits.length, count: 0 };
        lengths.set(`${family}/${bits.length}`, { ...kind, count: kind.count + 1 });
      }
      values.set(keyOf(prefix), value);
    },
    delete(prefix: Prefix): void {
      if (!values.delete(keyOf(prefix))) return;
      const name = `${prefix.family}/${prefix.bits.length}`;
      const kind = lengths.get(name);
      if (kind === undefined || kind.count <= 1) lengths.delete(name);
      else lengths.set(name, { ...kind, count: kind.count - 1 });
    },
    /** `address` in canonical spelling. */
    get(address: string): T | undefined {
      const [family, bits] = [familyOf(address), bitsOf(address)];
      let best = -1;
      let found: T | undefined;
      for (const kind of lengths.values()) {
        if (kind.family !== family || kind.length <= best) continue;
        const value = values.get(`${family}/${bits.slice(0, kind.length)}`);
        if (value === undefined) continue;
        found = value;
        best = kind.length;
      }
      return found;
    },
  };
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
