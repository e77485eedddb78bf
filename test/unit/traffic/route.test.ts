import { expect } from 'chai';
import { describe, it } from 'mocha';
import { type Routing, parseFlow, routeOf } from '../../../pkg/traffic/conntrack.ts';
import { type Directory, createDirectory } from '../../../pkg/traffic/directory.ts';
import { line, own, threeZones } from './support.ts';

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
      'a Pod here asks a Service, an endpoint of another zone answers',
      ['10.1.1.9:4000', '10.96.0.1:80', '10.1.2.1:8080'],
      counted('shop/web', 'a', 'b'),
    ],
    [
      'the host itself asks a Service',
      ['192.168.0.1:4000', '10.96.0.1:80', '10.1.1.1:8080'],
      counted('shop/web', 'a', 'a'),
    ],
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
    ['a Pod here asks a Pod of another zone', ['10.1.1.9:4000', '10.1.2.1:8080'], counted('', 'a', 'b')],
    ['a Pod here asks a Pod that is in no slice', ['10.1.1.9:4000', '10.1.2.200:8080'], counted('', 'a', 'b')],
    ['a Pod here asks a server on the internet', ['10.1.1.9:4000', '203.0.113.7:443'], counted('', 'a', 'external')],
    ['a client from outside asks a Pod here', ['203.0.113.7:4000', '10.1.1.1:8080'], counted('', 'external', 'a')],
    [
      'a Pod of another node asks a Pod here: that node counts it',
      ['10.1.2.9:4000', '10.1.1.1:8080'],
      { kind: 'skipped', reason: 'elsewhere' },
    ],
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

  it('finds a Service that was deleted while its flows live on', () => {
    const directory = threeZones();
    directory.removeService({ metadata: { namespace: 'shop', name: 'web' } });
    expect(routing(directory, '10.1.1.9:4000', '10.96.0.1:80', '10.1.2.1:8080')).to.deep.equal(
      counted('shop/web', 'a', 'b'),
    );
  });

  it('follows a Service to its new address, and a Pod address to its new zone', () => {
    const directory = createDirectory();
    directory.setNode({ metadata: { name: 'n1', labels: { 'topology.kubernetes.io/zone': 'a' } } });
    const web = (clusterIP: string) => ({
      metadata: { namespace: 'shop', name: 'web' },
      spec: { clusterIP, ports: [{ port: 80 }] },
    });
    directory.setService(web('10.96.0.1'));
    directory.setService(web('10.96.0.2'));
    directory.setService({ ...web('10.96.0.1'), metadata: { namespace: 'shop', name: 'new' } });
    expect(directory.serviceAt('tcp', '10.96.0.1', 80)).to.equal('shop/new');
    expect(directory.serviceAt('tcp', '10.96.0.2', 80)).to.equal('shop/web');
    const slice = (name: string, zone: string) => ({
      metadata: { namespace: 'shop', name, labels: { 'kubernetes.io/service-name': 'web' } },
      endpoints: [{ addresses: ['10.1.0.1'], zone }],
    });
    directory.setSlice(slice('one', 'a'));
    directory.setSlice(slice('two', 'b'));
    directory.removeSlice(slice('one', 'a'));
    expect(directory.placeOf('10.1.0.1')?.zone).to.equal('b');
  });
});
