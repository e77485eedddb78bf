import { expect } from 'chai';
import { array, assert, boolean, integer, property, record } from 'fast-check';
import { describe, it } from 'mocha';
import { type Flow, parseFlow } from '../../../pkg/traffic/conntrack.ts';
import { MOST_SLICES } from '../../../pkg/traffic/directory.ts';
import type { Judgement } from '../../../pkg/traffic/hints.ts';
import { type Ledger, OTHER, type Series, createLedger } from '../../../pkg/traffic/ledger.ts';
import { type LineOptions, lineOf, own, threeZones } from './support.ts';

const flow = (port: number, options: LineOptions): Flow => {
  const parsed = parseFlow(lineOf(options, `10.1.1.9:${port}`, '10.96.0.1:80', '10.1.2.1:8080'));
  if (parsed === undefined) throw new Error('the line is no flow');
  return parsed;
};

const open = (maxSeries = 100): Ledger => createLedger(threeZones(), own, () => maxSeries);

/** A complete list of these flows. */
const list = (ledger: Ledger, flows: readonly Flow[] = []): void => {
  ledger.beginList();
  for (const listed of flows) ledger.listed(listed);
  ledger.endList();
};

const only = (ledger: Ledger): Readonly<Series> | undefined => {
  ledger.settle();
  return [...ledger.series()][0];
};

type Step = (ledger: Ledger) => void;

const began =
  (options: LineOptions = {}): Step =>
  (ledger) =>
    ledger.event(flow(1, { ...options, event: 'NEW' }));

const ended =
  (bytes: LineOptions['bytes'], options: LineOptions = {}): Step =>
  (ledger) =>
    ledger.event(flow(1, { ...options, event: 'DESTROY', ...(bytes === undefined ? {} : { bytes }) }));

/** A list that names the flow with these bytes, or that is empty. */
const lists =
  (bytes?: LineOptions['bytes']): Step =>
  (ledger) =>
    list(ledger, bytes === undefined ? [] : [flow(1, { bytes })]);

const listBegins: Step = (ledger) => ledger.beginList();
const listEnds: Step = (ledger) => ledger.endList();

const after = (...steps: Step[]): Ledger => {
  const ledger = open();
  for (const step of steps) step(ledger);
  return ledger;
};

describe('what a meter counts', () => {
  const rows: readonly (readonly [name: string, steps: Step[], counts: [number, number, number], living?: number])[] = [
    ['a connection when it begins', [lists(), began()], [1, 0, 0]],
    ['its bytes when it ends', [lists(), began(), ended([216, 50_268])], [1, 216, 50_268], 0],
    ['bytes of a flow that lives on at each list', [lists(), began(), lists([100, 1_000])], [1, 100, 1_000]],
    [
      'and the rest when it ends',
      [lists(), began(), lists([100, 1_000]), lists([150, 1_500]), ended([160, 1_600])],
      [1, 160, 1_600],
    ],
    ['nothing yet of a flow that was there before', [lists([1_000_000, 2_000_000])], [0, 0, 0]],
    [
      'of a flow that was there before, only what it carries from then on',
      [lists([1_000_000, 2_000_000]), ended([1_000_010, 2_000_020])],
      [0, 10, 20],
    ],
    [
      'nothing of a flow that began before and ended while the first list was read',
      [listBegins, ended([5, 5]), listEnds],
      [0, 0, 0],
    ],
    [
      'a flow once that the first list names before its beginning is reported',
      [lists([40, 0]), began(), ended([50, 60])],
      [1, 50, 60],
    ],
    [
      'a flow once that ends while a list is read which still names it',
      [lists(), began(), listBegins, ended([10, 20]), (one) => one.listed(flow(1, { bytes: [10, 20] })), listEnds],
      [1, 10, 20],
      0,
    ],
    ['a flow whose beginning was dropped by the kernel', [lists(), lists([10, 20])], [1, 10, 20]],
    [
      'a flow once that passes two conntrack zones',
      [
        lists(),
        began({ id: 1, zone: 1 }),
        began({ id: 2, zone: 2 }),
        ended([10, 20], { id: 2, zone: 2 }),
        ended([10, 20], { id: 1, zone: 1 }),
      ],
      [1, 10, 20],
    ],
    [
      'two flows that have the same ports one after the other',
      [lists(), began({ id: 1 }), ended([10, 20], { id: 1 }), began({ id: 2 }), ended([10, 20], { id: 2 })],
      [2, 20, 40],
    ],
  ];
  for (const [name, steps, [connections, requestBytes, responseBytes], living] of rows) {
    it(name, () => {
      const ledger = after(...steps);
      expect(only(ledger)).to.deep.include({ service: 'shop/web', connections, requestBytes, responseBytes });
      if (living !== undefined) expect(ledger.living()).to.equal(living);
    });
  }
});

describe('connections past a Service', () => {
  const slice = (name: string, service: string, node: string, address: string) => ({
    metadata: { namespace: 'shop', name, labels: { 'kubernetes.io/service-name': service } },
    addressType: 'IPv4',
    ports: [{ port: 8080 }],
    endpoints: [{ addresses: [address], zone: 'b', nodeName: node }],
  });
  const rows: readonly (readonly [name: string, from: string, to: string, chosen: string, past: readonly string[]])[] =
    [
      ['a Pod asks an endpoint by its address', '10.1.1.9:1', '10.1.2.1:8080', '', ['shop/peers a b', 'shop/web a b']],
      ['it asks through the cluster IP', '10.1.1.9:1', '10.96.0.1:80', '10.1.2.1:8080', []],
      ['it asks another port of the Pod', '10.1.1.9:1', '10.1.2.1:9090', '', []],
      ['it asks what is no endpoint', '10.1.1.9:1', '10.1.2.7:8080', '', []],
      ['the Node asks a Pod of another one', '192.168.0.1:1', '10.1.2.1:8080', '', ['shop/peers a b', 'shop/web a b']],
      ['a Pod asks one whose Node no slice names', '10.1.1.9:1', '10.1.2.2:8080', '', ['shop/web a b']],
      ['a kubelet may probe one whose Node no slice names', '192.168.0.1:1', '10.1.2.2:8080', '', []],
      ['a kubelet probes a Pod of its Node', '192.168.0.1:1', '10.1.1.1:8080', '', []],
      ['a load balancer asks a Pod of this Node', '198.51.100.9:1', '10.1.1.1:8080', '', ['shop/web external a']],
      ['another Node counts it', '10.1.3.9:1', '10.1.1.1:8080', '', []],
    ];
  for (const [name, from, to, chosen, past] of rows) {
    it(`${past.length === 0 ? 'none' : 'counted'}: ${name}`, () => {
      const directory = threeZones();
      directory.setSlice(slice('web-1', 'web', 'n2', '10.1.2.1'));
      directory.setSlice(slice('web-2', 'web', 'n1', '10.1.1.1'));
      directory.setSlice(slice('web-3', 'web', '', '10.1.2.2'));
      directory.setSlice(slice('peers-1', 'peers', 'n2', '10.1.2.1'));
      const ledger = createLedger(directory, own, () => 100);
      list(ledger);
      const parsed = parseFlow(lineOf({ event: 'NEW' }, from, to, chosen === '' ? to : chosen));
      if (parsed === undefined) throw new Error('the line is no flow');
      ledger.event(parsed);
      ledger.settle();
      const found = [...ledger.direct()].map((each) => `${each.service} ${each.source} ${each.destination}`);
      expect(found.sort()).to.deep.equal(past);
    });
  }

  for (const isFirst of [true, false]) {
    it(`of an address that a tenant names in thousands of slices ${isFirst ? 'before' : 'after'} another`, () => {
      const directory = threeZones();
      const claim = (namespace: string, count: number, creationTimestamp: string): void => {
        for (let index = 0; index < count; index += 1) {
          const { metadata, ...rest } = slice(`own-${index}`, `own-${index}`, 'n2', '10.1.2.3');
          directory.setSlice({ ...rest, metadata: { ...metadata, namespace, creationTimestamp } });
        }
      };
      if (isFirst) claim('evil', 3_000, '2026-01-01T00:00:00Z');
      claim('shop', MOST_SLICES, '2026-02-02T00:00:00Z');
      if (!isFirst) claim('evil', 3_000, '2026-03-03T00:00:00Z');
      expect(directory.claimsOf('10.1.2.3').length, 'for each connection').to.equal(2 * MOST_SLICES);
      const ledger = createLedger(directory, own, () => 8 * MOST_SLICES);
      list(ledger);
      ledger.event(parseFlow(lineOf({ event: 'NEW' }, '10.1.1.9:1', '10.1.2.3:8080'))!);
      ledger.settle();
      expect([...ledger.direct()].filter(({ service }) => service.startsWith('shop/')).length).to.equal(MOST_SLICES);
    });
  }
});

describe('series that tenants can cause', () => {
  const serviceIn = (namespace: string, number: number) => ({
    metadata: { namespace, name: `s${number}` },
    spec: { clusterIP: `10.97.${namespace === 'flood' ? 1 : 2}.${number}`, ports: [{ port: 80 }] },
  });

  /** Each Service of these namespaces gets one connection to zone b. */
  const world = (maxSeries: number) => {
    const directory = threeZones();
    const judgementOf = (service: string): Judgement => ({ service, outcome: 'Honored', crossed: true, predicted: 1 });
    const ledger = createLedger(
      directory,
      own,
      () => maxSeries,
      (_flow, service) => judgementOf(service),
    );
    list(ledger);
    let id = 0;
    const connect = (destination: string, chosen = '10.1.2.1:8080'): Flow => {
      id += 1;
      const parsed = parseFlow(lineOf({ event: 'NEW', id }, `10.1.1.9:${id}`, destination, chosen));
      if (parsed === undefined) throw new Error('the line is no flow');
      ledger.event(parsed);
      ledger.settle();
      return parsed;
    };
    const use = (namespace: string, services: number): Flow[] =>
      Array.from({ length: services }, (_, number) => {
        const service = serviceIn(namespace, number);
        directory.setService(service);
        return connect(`${service.spec.clusterIP}:80`);
      });
    const leave = (namespace: string, services: number): void => {
      for (let number = 0; number < services; number += 1) directory.removeService(serviceIn(namespace, number));
    };
    const end = (begun: Flow, bytes: number): void =>
      ledger.event({
        ...begun,
        event: 'DESTROY',
        original: { ...begun.original, bytes },
        reply: { ...begun.reply, bytes },
      });
    const connectionsOf = (of: string): number =>
      [...ledger.series()].reduce((sum, { service, connections }) => sum + (service === of ? connections : 0), 0);
    const countIn = (namespace: string): number =>
      [...ledger.series()].filter(({ service }) => service.startsWith(`${namespace}/`)).length;
    return { directory, ledger, connect, use, leave, end, connectionsOf, countIn };
  };

  it('are given back with the Service, once the last of them could be read; its flows are other then', () => {
    const { use, leave, end, ledger, countIn, connectionsOf } = world(20);
    const flows = use('flood', 20);
    use('shop', 1);
    leave('flood', 20);
    for (const expected of [19, 19, 0]) {
      list(ledger, flows);
      expect(countIn('flood')).to.equal(expected);
    }
    expect([...ledger.proofs()].map(({ service }) => service)).to.not.include('flood/s0');
    for (const each of flows) end(each, 100);
    expect([...ledger.series()].find(({ service }) => service === OTHER)?.requestBytes).to.equal(2_000);
    use('shop', 19);
    expect(countIn('shop')).to.equal(19);
    expect(connectionsOf('shop/s0')).to.equal(2);
  });

  it('verdicts have a share for each namespace, too', () => {
    const { use, ledger } = world(9 * 4);
    use('flood', 30);
    use('shop', 2);
    const services = [...ledger.proofs()].map(({ service }) => service);
    expect(services.filter((service) => service.startsWith('shop/'))).to.have.lengthOf(2);
    expect(services).to.have.lengthOf(5).that.includes(OTHER);
  });

  it('zones that no Node has are bounded where no Service is counted, and Nodes keep theirs', () => {
    const { directory, connect, ledger } = world(20);
    const both = (address: string): [string, string] => [address, address];
    for (let number = 1; number <= 200; number += 1) {
      directory.setSlice({
        metadata: { namespace: 'flood', name: `z${number}`, labels: { 'kubernetes.io/service-name': 'web' } },
        endpoints: [{ addresses: [`10.200.0.${number}`], zone: `zone-${number}` }],
      });
      connect(...both(`10.200.0.${number}:80`));
    }
    for (const zone of ['1', '2', '3']) connect(...both(`10.1.${zone}.200:80`));
    const destinations = [...ledger.series()].map(({ destination }) => destination);
    expect(destinations).to.have.lengthOf(20 + 4);
    expect(destinations).to.include.members(['a', 'b', 'c', 'unknown']);
  });
});

describe('what a meter reports as lost', () => {
  const rows: readonly (readonly [
    name: string,
    steps: Step[],
    lost: [ends: number, unaccounted: number, living: number],
  ])[] = [
    ['nothing for a flow that one list is without', [lists(), began(), lists()], [0, 0, 1]],
    ['the end of a flow that two lists in a row are without', [lists(), began(), lists(), lists()], [1, 0, 0]],
    [
      'nothing because of a list that did not come to its end',
      [lists(), began(), listBegins, listBegins, lists([1, 1])],
      [0, 0, 1],
    ],
    ['flows that ended without counters of bytes', [lists(), began(), ended(undefined)], [0, 1, 0]],
  ];
  for (const [name, steps, lost] of rows) {
    it(name, () => {
      const { losses, living } = after(...steps);
      expect([losses.ends, losses.unaccounted, living()]).to.deep.equal(lost);
    });
  }

  it('nothing more once the end of a flow that was given up arrives, which counts it once', () => {
    const ledger = after(lists(), began(), lists(), lists(), ended([10, 20]));
    expect(only(ledger)).to.deep.include({ connections: 1, requestBytes: 10, responseBytes: 20 });
    expect(ledger.losses.ends).to.equal(0);
  });
});

describe('whatever is dropped and whenever lists are read', () => {
  const step = record({
    carried: array(record({ request: integer({ min: 0, max: 500 }), listed: boolean() }), { maxLength: 4 }),
    dropNew: boolean(),
    dropEnd: boolean(),
    endsDuringList: boolean(),
    ends: boolean(),
  });

  it('a meter never counts more than there was, and all of it where no end was dropped', () => {
    assert(
      property(array(step, { minLength: 1, maxLength: 8 }), (flows) => {
        const ledger = open();
        list(ledger);
        const living = new Map<number, number>();
        let truth = 0;
        let lostEnds = 0;
        for (const [index, { carried, dropNew, dropEnd, endsDuringList, ends }] of flows.entries()) {
          const id = index + 1;
          if (!dropNew) ledger.event(flow(id, { event: 'NEW', id }));
          living.set(id, 0);
          for (const { request, listed } of carried) {
            truth += request;
            living.set(id, (living.get(id) ?? 0) + request);
            if (listed)
              list(
                ledger,
                [...living].map(([each, bytes]) => flow(each, { id: each, bytes: [bytes, bytes] })),
              );
          }
          if (!ends) continue;
          const bytes = living.get(id) ?? 0;
          if (endsDuringList) ledger.beginList();
          if (dropEnd) lostEnds += 1;
          else ledger.event(flow(id, { event: 'DESTROY', id, bytes: [bytes, bytes] }));
          if (endsDuringList) {
            for (const [each, all] of living) ledger.listed(flow(each, { id: each, bytes: [all, all] }));
            ledger.endList();
          }
          living.delete(id);
        }
        const rest = [...living].map(([each, bytes]) => flow(each, { id: each, bytes: [bytes, bytes] }));
        list(ledger, rest);
        list(ledger, rest);
        const counted = only(ledger);
        expect(counted?.requestBytes ?? 0).to.be.at.most(truth);
        expect(counted?.connections ?? 0).to.be.at.most(flows.length);
        if (lostEnds > 0) return;
        expect(counted?.requestBytes ?? 0).to.equal(truth);
        expect(counted?.connections ?? 0).to.equal(flows.length);
        expect(ledger.losses.ends).to.equal(0);
      }),
    );
  });
});
