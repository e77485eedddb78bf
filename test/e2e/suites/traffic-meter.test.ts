// Holds the traffic-meter against the kernel's own counters: bytes and connections between zones, by Service, each flow once.
// Minutes: 3
// Needs: conntrack, iptables
import { readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { ZONE_UNKNOWN } from '../../../pkg/traffic/conntrack.ts';
import { type BedNode, type BedPod, type BedService, useBed } from '../bed/index.ts';
import { atLeast, is, ofLength, waitFor } from '../bed/machine.ts';
import {
  addLocalDns,
  inside,
  installCounters,
  readCounters,
  sendLoad,
  startMeter,
  startServers,
} from '../traffic-meter-world.ts';
import type { KernelCounters, Load, Meter, Sample } from '../traffic-meter-world.ts';

const zones = ['a', 'b', 'c'];
const connections = 500;
/** Further nodes of zone a, whose kube-proxy is another. */
const OTHERS = [
  { name: 'a2', proxyVersion: '1.30', proxyMode: 'nftables' },
  { name: 'a3', proxyVersion: '1.36', proxyMode: 'iptables' },
  { name: 'a4', proxyVersion: '1.30', proxyMode: 'iptables' },
] as const;
const FAMILIES = ['IPv4', 'IPv6'] as const;
const NODE_PORT = 30_080;
/** Small flows are mostly headers; of large ones they are less than this share. */
const headerShare = 0.05;

const sumOf = (samples: readonly Sample[], labels: Readonly<Record<string, string>>): number =>
  samples
    .filter((sample) => Object.entries(labels).every(([name, value]) => sample.labels[name] === value))
    .reduce((sum, { value }) => sum + value, 0);

describe('the traffic-meter on a real kernel', () => {
  const bed = useBed();
  const nodes: BedNode[] = [];
  const pods: BedPod[] = [];
  let service: BedService;
  let client: BedNode;
  let meter: Meter;
  let other: Meter;

  before('three nodes, a server on each, meters on two', async () => {
    for (const zone of zones) {
      const node = await bed().node({ name: `${zone}1`, zone });
      await inside(node, 'sysctl', '-qw', 'net.netfilter.nf_conntrack_acct=1');
      nodes.push(node);
      const pod = await bed().pod({ node, app: 'web', serve: false });
      startServers(bed(), pod);
      pods.push(pod);
    }
    [client] = nodes as [BedNode];
    service = await bed().service({ name: 'web', ipFamilyPolicy: 'RequireDualStack' });
    await waitFor('six endpoints', () => service.endpoints(), ofLength(6));
    await installCounters(client, pods);
    meter = await startMeter(bed(), client);
    other = await startMeter(bed(), nodes[1] as BedNode);
  });

  const bytesTo = async (zone: string, by: Meter = meter): Promise<KernelCounters> => {
    const samples = await by.read('topology_traffic_bytes_total');
    const of = (direction: string): number =>
      sumOf(samples, { service_name: 'web', source_zone: 'a', destination_zone: zone, direction });
    return { request: of('request'), response: of('response') };
  };

  const connectionsOf = async (from: Meter): Promise<number> =>
    sumOf(await from.read('topology_traffic_connections_total'), { service_name: 'web' });

  /** Waits until lists have told of the bytes of flows that linger, and compares zone by zone. */
  const equalsKernel = async (node: BedNode = client, by: Meter = meter): Promise<void> => {
    for (const [index, zone] of zones.entries()) {
      const kernel = (await readCounters(node)).get((pods[index] as BedPod).name);
      await waitFor(
        `bytes between zone a and zone ${zone} as the kernel counts them: ${JSON.stringify(kernel)}`,
        () => bytesTo(zone, by),
        (measured) => JSON.stringify(measured) === JSON.stringify(kernel),
        { timeoutSeconds: 30 },
      );
    }
  };

  const ipv4 = (): string => service.clusterIPs.find((address) => !address.includes(':')) ?? '';
  const ipv6 = (): string => service.clusterIPs.find((address) => address.includes(':')) ?? '';

  const addressOf = (family: (typeof FAMILIES)[number]): string => (family === 'IPv4' ? ipv4() : ipv6());
  const countsExactly = (by: Meter, expected: number): Promise<number> =>
    waitFor(`${expected} connections`, () => connectionsOf(by), is(expected), { timeoutSeconds: 30 });
  const answers = (node: BedNode, address: string): Promise<Load> =>
    waitFor(`the proxy of ${node.name} answers on ${address}`, () => sendLoad(node, address, service.port, 1));

  const loads: Load[] = [];

  for (const family of FAMILIES) {
    it(`${family}: ${connections} flows of mixed sizes are counted to the byte and to the connection`, async () => {
      loads.push(await answers(client, addressOf(family)));
      loads.push(await sendLoad(client, addressOf(family), service.port, connections));
      const expected = loads.reduce((sum, load) => sum + load.connections, 0);
      await waitFor(`${expected} connections`, () => connectionsOf(meter), atLeast(expected), { timeoutSeconds: 30 });
      await equalsKernel();
      // An attempt that met no rule of the proxy yet was a connection, too.
      expect(await connectionsOf(meter), 'connections').to.equal(expected);
    });
  }

  it('of flows above 100 kB the payload is within 1 % of the bytes', async () => {
    const responses = async (): Promise<number> =>
      (await Promise.all(zones.map((zone) => bytesTo(zone)))).reduce((sum, { response }) => sum + response, 0);
    const earlier = await responses();
    const load = await sendLoad(client, ipv4(), service.port, 30, 200_000);
    loads.push(load);
    await countsExactly(
      meter,
      loads.reduce((sum, each) => sum + each.connections, 0),
    );
    await equalsKernel();
    expect(((await responses()) - earlier) / load.payload - 1, 'share of headers').to.be.within(0, 0.01);
  });

  for (const options of OTHERS) {
    it(`kube-proxy ${options.proxyVersion} in ${options.proxyMode} mode: both families, to the byte and to the connection`, async () => {
      const node = await bed().node({ ...options, zone: 'a' });
      await inside(node, 'sysctl', '-qw', 'net.netfilter.nf_conntrack_acct=1');
      await installCounters(node, pods);
      const own = await startMeter(bed(), node);
      let expected = 0;
      for (const family of FAMILIES) {
        await answers(node, addressOf(family));
        await sendLoad(node, addressOf(family), service.port, 150);
        expected += 151;
        await countsExactly(own, expected);
        await equalsKernel(node, own);
      }
      expect(sumOf(await own.read('topology_traffic_lost_total'), {}), 'lost').to.equal(0);
      await own.component.stop();
    });
  }

  it('bytes are what clients read, but for headers', async () => {
    const responses = (await Promise.all(zones.map((zone) => bytesTo(zone)))).reduce(
      (sum, { response }) => sum + response,
      0,
    );
    const payload = loads.reduce((sum, load) => sum + load.payload, 0);
    expect(responses).to.be.at.least(payload);
    expect(responses / payload - 1, 'share of headers').to.be.below(headerShare);
  });

  it('the node of an endpoint counts none of it a second time', async () => {
    expect(await connectionsOf(other)).to.equal(0);
    const samples = await other.read('topology_traffic_bytes_total');
    expect(sumOf(samples, { service_name: 'web' })).to.equal(0);
  });

  it('is in the state Measuring, and reports nothing as lost', async () => {
    expect(sumOf(await meter.read('topology_traffic_state'), { state: 'Measuring' })).to.equal(1);
    expect(sumOf(await meter.read('topology_traffic_lost_total'), {})).to.equal(0);
  });

  it('a flow that asks for no Service is counted by the zone of its peer', async () => {
    const target = pods[2] as BedPod;
    await sendLoad(client, target.addresses.ipv4, 8080, 5);
    await waitFor(
      'five flows from zone a to zone c without a Service',
      () => meter.read('topology_traffic_connections_total'),
      (samples) => sumOf(samples, { service_name: '', source_zone: 'a', destination_zone: 'c' }) >= 5,
      { timeoutSeconds: 30 },
    );
  });

  it('a connection from outside to a node port is counted by the node where it enters, and by no other', async () => {
    // As every Node has it: kube-proxy does not set it, and elsewhere a bed needs no forwarding.
    for (const setting of ['ip_forward=1', 'conf.all.send_redirects=0'])
      await inside(client, 'sysctl', '-qw', `net.ipv4.${setting}`);
    const ports = [{ name: 'main', port: 80, targetPort: 8080, nodePort: NODE_PORT }];
    await bed().service({ name: 'door', app: 'web', spec: { type: 'NodePort', ports } });
    const { ipv4: entry } = client.addresses;
    await waitFor('the node port answers', () => sendLoad('outside', entry, NODE_PORT, 1));
    await sendLoad('outside', entry, NODE_PORT, 59);
    const counted = async (by: Meter, labels: Readonly<Record<string, string>>): Promise<number> =>
      sumOf(await by.read('topology_traffic_connections_total'), labels);
    const entered = { service_name: 'door', source_zone: 'a' };
    // An attempt that met no rule of the proxy yet is counted too where the Service is known by then: as to nowhere.
    const answered = async (): Promise<number> =>
      (await counted(meter, entered)) - (await counted(meter, { ...entered, destination_zone: ZONE_UNKNOWN }));
    await waitFor('60 connections from zone a to the Service', answered, is(60), { timeoutSeconds: 30 });
    expect(await counted(meter, { service_name: 'door', destination_zone: 'b' }), 'to zone b').to.be.above(0);
    expect(await counted(other, { service_name: 'door' }), 'at the endpoint in zone b').to.equal(0);
    expect(await counted(other, { source_zone: 'external' }), 'there, as from outside').to.equal(0);
  });

  it('a meter that was killed begins anew, and counts nothing twice', async () => {
    await meter.component.kill();
    meter.component.start();
    await meter.ready();
    expect(await connectionsOf(meter), 'connections that began before').to.equal(0);
    const earlier = await readCounters(client);
    await sendLoad(client, ipv4(), service.port, 50);
    await waitFor('50 connections', () => connectionsOf(meter), is(50), { timeoutSeconds: 30 });
    for (const [index, zone] of zones.entries()) {
      const { name } = pods[index] as BedPod;
      const [now, then] = [(await readCounters(client)).get(name), earlier.get(name)];
      const response = (now?.response ?? 0) - (then?.response ?? 0);
      await waitFor(
        `${response} bytes from zone ${zone} since the start`,
        async () => (await bytesTo(zone)).response,
        is(response),
        { timeoutSeconds: 30 },
      );
    }
  });

  it('events that the kernel drops are reported, and what is still in its table is counted once all the same', async () => {
    const pidFile = `${bed().directory}/conntrack.pid`;
    const program = `${bed().directory}/conntrack-small-buffer`;
    // The same program with a buffer of a few events, and its process by name.
    const words = 'for word do shift; [ "$word" = 8388608 ] && word=4096; set -- "$@" "$word"; done';
    writeFileSync(program, `#!/bin/sh\n[ "$1" = -E ] && echo $$ >${pidFile}\n${words}\nexec conntrack "$@"\n`, {
      mode: 0o755,
    });
    await meter.component.stop();
    const small = await startMeter(bed(), client, `--conntrack=${program}`);
    const lost = async (reason: string): Promise<number> =>
      sumOf(await small.read('topology_traffic_lost_total'), { reason });
    expect(await lost('Overrun')).to.equal(0);
    const follower = Number(readFileSync(pidFile, 'utf8'));
    // Ports of their own: a flow with the addresses of one that ended shortly before may get its id too, and passes for it unseen.
    await inside(client, 'sysctl', '-qw', 'net.ipv4.ip_local_port_range=61000 65500');
    process.kill(follower, 'SIGSTOP');
    await sendLoad(client, ipv4(), service.port, 200);
    process.kill(follower, 'SIGCONT');
    await waitFor('an overrun', () => lost('Overrun'), atLeast(1), { timeoutSeconds: 30 });
    await countsExactly(small, 200);

    // What begins and ends unseen leaves nothing to be found: it is not made up for.
    await inside(client, 'sysctl', '-qw', 'net.netfilter.nf_conntrack_tcp_timeout_time_wait=1');
    const overruns = await lost('Overrun');
    process.kill(follower, 'SIGSTOP');
    await sendLoad(client, ipv4(), service.port, 200);
    await inside(client, 'sleep', '3');
    await inside(client, 'conntrack', '-L');
    process.kill(follower, 'SIGCONT');
    await waitFor('another overrun', () => lost('Overrun'), atLeast(overruns + 1), { timeoutSeconds: 30 });
    expect(await connectionsOf(small), 'connections').to.be.within(200, 399);
    await small.component.stop();
    meter.component.start();
    await meter.ready();
  });

  it('the DNS Service of a node with NodeLocal DNSCache is reported as unsupported', async () => {
    const dns = await bed().service({ name: 'dns', app: 'web', port: 53 });
    const unsupported = async (): Promise<string[]> =>
      (await meter.read('topology_traffic_unsupported_services')).map(({ labels }) => labels['service_name'] ?? '');
    expect(await unsupported()).to.deep.equal([]);
    await addLocalDns(client, dns.clusterIPs[0]);
    await waitFor('the Service dns', unsupported, (names) => names.join() === 'dns', { timeoutSeconds: 30 });
  });

  it('says so where the kernel does not count bytes', async () => {
    await inside(client, 'sysctl', '-qw', 'net.netfilter.nf_conntrack_acct=0');
    await waitFor(
      'state AccountingOff',
      () => meter.read('topology_traffic_state'),
      (samples) => sumOf(samples, { state: 'AccountingOff' }) === 1,
      { timeoutSeconds: 30 },
    );
  });
});
