import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { ConntrackError, createConntrack } from '../../../cmd/traffic-meter/conntrack.ts';
import { createMeter } from '../../../cmd/traffic-meter/meter.ts';
import { registerMeterMetrics, stateOf, untrackedServices } from '../../../cmd/traffic-meter/metrics.ts';
import type { MeterState, MeterView } from '../../../cmd/traffic-meter/metrics.ts';
import type { NodeFacts } from '../../../cmd/traffic-meter/node.ts';
import { parseFlags } from '../../../cmd/traffic-meter/options.ts';
import { aborted } from '../../../pkg/kubernetes/wait.ts';
import { createMetrics } from '../../../pkg/telemetry/metrics.ts';
import { type Flow, parseFlow } from '../../../pkg/traffic/conntrack.ts';
import { hostRoutes, hostRoutes6, localAddresses } from '../../../pkg/traffic/addresses.ts';
import { createLedger } from '../../../pkg/traffic/ledger.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';
import { recordingLogger } from '../../fixtures/recording-logger.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { lineOf, own, threeZones } from '../traffic/support.ts';

const facts = (more: Partial<NodeFacts> = {}): NodeFacts => ({
  local: new Set(),
  accounting: true,
  maxEntries: 262_144,
  foreignPlane: '',
  localDns: [],
  ...more,
});

const view = (more: Partial<MeterView> & { readonly seesServices?: boolean } = {}): MeterView => ({
  ledger: {
    series: () => [],
    direct: () => [],
    proofs: () => [],
    losses: { ends: 0, unaccounted: 0, ambiguous: 0 },
    living: () => 0,
    seesServices: () => more.seesServices ?? true,
  },
  facts: () => facts(),
  listAgeSeconds: () => 1,
  countingSeconds: () => 60,
  overruns: () => 0,
  longLines: () => 0,
  unsupported: () => [],
  ...more,
});

describe('traffic-meter: the state of a node', () => {
  const rows: readonly (readonly [MeterState, string, MeterView])[] = [
    ['Starting', 'before the table was read', view({ listAgeSeconds: () => undefined })],
    ['Measuring', 'flows to Services are seen translated', view()],
    ['NoServiceTraffic', 'no flow to a Service was seen yet', view({ seesServices: false })],
    ['AccountingOff', 'the kernel counts no bytes', view({ facts: () => facts({ accounting: false }) })],
    [
      'Unsupported',
      'a data plane of eBPF is there and no flow to a Service is seen',
      view({ seesServices: false, facts: () => facts({ foreignPlane: 'Cilium' }) }),
    ],
    [
      'Measuring',
      'a data plane of eBPF is there and leaves Services to kube-proxy',
      view({ facts: () => facts({ foreignPlane: 'Cilium' }) }),
    ],
  ];
  for (const [state, name, given] of rows) {
    it(`${state}: ${name}`, () => {
      expect(stateOf(given)).to.equal(state);
    });
  }
});

describe('traffic-meter: its metrics', () => {
  it('have the Service and both zones as labels, and the direction of bytes', async () => {
    const metrics = createMetrics({ defaultMetrics: false });
    const series = [
      { service: 'shop/web', source: 'a', destination: 'b', connections: 2, requestBytes: 10, responseBytes: 20 },
      { service: 'other', source: 'a', destination: 'c', connections: 1, requestBytes: 0, responseBytes: 0 },
      { service: '', source: 'a', destination: 'external', connections: 4, requestBytes: 1, responseBytes: 2 },
    ];
    registerMeterMetrics(metrics, view({ ledger: { ...view().ledger, series: () => series } }));
    const text = await metrics.text();
    for (const line of [
      'topology_traffic_bytes_total{service_namespace="shop",service_name="web",source_zone="a",destination_zone="b",direction="response"} 20',
      'topology_traffic_connections_total{service_namespace="shop",service_name="web",source_zone="a",destination_zone="b"} 2',
      'topology_traffic_connections_total{service_namespace="",service_name="other",source_zone="a",destination_zone="c"} 1',
      'topology_traffic_connections_total{service_namespace="",service_name="",source_zone="a",destination_zone="external"} 4',
      'topology_traffic_state{state="Measuring"} 1',
      'topology_traffic_state{state="Unsupported"} 0',
    ])
      expect(text).to.contain(`${line}\n`);
    // A second scrape does not count anything twice.
    expect(await metrics.text()).to.equal(text);
  });

  const past: readonly (readonly [name: string, visible: 0 | 1, more: Parameters<typeof view>[0]])[] = [
    ['are counted where the kernel translates for Services', 1, {}],
    ['are none where no flow to a Service was seen translated', 0, { seesServices: false }],
    [
      'are none where a socket load balancer may translate first',
      0,
      { facts: () => facts({ foreignPlane: 'Cilium' }) },
    ],
    ['are none before the Node was read', 0, { facts: () => undefined }],
  ];
  for (const [name, visible, more] of past) {
    it(`connections past Services ${name}`, async () => {
      const metrics = createMetrics({ defaultMetrics: false });
      const direct = [{ service: 'shop/web', source: 'a', destination: 'b', connections: 2 }];
      registerMeterMetrics(metrics, { ...view(more), ledger: { ...view(more).ledger, direct: () => direct } });
      const text = await metrics.text();
      expect(text).to.contain(`topology_traffic_direct_visible ${visible}\n`);
      expect(/direct_connections_total\{[^}]*\} 2/.test(text)).to.equal(visible === 1);
    });
  }
});

describe('traffic-meter: a node-local DNS', () => {
  const directory = threeZones();
  directory.setService({
    metadata: { namespace: 'kube-system', name: 'kube-dns' },
    spec: { clusterIP: '10.96.0.10', ports: [{ protocol: 'UDP', port: 53 }, { port: 53 }] },
  });

  it('makes the Service whose address it has unsupported, and no other', () => {
    const found = untrackedServices(directory, { localDns: ['127.0.0.1', '169.254.20.10', '10.96.0.10', '10.96.0.1'] });
    expect(found).to.deep.equal(['kube-system/kube-dns']);
    expect(untrackedServices(directory, { localDns: [] })).to.deep.equal([]);
  });

  it('is a metric of its own, never a zero', async () => {
    const metrics = createMetrics({ defaultMetrics: false });
    registerMeterMetrics(metrics, view({ unsupported: () => ['kube-system/kube-dns'] }));
    const text = await metrics.text();
    expect(text).to.contain(
      'topology_traffic_unsupported_services{service_namespace="kube-system",service_name="kube-dns"} 1',
    );
    expect(text).not.to.match(/_total\{[^}]*kube-dns/);
  });
});

describe('traffic-meter: routes of the node', () => {
  it('own addresses: once each, also those of an interface that is down', () => {
    const text = [
      'Main:',
      '  +-- 0.0.0.0/0 3 0 5',
      '     |-- 10.96.0.10',
      '        /32 host LOCAL',
      '     |-- 192.168.0.0',
      '        /24 link UNICAST',
      'Local:',
      '     |-- 10.96.0.10',
      '        /32 host LOCAL',
    ].join('\n');
    expect(localAddresses(text)).to.deep.equal(['10.96.0.10']);
  });

  it('IPv4: only those of one address without a gateway', () => {
    const text = [
      'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT',
      'eth0\t00000000\t0101A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0',
      'eth0\t0001A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0',
      'eni1\t2A01A8C0\t00000000\t0005\t0\t0\t0\tFFFFFFFF\t0\t0\t0',
    ].join('\n');
    expect(hostRoutes(text)).to.deep.equal(['192.168.1.42']);
  });

  it('IPv6: the same', () => {
    const text = [
      '20010db8000000000000000000000042 80 00000000000000000000000000000000 00 00000000000000000000000000000000 00000400 00000001 00000000 00000001     eni1',
      '20010db8000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth0',
      '20010db8000000000000000000000099 80 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003     eth0',
    ].join('\n');
    expect(hostRoutes6(text)).to.deep.equal(['2001:db8::42']);
  });
});

describe('traffic-meter: its clockwork', () => {
  const flow = (options: Parameters<typeof lineOf>[0]): Flow => {
    const parsed = parseFlow(lineOf(options, '10.1.1.9:1', '10.96.0.1:80', '10.1.2.1:8080'));
    if (parsed === undefined) throw new Error('the line is no flow');
    return parsed;
  };

  const setUp = (conntrack: Partial<ReturnType<typeof createConntrack>> = {}) => {
    const clock = createFakeClock();
    const ledger = createLedger(threeZones(), own, () => 100);
    let lists = 0;
    const meter = createMeter({
      conntrack: {
        follow: (_take, _overrun, signal) => aborted(signal),
        list() {
          lists += 1;
          return Promise.resolve();
        },
        ...conntrack,
      },
      ledger,
      clock,
      logger: recordingLogger(),
      listIntervalMs: 60_000,
      refresh: () => Promise.resolve(),
    });
    const stop = new AbortController();
    return { clock, ledger, meter, stop, lists: () => lists, running: meter.run(stop.signal) };
  };

  it('reads the table at the start and at its interval, and ends with the signal', async () => {
    const { clock, meter, stop, lists, running } = setUp();
    await clock.settle();
    expect([lists(), meter.problem, meter.listAgeSeconds()]).to.deep.equal([1, undefined, 0]);
    await clock.advance(60_000);
    expect(lists()).to.equal(2);
    expect([meter.listAgeSeconds(), meter.countingSeconds()], 'the list is new, counting is not').to.deep.equal([
      0, 60,
    ]);
    await clock.advance(1_500);
    expect(meter.countingSeconds(), 'of whole windows of two seconds').to.equal(60);
    stop.abort();
    await running;
    expect(clock.pending).to.equal(0);
  });

  it('shows connections two seconds after they began', async () => {
    const { clock, ledger, stop, running } = setUp({
      follow(take, _overrun, signal) {
        take(flow({ event: 'NEW' }));
        return aborted(signal);
      },
    });
    await clock.advance(2_000);
    expect([...ledger.series()].map(({ connections }) => connections)).to.deep.equal([1]);
    stop.abort();
    await running;
  });

  it('starts what ended again, and says meanwhile what is wrong', async () => {
    let starts = 0;
    const { clock, meter, stop, running } = setUp({
      async follow(_take, onOverrun, signal) {
        starts += 1;
        onOverrun();
        if (starts === 1) throw new ConntrackError('conntrack -E: exit code 1: Operation not permitted');
        await aborted(signal);
      },
    });
    await clock.settle();
    expect(meter.problem).to.contain('Operation not permitted');
    await clock.advance(5_000);
    expect(starts).to.equal(2);
    await clock.advance(5_000);
    expect([meter.problem, meter.overruns()]).to.deep.equal([undefined, 2]);
    stop.abort();
    await running;
  });

  it('a list that failed is asked again soon, and gives up no flow', async () => {
    let lists = 0;
    const { clock, ledger, meter, stop, running } = setUp({
      follow(take, _overrun, signal) {
        take(flow({ event: 'NEW' }));
        return aborted(signal);
      },
      list: () => (++lists < 4 ? Promise.reject(new ConntrackError('cut')) : Promise.resolve()),
    });
    await clock.settle();
    expect(meter.problem).to.equal('cut');
    await clock.advance(10_000);
    expect([lists, ledger.living(), ledger.losses.ends]).to.deep.equal([3, 1, 0]);
    stop.abort();
    await running;
  });
});

describe('traffic-meter: the processes of conntrack', () => {
  const folder = temporaryFolder();

  const program = (text: string): string => {
    const path = join(
      folder.path,
      `conntrack-${Math.abs(Buffer.from(text).reduce((sum, byte) => sum * 31 + byte, 7) | 0)}`,
    );
    writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    return path;
  };
  const { signal } = new AbortController();
  const ignore = (): void => undefined;

  it('leaves out a line that is too long for a flow, counts it and reads on', async () => {
    const listed: Flow[] = [];
    let tooLong = 0;
    const flow = lineOf({}, '10.1.1.9:1', '10.1.2.1:2');
    await createConntrack(
      () => void (tooLong += 1),
      program(`echo '${flow}'; head -c 5000 /dev/zero | tr '\\0' x; echo; echo '${flow}'`),
    ).list((each) => listed.push(each), signal);
    expect([listed.length, tooLong]).to.deep.equal([4, 2]);
  });

  it('a list hands over the flows of both families', async () => {
    const listed: Flow[] = [];
    await createConntrack(ignore, program(`echo '${lineOf({}, '10.1.1.9:1', '10.1.2.1:2')}'; echo 'no flow' >&2`)).list(
      (each) => listed.push(each),
      signal,
    );
    expect(listed).to.have.lengthOf(2);
  });

  it('a list that ends early fails with what was printed', async () => {
    const failed = await createConntrack(ignore, program('echo "Operation not permitted" >&2; exit 1'))
      .list(() => undefined, signal)
      .catch((error: unknown) => error);
    expect(failed).to.be.instanceOf(ConntrackError).with.property('message').that.contains('Operation not permitted');
  });

  it('a program that is not installed is named', async () => {
    const failed = await createConntrack(ignore, '/nowhere/conntrack')
      .follow(
        () => undefined,
        () => undefined,
        signal,
      )
      .catch((error: unknown) => error);
    expect(failed).to.be.instanceOf(ConntrackError).with.property('message', '/nowhere/conntrack is not installed');
  });

  it('an overrun is noticed, and the process ends with the signal', async () => {
    const stop = new AbortController();
    let overruns = 0;
    await createConntrack(
      ignore,
      program('echo "WARNING: We have hit ENOBUFS! We are losing events." >&2; exec sleep 60'),
    ).follow(
      () => undefined,
      () => {
        overruns += 1;
        stop.abort();
      },
      stop.signal,
    );
    expect(overruns).to.equal(1);
  });
});

describe('traffic-meter: its flags', () => {
  it('refuse an interval that is none', () => {
    const parsed = parseFlags(['--list-interval', '1']);
    expect(parsed).to.deep.include({ kind: 'exit', code: 2 });
    expect(parsed.kind === 'exit' && parsed.text).to.contain('expected a whole number from 5 to 3600');
  });

  it('have defaults', () => {
    const parsed = parseFlags(['--node-name', 'n1']);
    expect(parsed.kind === 'run' && parsed.flags).to.deep.include({
      nodeName: 'n1',
      conntrack: 'conntrack',
      listInterval: 60,
      maxSeries: 200_000,
    });
  });
});
