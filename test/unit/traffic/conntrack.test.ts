import { expect } from 'chai';
import { describe, it } from 'mocha';
import { parseFlow } from '../../../pkg/traffic/conntrack.ts';

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

  for (const [name, line] of [
    ['nothing', ''],
    ['the closing line of a list', 'conntrack v1.4.7 (conntrack-tools): 2 flow entries have been shown.'],
    ['a flow of another family', 'unknown  2 tcp      6 src=1 dst=2 sport=1 dport=1 src=2 dst=1 sport=1 dport=1 id=1'],
    ['a line that was cut', NEW.slice(0, 80)],
  ] as const) {
    it(`${name} is no flow`, () => {
      expect(parseFlow(line)).to.equal(undefined);
    });
  }
});
