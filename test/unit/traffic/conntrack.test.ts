import { expect } from 'chai';
import { describe, it } from 'mocha';
import { type Routing, parseFlow, routeOf } from '../../../pkg/traffic/conntrack.ts';
import type { Directory } from '../../../pkg/traffic/directory.ts';
import { canonicalAddress, keyOfAddress, keyOfRange, staysOnLink } from '../../../pkg/traffic/addresses.ts';
import { line, own, threeZones } from './support.ts';

// Lines as conntrack v1.4.7 printed them.
const NEW =
  '    [NEW] ipv4     2 tcp      6 120 SYN_SENT src=10.0.0.9 dst=10.96.0.1 sport=39108 dport=80 [UNREPLIED] src=10.1.0.1 dst=10.0.0.9 sport=8099 dport=39108 id=2626971688';
const DESTROY =
  '[DESTROY] ipv4     2 tcp      6 119 TIME_WAIT src=10.0.0.9 dst=10.96.0.1 sport=39108 dport=80 packets=4 bytes=216 src=10.1.0.1 dst=10.0.0.9 sport=8099 dport=39108 packets=5 bytes=50268 [ASSURED] id=2626971688 [USERSPACE] portid=2828022558';
const LISTED =
  'ipv4     2 tcp      6 119 TIME_WAIT src=10.0.0.9 dst=10.96.0.1 sport=39108 dport=80 packets=4 bytes=216 src=10.1.0.1 dst=10.0.0.9 sport=8099 dport=39108 packets=5 bytes=50268 [ASSURED] mark=0 use=1 id=2626971688';
const ICMP =
  'ipv4     2 icmp     1 29 src=10.0.0.9 dst=10.1.0.1 type=8 code=0 id=77 packets=1 bytes=84 src=10.1.0.1 dst=10.0.0.9 type=0 code=0 id=77 packets=1 bytes=84 mark=0 use=1 id=4';
const SIX =
  '[1795337911.495306]	    [NEW] ipv6     10 udp      17 30 src=2001:db8::9 dst=2001:db8:18::1 sport=4000 dport=53 [UNREPLIED] src=2001:db8:19::1 dst=2001:db8::9 sport=53 dport=4000 zone=3 id=12';

describe('lines of conntrack', () => {
  it('a new flow has what was asked for, what was chosen, and no bytes', () => {
    expect(parseFlow(NEW)).to.deep.equal({
      event: 'NEW',
      protocol: 'tcp',
      original: {
        source: '10.0.0.9',
        destination: '10.96.0.1',
        sourcePort: 39_108,
        destinationPort: 80,
        bytes: undefined,
      },
      reply: {
        source: '10.1.0.1',
        destination: '10.0.0.9',
        sourcePort: 8_099,
        destinationPort: 39_108,
        bytes: undefined,
      },
      zone: '',
      id: 2_626_971_688,
    });
  });

  it('a flow that ended has the bytes of both directions', () => {
    const flow = parseFlow(DESTROY);
    expect(flow?.event).to.equal('DESTROY');
    expect([flow?.original.bytes, flow?.reply.bytes]).to.deep.equal([216, 50_268]);
  });

  it('a line of a list has no event', () => {
    expect(parseFlow(LISTED)).to.deep.include({ event: undefined, protocol: 'tcp', id: 2_626_971_688 });
  });

  it('a protocol without ports has ports 0, and the identifier at its end', () => {
    const flow = parseFlow(ICMP);
    expect(flow).to.deep.include({ protocol: 'icmp', id: 4 });
    expect(flow?.original.sourcePort).to.equal(0);
  });

  it('IPv6 with a time in front and a conntrack zone', () => {
    const flow = parseFlow(SIX);
    expect(flow).to.deep.include({ event: 'NEW', protocol: 'udp', zone: 'zone 3 ', id: 12 });
    expect(flow?.reply.source).to.equal('2001:db8:19::1');
  });

  for (const [name, text] of [
    ['nothing', ''],
    ['the closing line of a list', 'conntrack v1.4.7 (conntrack-tools): 2 flow entries have been shown.'],
    ['a flow of another family', 'unknown  2 tcp      6 src=1 dst=2 sport=1 dport=1 src=2 dst=1 sport=1 dport=1 id=1'],
    ['a line that was cut', NEW.slice(0, 80)],
  ] as const) {
    it(`${name} is no flow`, () => {
      expect(parseFlow(text)).to.equal(undefined);
    });
  }
});

const routing = (directory: Directory, ...ends: Parameters<typeof line>): Routing => {
  const flow = parseFlow(line(...ends));
  if (flow === undefined) throw new Error('the line is no flow');
  return routeOf(flow, own, directory);
};

const counted = (service: string, source: string, destination: string): Routing => ({
  kind: 'counted',
  route: { service, source, destination },
});

describe('which Service and zones a flow belongs to', () => {
  const rows: readonly (readonly [name: string, ends: Parameters<typeof line>, expected: Routing])[] = [
    [
      'a client from outside asks a node port, an endpoint of another zone answers',
      ['203.0.113.7:4000', '192.168.0.1:30080', '10.1.2.1:8080', '192.168.0.1:4000'],
      counted('shop/web', 'a', 'b'),
    ],
    [
      'a client from outside asks the address of a load balancer',
      ['203.0.113.7:4000', '198.51.100.1:80', '10.1.2.1:8080'],
      counted('shop/web', 'a', 'b'),
    ],
    [
      'an address was translated for a Service that is not known',
      ['10.1.1.9:4000', '10.96.0.99:80', '10.1.2.1:8080'],
      counted('unknown', 'a', 'b'),
    ],
    [
      'a Service without endpoints is asked',
      ['10.1.1.9:4000', '10.96.0.1:80', '10.96.0.1:80'],
      counted('shop/web', 'a', 'unknown'),
    ],
    ['a Pod here asks a Pod that is in no slice', ['10.1.1.9:4000', '10.1.2.200:8080'], counted('', 'a', 'b')],
    ['a Pod here asks a server on the internet', ['10.1.1.9:4000', '203.0.113.7:443'], counted('', 'a', 'external')],
    ['a client from outside asks a Pod here', ['203.0.113.7:4000', '10.1.1.1:8080'], counted('', 'external', 'a')],
    [
      'another node passes on what entered there',
      ['192.168.0.2:4000', '10.1.1.1:8080'],
      { kind: 'skipped', reason: 'elsewhere' },
    ],
    ['loopback', ['127.0.0.1:4000', '127.0.0.1:8080'], { kind: 'skipped', reason: 'link' }],
  ];
  for (const [name, ends, expected] of rows) {
    it(name, () => {
      expect(routing(threeZones(), ...ends)).to.deep.equal(expected);
    });
  }

  it('leaves a flow out whose client may be a Pod of another node, where Nodes have no Pod ranges', () => {
    const directory = threeZones();
    directory.setNode({ metadata: { name: 'fargate' } });
    expect(routing(directory, '172.16.0.9:4000', '10.1.1.1:8080')).to.deep.equal({
      kind: 'skipped',
      reason: 'ambiguous',
    });
    expect(routing(directory, '10.1.1.9:4000', '172.16.0.9:443')).to.deep.equal(counted('', 'a', 'unknown'));
  });
});

describe('addresses of flows', () => {
  for (const [given, expected] of [
    ['10.0.0.1', '10.0.0.1'],
    ['2001:DB8:0:0::1', '2001:db8::1'],
    ['fd00::', 'fd00::'],
    ['None', undefined],
    ['', undefined],
    ['fd00::zz', undefined],
  ] as const) {
    it(`${JSON.stringify(given)} is ${String(expected)} to the kernel`, () => {
      expect(canonicalAddress(given)).to.equal(expected);
    });
  }

  for (const [address, range, expected] of [
    ['10.1.2.3', '10.1.2.0/24', true],
    ['10.1.3.3', '10.1.2.0/23', true],
    ['10.1.4.3', '10.1.2.0/23', false],
    ['10.1.2.3', '0.0.0.0/0', true],
    ['2001:db8:1::5', '2001:db8::/32', true],
    ['2001:db9::5', '2001:db8::/32', false],
    ['2001:db9::5', '0.0.0.0/0', false],
  ] as const) {
    it(`${address} is ${expected ? '' : 'not '}in ${range}`, () => {
      expect(keyOfAddress(address).startsWith(keyOfRange(range) ?? 'no range')).to.equal(expected);
    });
  }

  for (const text of ['10.0.0.0/33', '10.0.0.0', 'x/8', '2001:db8::/129']) {
    it(`${text} is no range`, () => {
      expect(keyOfRange(text)).to.equal(undefined);
    });
  }

  for (const [address, stays] of [
    ['127.0.0.1', true],
    ['169.254.20.10', true],
    ['224.0.0.251', true],
    ['::1', true],
    ['fe80::1', true],
    ['ff02::fb', true],
    ['10.0.0.1', false],
    ['fd00::1', false],
  ] as const) {
    it(`${address} ${stays ? 'stays on its link' : 'may leave its link'}`, () => {
      expect(staysOnLink(address)).to.equal(stays);
    });
  }
});
