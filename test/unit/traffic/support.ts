// A cluster of three zones for the tests of the meter, and flows as conntrack prints them.
import { type Directory, createDirectory } from '../../../pkg/traffic/directory.ts';
import type { OwnNode } from '../../../pkg/traffic/conntrack.ts';

/** Node n1 of zone a, which knows its own address. */
export const own: OwnNode = {
  name: 'n1',
  isLocal: (address) => address === '192.168.0.1' || address.startsWith('10.1.1.'),
};

/** Nodes n1, n2, n3 in zones a, b, c; Service shop/web at 10.96.0.1:80 with one endpoint on each. */
export const threeZones = (): Directory => {
  const directory = createDirectory();
  for (const [index, zone] of ['a', 'b', 'c'].entries()) {
    const number = index + 1;
    directory.setNode({
      metadata: { name: `n${number}`, labels: { 'topology.kubernetes.io/zone': zone } },
      spec: { podCIDR: `10.1.${number}.0/24` },
      status: { addresses: [{ type: 'InternalIP', address: `192.168.0.${number}` }] },
    });
  }
  directory.setService({
    metadata: { namespace: 'shop', name: 'web' },
    spec: { clusterIP: '10.96.0.1', ports: [{ port: 80, nodePort: 30_080 }] },
    status: { loadBalancer: { ingress: [{ ip: '198.51.100.1' }] } },
  });
  directory.setSlice({
    metadata: { namespace: 'shop', name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    endpoints: ['a', 'b', 'c'].map((zone, index) => ({
      addresses: [`10.1.${index + 1}.1`],
      zone,
      nodeName: `n${index + 1}`,
    })),
  });
  return directory;
};

const split = (end: string): [string, string] => {
  const at = end.lastIndexOf(':');
  return [end.slice(0, at), end.slice(at + 1)];
};

export interface LineOptions {
  readonly event?: 'NEW' | 'DESTROY';
  readonly id?: number;
  /** Of both directions. */
  readonly bytes?: readonly [request: number, response: number];
  readonly zone?: number;
}

/** A flow from `from` to `to`; `chosen` answers it, to `answered`. Each is `address:port`. */
export const lineOf = (
  { event, id = 1, bytes, zone }: LineOptions,
  from: string,
  to: string,
  chosen: string = to,
  answered: string = from,
): string => {
  const direction = (source: string, destination: string, carried: number | undefined): string => {
    const [[src, sport], [dst, dport]] = [split(source), split(destination)];
    const counters = carried === undefined ? '' : ` packets=1 bytes=${carried}`;
    return `src=${src} dst=${dst} sport=${sport} dport=${dport}${counters}`;
  };
  const head = event === undefined ? '' : `[${event}] `;
  const tail = zone === undefined ? '' : ` zone=${zone}`;
  return `${head}ipv4     2 tcp      6 119 ESTABLISHED ${direction(from, to, bytes?.[0])} ${direction(chosen, answered, bytes?.[1])} [ASSURED] mark=0${tail} use=1 id=${id}`;
};

export const line = (from: string, to: string, chosen?: string, answered?: string): string =>
  lineOf({}, from, to, chosen, answered);
