import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { Counter, Registry } from 'prom-client';
import { bytesOf, crosses } from '../../../pkg/traffic/measured.ts';
import {
  type MeterReading,
  averageBetween,
  averageOf,
  pairsWith,
  parseExposition,
  readMeter,
} from '../../../pkg/traffic/meter-reading.ts';
import type { Series } from '../../../pkg/traffic/ledger.ts';

const row = (source: string, destination: string, connections: number, bytes = 0, service = 'shop/web'): Series => ({
  service,
  source,
  destination,
  connections,
  requestBytes: bytes,
  responseBytes: 2 * bytes,
});

const reading = (
  node: string,
  seconds: number,
  rows: readonly Series[],
  more: Partial<MeterReading> = {},
): MeterReading => ({ node, seconds, state: 'Measuring', lost: {}, rows, judged: new Map(), unsupported: [], ...more });

describe('a reading of a meter', () => {
  const text = [
    'topology_traffic_bytes_total{service_namespace="shop",service_name="web",source_zone="a",destination_zone="b",direction="request"} 10',
    'topology_traffic_bytes_total{service_namespace="shop",service_name="web",source_zone="a",destination_zone="b",direction="response"} 20',
    'topology_traffic_bytes_total{service_namespace="",service_name="",source_zone="a",destination_zone="external",direction="request"} 7',
    'topology_traffic_connections_total{service_namespace="shop",service_name="web",source_zone="a",destination_zone="b"} 3',
    'topology_traffic_state{state="Measuring"} 1',
    'topology_traffic_state{state="Unsupported"} 0',
    'topology_traffic_lost_total{reason="End"} 2',
    'topology_traffic_unsupported_services{service_namespace="kube-system",service_name="kube-dns"} 1',
    'topology_traffic_judged_connections_total{service_namespace="shop",service_name="web",outcome="Honored"} 3',
    'topology_traffic_judged_connections_total{service_namespace="shop",service_name="web",outcome="Ignored"} 1',
    'topology_traffic_judged_connections_total{service_namespace="shop",service_name="web",outcome="OfTheFuture"} 1',
  ].join('\n');

  const direct = [
    'topology_traffic_direct_connections_total{service_namespace="shop",service_name="web",source_zone="a",destination_zone="b"} 4',
    'topology_traffic_counting_seconds 50',
    '',
  ].join('\n');
  for (const [visible, rows] of [
    [1, [{ service: 'shop/web', source: 'a', destination: 'b', connections: 4, requestBytes: 0, responseBytes: 0 }]],
    [0, undefined],
  ] as const) {
    it(`holds connections past Services where they are visible: ${visible}`, () => {
      const found = readMeter('n1', `${direct}topology_traffic_direct_visible ${visible}\n`);
      expect([found?.direct, found?.hidesDirect]).to.deep.equal([rows, visible === 0 ? true : undefined]);
    });
  }

  it('holds counters by Service and pair of zones, the state and the losses', () => {
    expect(readMeter('n1', `${text}\ntopology_traffic_counting_seconds 50\n`)).to.deep.equal({
      node: 'n1',
      seconds: 50,
      state: 'Measuring',
      lost: { End: 2 },
      rows: [
        { service: 'shop/web', source: 'a', destination: 'b', connections: 3, requestBytes: 10, responseBytes: 20 },
        { service: '', source: 'a', destination: 'external', connections: 0, requestBytes: 7, responseBytes: 0 },
      ],
      judged: new Map([['shop/web', { Honored: 3, Ignored: 1 }]]),
      unsupported: ['kube-system/kube-dns'],
    });
  });

  for (const [name, page] of [
    ['that has not begun to count', `${text}\ntopology_traffic_counting_seconds 0\n`],
    ['of another program', 'up 1\n'],
  ] as const) {
    it(`is none from a page ${name}`, () => {
      expect(readMeter('n1', page)).to.equal(undefined);
    });
  }
});

const sinceBegin = (readings: readonly MeterReading[], notes?: readonly string[]) =>
  averageOf(pairsWith([], readings), notes);

describe('averages over meters', () => {
  it("add up, each by its meter's own time", () => {
    const measured = sinceBegin([
      reading('n1', 100, [row('a', 'b', 100, 500)]),
      reading('n2', 10, [row('a', 'b', 10, 5)]),
    ]);
    expect(measured).to.deep.equal({
      by: 'traffic-meter',
      seconds: 100,
      flows: [
        { service: 'shop/web', source: 'a', destination: 'b', connections: 2, requestBytes: 5.5, responseBytes: 11 },
      ],
      notes: [],
    });
  });

  it('between two readings count what came between, and all of a meter that began anew', () => {
    const before = [
      reading('n1', 100, [row('a', 'a', 50)]),
      reading('n2', 500, [row('b', 'b', 900)]),
      reading('gone', 5, []),
    ];
    const after = [
      reading('n1', 110, [row('a', 'a', 70), row('a', 'b', 10)]),
      reading('n2', 4, [row('b', 'b', 8)]),
      reading('new', 3, [row('c', 'c', 3)]),
    ];
    const rates = averageBetween(pairsWith(pairsWith([], before), after)).flows.map(
      ({ source, destination, connections }) => `${source} to ${destination}: ${connections}`,
    );
    expect(rates).to.deep.equal(['a to a: 2', 'a to b: 1', 'b to b: 2']);
  });

  it('have connections past Services of the Nodes that show them, over the time that all of these cover', () => {
    const { direct, notes } = sinceBegin([
      reading('n1', 100, [], { direct: [row('a', 'b', 100), row('a', 'a', 0)] }),
      reading('n2', 10, [], { direct: [row('a', 'b', 10)] }),
      reading('n3', 500, [], { hidesDirect: true }),
      reading('n4', 500, []),
    ]);
    const flows = [{ service: 'shop/web', source: 'a', destination: 'b', connections: 2 }];
    expect(direct).to.deep.equal({ nodes: 2, seconds: 10, flows });
    expect(notes).to.deep.equal(['n3: what goes past Services to their Pods cannot be seen']);
  });

  it('name the Nodes that are not measured, and what was lost', () => {
    const states = ['n1', 'n2', 'n3', 'n4'].map((node) => reading(node, 1, [], { state: 'Unsupported' }));
    const { notes } = sinceBegin(
      [
        ...states,
        reading('n5', 1, [], {
          state: 'AccountingOff',
          lost: { End: 2, Overrun: 0 },
          unsupported: ['kube-system/kube-dns'],
        }),
      ],
      ['first'],
    );
    expect(notes).to.deep.equal([
      'first',
      'n1, n2, n3 and 1 more: not measured: the data plane keeps its flows out of the kernel',
      'n5: connections only: the kernel counts no bytes (net.netfilter.nf_conntrack_acct is 0)',
      'n5: kube-system/kube-dns is not measured: node-local DNS exempts it from connection tracking',
      'lost since the meters began: End 2',
    ]);
  });

  it('are never negative, and lose nothing that was counted', () => {
    const zone = fc.constantFrom('a', 'b', 'unknown', 'external');
    const rows = fc
      .array(fc.tuple(zone, zone, fc.nat(1e6), fc.nat(1e9)), { maxLength: 8 })
      .map((all) => [
        ...new Map(all.map(([from, to, count, bytes]) => [`${from} ${to}`, row(from, to, count, bytes)])).values(),
      ]);
    fc.assert(
      fc.property(
        fc.array(rows, { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 1e6 }),
        (meters, seconds) => {
          const readings = meters.map((each, index) => reading(`n${index}`, seconds, each));
          const { flows } = sinceBegin(readings);
          const sum = flows.reduce((all, flow) => all + bytesOf(flow), 0) * seconds;
          const counted = meters.flat().reduce((all, each) => all + each.requestBytes + each.responseBytes, 0);
          expect(sum).to.be.closeTo(counted, 1e-6 * Math.max(1, counted));
          for (const flow of averageBetween(pairsWith(pairsWith([], readings), readings)).flows)
            expect(bytesOf(flow)).to.be.at.least(0);
          expect(new Set(flows.map((flow) => `${flow.source} ${flow.destination}`)).size).to.equal(flows.length);
          expect(
            flows.filter(crosses).every(({ source, destination }) => [source, destination].sort().join('') === 'ab'),
          ).to.equal(true);
        },
      ),
    );
  });
});

const of = (text: string): unknown => parseExposition(text, ['m'])?.get('m');

describe("Prometheus' text format", () => {
  const rows: readonly (readonly [name: string, text: string, expected: unknown])[] = [
    ['a sample without labels', 'm 5\n', [{ labels: {}, value: 5 }]],
    [
      'labels, a trailing comma and a time',
      'm{a="1",b="2",} 1.5e3 1700000000000\n',
      [{ labels: { a: '1', b: '2' }, value: 1500 }],
    ],
    ['braces, commas and quotes within a value', String.raw`m{a="x},\"y"} 1`, [{ labels: { a: 'x},"y' }, value: 1 }]],
    ['comments, other metrics and longer names', '# HELP m\n# TYPE m counter\nmm 1\nn 1\n', []],
    ['a value that is not finite', 'm NaN\nm +Inf\n', []],
    ['a list of labels that is none', 'm{a=1} 1\nm{a="1" 1\nm{="1"} 1\n', []],
    ['nothing', '', []],
    ['no end of the last line', 'm 1', [{ labels: {}, value: 1 }]],
    ['a line that is too long', `m{a="${'x'.repeat(4_096)}"} 1\nm 2`, [{ labels: {}, value: 2 }]],
    [
      'eight labels, not nine',
      [8, 9].map((many) => `m{${'a="",'.repeat(many)}} 1\n`).join(''),
      [{ labels: { a: '' }, value: 1 }],
    ],
  ];
  for (const [name, text, expected] of rows) {
    it(`reads ${name}`, () => {
      expect(of(text)).to.deep.equal(expected);
    });
  }

  it('reads 200,000 lines', () => {
    const read = of('m 1\n'.repeat(200_000));
    expect(read).to.have.lengthOf(200_000);
    expect(new Set((read as object[]).map((one) => JSON.stringify(one)))).to.deep.equal(
      new Set(['{"labels":{},"value":1}']),
    );
  });
  it('reads not one more', () => expect(of('m 1\n'.repeat(200_001))).to.equal(undefined));
  it('reads nor millions of empty ones', () => expect(of('\n'.repeat(32 * 2 ** 20))).to.equal(undefined));

  it('reads back whatever prom-client writes', async () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(fc.dictionary(text, fc.double({ min: 0, max: 1e12, noNaN: true })), async (values) => {
        const registry = new Registry();
        const counter = new Counter({ name: 'm', help: 'h', labelNames: ['label'], registers: [registry] });
        for (const [label, value] of Object.entries(values)) counter.inc({ label }, value);
        const read = parseExposition(await registry.metrics(), ['m'])?.get('m') ?? [];
        expect(read.map(({ labels, value }) => [labels['label'], value])).to.deep.equal(Object.entries(values));
      }),
    );
  });
});
