// The source of load that traffic-meters are: growth between two looks at them, or what a Prometheus has of them, with CPU beside it.
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import nock from 'nock';
import type { TrafficMeterSourceConfiguration } from '../../../pkg/apis/config/load-sources.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { createTrafficSource } from '../../../pkg/metrics/load-sources.ts';
import type { ClosableSource } from '../../../pkg/metrics/types.ts';
import { LoadError } from '../../../pkg/metrics/types.ts';
import type { LoadQuery, LoadSource } from '../../../pkg/metrics/types.ts';
import type { MeasuredFlow } from '../../../pkg/traffic/measured.ts';
import { rejection } from '../../fixtures/eventually.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';
import type { FakeClock } from '../../fixtures/fake-clock.ts';
import { flow, meterPage, meterPod } from '../../fixtures/measured.ts';
import { useScriptedServer } from '../../fixtures/scripted-server.ts';

const NOW = Date.UTC(2026, 0, 1) / 1_000;
const never = new AbortController().signal;
const query: LoadQuery = { namespace: 'shop', service: 'web', pods: new Set(['web-0']) };
const sample = { pod: 'web-0', load: 0.5, sampledAt: NOW, window: 15 };

describe('TrafficMeter source', () => {
  let clock: FakeClock;
  let flows: readonly MeasuredFlow[];
  let seconds: number;
  let nodes: number;
  let cpu: LoadSource['read'];
  const opened: ClosableSource[] = [];

  const client = {
    async *pages() {
      yield await Promise.resolve({
        items: Array.from({ length: nodes }, (_, index) => meterPod(`n${index}`)),
        metadata: {},
      });
    },
    text: () => Promise.resolve(meterPage(seconds, flows)),
    create: () => Promise.resolve({ status: { token: 'for meters' } }),
  } as unknown as Pick<Client, 'pages' | 'text' | 'create'>;

  const open = (more: Partial<TrafficMeterSourceConfiguration> = {}): ClosableSource => {
    const config: TrafficMeterSourceConfiguration = {
      name: 'meters',
      type: 'TrafficMeter',
      timeoutSeconds: 8,
      cacheSeconds: 1,
      ...more,
    };
    const source = createTrafficSource({
      config,
      client,
      clock,
      userAgent: 'unit/1.0',
      cpu: { name: 'cpu', read: (...args) => cpu(...args) },
    });
    opened.push(source);
    return source;
  };

  beforeEach(() => {
    clock = createFakeClock(NOW * 1_000);
    [flows, seconds, nodes] = [[flow('shop/web', 'a', 'b', 1e6, 10), flow('shop/other', 'a', 'b', 1e6, 99)], 100, 1];
    cpu = () => Promise.resolve({ kind: 'pods', samples: [sample], problems: [] });
  });
  useScriptedServer(
    () => clock,
    () => Promise.all(opened.splice(0).map((source) => source.close())),
  );

  const second = async (source: ClosableSource): Promise<unknown> => {
    await source.read(query, never);
    await clock.advance(2_000);
    seconds = 102;
    flows = [flow('shop/web', 'a', 'b', 1e6, 11), flow('shop/web', 'a', 'external', 5e6, 50)];
    return source.read(query, never);
  };

  it('counts nothing at the first look, and growth at the second: connections of the Service between known zones', async () => {
    const source = open();
    expect(await source.read(query, never)).to.deep.equal({
      kind: 'zone-pairs',
      samples: [],
      counts: { unit: 'Connection', pods: [sample] },
      problems: [],
    });
    // 102 s of 11 a second less 100 s of 10, in two seconds.
    expect(await second(open())).to.deep.equal({
      kind: 'zone-pairs',
      samples: [{ sourceZone: 'a', destinationZone: 'b', load: 61, sampledAt: NOW + 2, window: 2 }],
      counts: { unit: 'Connection', pods: [sample] },
      problems: [],
    });
  });

  it('counts megabytes where asked to', async () => {
    const { samples, counts } = (await second(open({ count: 'Bytes' }))) as {
      samples: { load: number }[];
      counts: { unit: string };
    };
    expect([samples[0]?.load, counts.unit]).to.deep.equal([1, 'Megabyte']);
  });

  it('asks a Prometheus for the pairs of the Service where it has a url', async () => {
    const metric = { source_zone: 'a', destination_zone: 'b' };
    const promql =
      'sum by (source_zone, destination_zone) (rate(topology_traffic_connections_total{service_namespace="shop", service_name="web"}[30s]))';
    nock('http://prometheus.test')
      .post('/api/v1/query', (form: { query?: string }) => form.query === promql)
      .reply(200, { status: 'success', data: { resultType: 'vector', result: [{ metric, value: [NOW, '12.5'] }] } });
    expect(await open({ url: 'http://prometheus.test', windowSeconds: 30 }).read(query, never)).to.deep.equal({
      kind: 'zone-pairs',
      samples: [{ sourceZone: 'a', destinationZone: 'b', load: 12.5, sampledAt: NOW, window: 30 }],
      counts: { unit: 'Connection', pods: [sample] },
      problems: [],
    });
  });

  it('goes on without CPU, and says so', async () => {
    cpu = () => Promise.reject(new LoadError('NotInstalled', 'no metrics API'));
    const { counts, problems } = (await second(open())) as { counts: { pods: unknown[] }; problems: string[] };
    expect([counts.pods, problems]).to.deep.equal([[], ['CPU of Pods: no metrics API']]);
  });

  it('refuses a query of a FlowPolicy, and more meters than can be read one by one', async () => {
    const refused = await rejection(open().read({ ...query, promql: 'up' }, never));
    expect(refused).to.be.instanceOf(LoadError).with.property('reason', 'BadQuery');
    nodes = 101;
    const many = await rejection(open().read(query, never));
    expect(many)
      .to.be.instanceOf(LoadError)
      .with.property('message')
      .that.matches(/101 meters are too many/);
  });
});
