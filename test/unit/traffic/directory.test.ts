// Whose an address is when several objects say that it is theirs.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { EndpointSlice, Node, Service } from '../../../pkg/apis/core.ts';
import { type Directory, createDirectory } from '../../../pkg/traffic/directory.ts';

const OLD = '2026-01-01T00:00:00Z';
const NEW = '2026-02-02T00:00:00Z';

interface Said {
  readonly set: (directory: Directory) => void;
  readonly remove: (directory: Directory) => void;
}

const service = (namespace: string, since: string, spec: Service['spec'], ingress: string[] = []): Said => {
  const object: Service = {
    metadata: { namespace, name: 'web', creationTimestamp: since },
    spec: { ports: [{ port: 80 }], ...spec },
    status: { loadBalancer: { ingress: ingress.map((ip) => ({ ip })) } },
  };
  return { set: (directory) => directory.setService(object), remove: (directory) => directory.removeService(object) };
};

const CONTROLLER = { 'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io' };

const slice = (namespace: string, since: string, zone: string, labels: Record<string, string> = {}): Said => {
  const object: EndpointSlice = {
    metadata: {
      namespace,
      name: 'web-1',
      creationTimestamp: since,
      labels: { 'kubernetes.io/service-name': 'web', ...labels },
    },
    endpoints: [{ addresses: ['10.1.0.1'], zone }],
  };
  return { set: (directory) => directory.setSlice(object), remove: (directory) => directory.removeSlice(object) };
};

const node = (name: string, since: string, zone: string): Said => {
  const object: Node = {
    metadata: { name, creationTimestamp: since, labels: { 'topology.kubernetes.io/zone': zone } },
    spec: { podCIDR: '10.1.0.0/24' },
    status: { addresses: [{ type: 'InternalIP', address: '192.168.0.1' }] },
  };
  return { set: (directory) => directory.setNode(object), remove: (directory) => directory.removeNode(object) };
};

const hasSelector = service('shop', NEW, { clusterIP: '10.96.0.9', selector: { app: 'web' } });

/** The first is right, whichever of both was said first and however often; each is found while the other is gone. */
const expectFirst = (
  [first, second]: readonly [Said, Said],
  read: (directory: Directory) => string | undefined,
  [right, other]: readonly [string, string | undefined],
  given: readonly Said[] = [],
): void => {
  for (const order of [
    [first, second],
    [second, first],
    [first, second, first],
    [second, first, second],
  ]) {
    const directory = createDirectory();
    for (const said of [...order, ...given]) said.set(directory);
    expect(read(directory)).to.equal(right);
    first.remove(directory);
    expect(read(directory), 'the first is gone').to.equal(other);
    first.set(directory);
    expect(read(directory), 'it is back').to.equal(right);
    second.remove(directory);
    expect(read(directory), 'the second is gone').to.equal(right);
  }
};

describe('directory: which Service an address belongs to', () => {
  const at = (directory: Directory): string | undefined => directory.serviceAt('tcp', '10.96.0.1', 80);
  const rows: readonly (readonly [name: string, right: Said, other: Said])[] = [
    [
      'the second family of a cluster IP before externalIPs',
      service('victim', NEW, { clusterIP: 'fd00::1', clusterIPs: ['fd00::1', '10.96.0.1'] }),
      service('attacker', OLD, { externalIPs: ['10.96.0.1'] }),
    ],
    [
      'cluster IP before the address of a load balancer',
      service('victim', NEW, { clusterIP: '10.96.0.1' }),
      service('attacker', OLD, {}, ['10.96.0.1']),
    ],
    [
      'the address of a load balancer before externalIPs',
      service('victim', NEW, {}, ['10.96.0.1']),
      service('attacker', OLD, { externalIPs: ['10.96.0.1'] }),
    ],
    [
      'of two with externalIPs the older Service',
      service('victim', OLD, { externalIPs: ['10.96.0.1'] }),
      service('attacker', NEW, { externalIPs: ['10.96.0.1'] }),
    ],
  ];
  for (const [name, right, other] of rows)
    it(name, () => expectFirst([right, other], at, ['victim/web', 'attacker/web']));

  it('a port that it has no more is found for flows that began before', () => {
    const directory = createDirectory();
    service('shop', OLD, { clusterIP: '10.96.0.1' }).set(directory);
    for (let again = 0; again < 2; again += 1)
      service('shop', OLD, { clusterIP: '10.96.0.1', ports: [{ port: 81 }] }).set(directory);
    expect(at(directory)).to.equal('shop/web');
  });

  it('thousands of addresses and of ports are not multiplied', () => {
    const directory = createDirectory();
    const many = Array.from({ length: 10_000 }, (_, index) => index);
    const externalIPs = many.map((index) => `10.9.${index >> 8}.${index & 255}`);
    service('attacker', NEW, { externalIPs, ports: many.map((port) => ({ port })) }).set(directory);
    expect(directory.serviceAt('tcp', '10.9.1.1', 9_999)).to.equal('attacker/web');
  });

  it('what one namespace removes is not found at the cost of what others removed', () => {
    const directory = createDirectory();
    const gone = service('victim', OLD, { clusterIP: '10.96.0.1' });
    gone.set(directory);
    gone.remove(directory);
    for (let round = 0; round < 2; round += 1) {
      const externalIPs = Array.from({ length: 9_999 }, (_, index) => `10.${round}.${index >> 8}.${index & 255}`);
      const flood = service('attacker', NEW, { externalIPs });
      flood.set(directory);
      flood.remove(directory);
    }
    expect(at(directory)).to.equal('victim/web');
    expect(directory.serviceAt('tcp', '10.1.0.1', 80), 'the newest of the flood').to.equal('attacker/web');
  });
});

describe('directory: where an address is', () => {
  const zoneAt = (address: string) => (directory: Directory) => directory.placeOf(address)?.zone;
  const kept = slice('shop', NEW, 'right', CONTROLLER);
  const rows: readonly (readonly [name: string, right: Said, other: Said, given?: readonly Said[]])[] = [
    [
      'an endpoint of the EndpointSlice controller before an older slice that has its label, of a Service without a selector',
      kept,
      slice('attacker', OLD, 'wrong', CONTROLLER),
      [hasSelector, service('attacker', OLD, { clusterIP: '10.96.0.8' })],
    ],
    [
      "before an older slice that has the controller's label, of no Service",
      kept,
      slice('attacker', OLD, 'wrong', CONTROLLER),
      [hasSelector],
    ],
    ['of two slices made by hand the older one', slice('a', OLD, 'right'), slice('b', NEW, 'wrong')],
    [
      'of two slices of the controller the older one',
      slice('shop', OLD, 'right', CONTROLLER),
      slice('other', NEW, 'wrong', CONTROLLER),
      [hasSelector, service('other', OLD, { selector: { app: 'other' } })],
    ],
  ];
  for (const [name, right, other, given] of rows)
    it(name, () => expectFirst([right, other], zoneAt('10.1.0.1'), ['right', 'wrong'], given));

  for (const [what, address] of Object.entries({ address: '192.168.0.1', 'range of Pods': '10.1.0.77' }))
    it(`a Node's ${what}: the newer Node, which replaced the other`, () =>
      expectFirst([node('b', NEW, 'right'), node('a', OLD, 'left')], zoneAt(address), ['right', 'left']));

  for (const [name, zone] of [
    ['longer than a label value', 'z'.repeat(64)],
    ['of a megabyte', 'z'.repeat(1_000_000)],
    ['with characters that no label value has', 'a"} 1\n'],
    ['empty', ''],
  ] as const)
    it(`no zone for a text that is ${name}`, () => {
      const directory = createDirectory();
      slice('attacker', NEW, zone).set(directory);
      expect(zoneAt('10.1.0.1')(directory)).to.equal('');
    });

  it('the longest of the ranges that hold an address, and the next one once it is gone', () => {
    const directory = createDirectory();
    const rangeOf = (name: string, podCIDR: string): Node => ({
      metadata: { name, labels: { 'topology.kubernetes.io/zone': name } },
      spec: { podCIDR },
    });
    for (const [name, cidr] of [
      ['wide', '10.0.0.0/8'],
      ['narrow', '10.1.2.0/24'],
      ['six', '2001:db8::/32'],
    ] as const)
      directory.setNode(rangeOf(name, cidr));
    const found = (): (string | undefined)[] =>
      ['10.1.2.3', '10.9.2.3', '11.0.0.1', '2001:db8:1::5'].map((address) => zoneAt(address)(directory));
    expect(found()).to.deep.equal(['narrow', 'wide', undefined, 'six']);
    directory.removeNode(rangeOf('narrow', '10.1.2.0/24'));
    expect(found()).to.deep.equal(['wide', 'wide', undefined, 'six']);
  });

  it('the zone of the Node of an endpoint whose slice has none, whichever comes first', () => {
    const directory = createDirectory();
    directory.setSlice({
      metadata: { namespace: 'shop', name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
      endpoints: [{ addresses: ['10.1.0.1'], nodeName: 'n1' }],
    });
    expect(zoneAt('10.1.0.1')(directory)).to.equal('');
    node('n1', NEW, 'a').set(directory);
    expect(zoneAt('10.1.0.1')(directory)).to.equal('a');
  });
});
