// What the rules of a kube-proxy in nftables mode say: which endpoints connections to an address may reach.
import { enterPrefix, run } from './bed/machine.ts';

/** A verdict map's key, as nft prints it; with a comment it is wrapped. */
type Key = { readonly concat: readonly (string | number)[] } | { readonly elem: { readonly val: Key } };
interface Goto {
  readonly goto: { readonly target: string };
}
interface Choice<T> {
  readonly key?: { readonly numgen?: { readonly mod: number } };
  readonly data: { readonly set: readonly (readonly [number, T])[] };
}
interface Destination {
  readonly concat: readonly [address: string, port: number];
}
interface Statement {
  readonly dnat?: { readonly addr: string | { readonly map: Choice<Destination> }; readonly port?: number };
  readonly vmap?: Choice<Goto>;
}

/** What `nft -j list table` prints, as far as it is looked at. */
interface Ruleset {
  readonly nftables: readonly {
    readonly map?: { readonly name: string; readonly elem?: readonly (readonly [Key, Partial<Goto>])[] };
    readonly rule?: { readonly chain: string; readonly expr: readonly Statement[] };
  }[];
}

interface ProxyRules {
  /**
   * Endpoints (`IP:PORT`, sorted) of connections to a cluster IP and TCP port; empty where the proxy refuses them, undefined
   * where it does not know the Service.
   *
   * @throws Error when the endpoints are not chosen uniformly, which every model takes for granted.
   */
  used(clusterIp: string, port: number): readonly string[] | undefined;
}

const keyOf = (key: Key): string => ('elem' in key ? keyOf(key.elem.val) : key.concat.join(' '));

const endpointKey = (address: string, port: number): string =>
  address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;

/** Every slot of the random choice, one endpoint each. */
const slotsOf = <T>({ key, data }: Choice<T>, chain: string): readonly T[] => {
  if (key?.numgen?.mod !== data.set.length)
    throw new Error(`${chain} chooses among ${data.set.length} endpoints by a number below ${key?.numgen?.mod}`);
  return data.set.map(([, target]) => target);
};

/** Since 1.34 the Service's chain names the endpoints; before, it jumps to a chain for each. */
const destinationsOf = (chain: string, rules: ReadonlyMap<string, readonly Statement[]>): readonly string[] =>
  (rules.get(chain) ?? []).flatMap(({ dnat, vmap }): readonly string[] => {
    if (vmap !== undefined) return slotsOf(vmap, chain).flatMap(({ goto }) => destinationsOf(goto.target, rules));
    if (dnat === undefined) return [];
    if (typeof dnat.addr === 'string') return [endpointKey(dnat.addr, dnat.port ?? 0)];
    return slotsOf(dnat.addr.map, chain).map(({ concat }) => endpointKey(...concat));
  });

const proxyRules = ({ nftables }: Ruleset): ProxyRules => {
  const rules = new Map<string, Statement[]>();
  const maps = new Map<string, ReadonlyMap<string, string | undefined>>();
  for (const { map, rule } of nftables) {
    if (rule !== undefined) rules.set(rule.chain, [...(rules.get(rule.chain) ?? []), ...rule.expr]);
    if (map !== undefined)
      maps.set(map.name, new Map((map.elem ?? []).map(([key, verdict]) => [keyOf(key), verdict.goto?.target])));
  }
  return {
    used(clusterIp, port) {
      const key = `${clusterIp} tcp ${port}`;
      const chain = maps.get('service-ips')?.get(key);
      if (chain === undefined) return maps.get('no-endpoint-services')?.has(key) === true ? [] : undefined;
      const destinations = [...destinationsOf(chain, rules)].sort();
      if (new Set(destinations).size < destinations.length) throw new Error(`${chain} names an endpoint twice`);
      return destinations;
    },
  };
};

/** The rules of a node's kube-proxy now, for one address family. */
export const readRules = async (namespace: string, family: 'IPv4' | 'IPv6'): Promise<ProxyRules> => {
  const [program, ...prefix] = enterPrefix(namespace);
  const table = ['-j', 'list', 'table', family === 'IPv4' ? 'ip' : 'ip6', 'kube-proxy'];
  return proxyRules(JSON.parse(await run(program, [...prefix, 'nft', ...table])) as Ruleset);
};
