// From the configuration to sources: names, order, the one that is always there, and that closing leaves nothing behind.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect } from 'chai';
import { describe, it, beforeEach } from 'mocha';
import nock from 'nock';
import { parse } from 'yaml';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { systemClock } from '../../../pkg/kubernetes/wait.ts';
import { createLoadSources, createTrafficSource } from '../../../pkg/metrics/load-sources.ts';
import { eventually, rejection } from '../../fixtures/eventually.ts';
import type { TrafficMeterSourceConfiguration } from '../../../pkg/apis/config/load-sources.ts';
import { type ClosableSource, LoadError, type LoadQuery, type LoadSource } from '../../../pkg/metrics/types.ts';
import type { MeasuredFlow } from '../../../pkg/traffic/measured.ts';
import { type FakeClock, createFakeClock } from '../../fixtures/fake-clock.ts';
import { flow, meterPage, meterPod } from '../../fixtures/measured.ts';
import { useScriptedServer } from '../../fixtures/scripted-server.ts';
import { POD_METRICS } from '../../../pkg/metrics/resource-metrics.ts';

describe('sources of load', () => {
  const never = new AbortController().signal;

  const item = {
    metadata: { name: 'a' },
    timestamp: '2026-01-01T00:00:00Z',
    window: '15s',
    containers: [{ name: 'main', usage: { cpu: '1' } }],
  };

  const client: Pick<Client, 'pages'> = {
    pages: async function* () {
      yield { metadata: {}, items: [item] };
    } as unknown as Client['pages'],
  };

  const dependencies = {
    client: client as Pick<Client, 'pages' | 'text' | 'create'>,
    clock: systemClock,
    userAgent: 'unit/1.0',
  };

  const common = { timeoutSeconds: 8, cacheSeconds: 10 };
  const query = { namespace: 'shop', service: 'web', pods: new Set(['a']) };

  it('leave no connection when they are closed', async () => {
    const sockets = new Set<Socket>();
    const server = createServer((_request, response) =>
      response.end('{"status":"success","data":{"resultType":"vector","result":[]}}'),
    );
    server.on('connection', (socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { sources, close } = createLoadSources([{ name: 'p', type: 'Prometheus', url, query: 'up', ...common }], {
      ...dependencies,
    });
    await sources.get('p')!.read(query, never);
    expect(sockets.size, 'kept for the next query').to.equal(1);
    await close();
    await eventually(() => sockets.size === 0 || `${sockets.size} connections`);
    server.close();
    await once(server, 'close');
  });
});

describe('TrafficMeter source', () => {
  const NOW = Date.UTC(2026, 0, 1) / 1_000;
  const never = new AbortController().signal;
  const query: LoadQuery = { namespace: 'shop', service: 'web', pods: new Set(['web-0']) };
  const sample = { pod: 'web-0', load: 0.5, sampledAt: NOW, window: 15 };

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

  it('refuses a query of a FlowPolicy, and more meters than can be read one by one', async () => {
    const refused = await rejection(open().read({ ...query, promql: 'up' }, never));
    expect(refused).to.be.instanceOf(LoadError).with.property('reason', 'BadQuery');
    nodes = 101;
    cpu = () => Promise.resolve({ kind: 'pods', samples: [], problems: [] });
    const many = await rejection(open().read(query, never));
    expect(many)
      .to.be.instanceOf(LoadError)
      .with.property('message')
      .that.matches(/101 meters are too many/);
  });

  it('goes by the CPU of Pods where meters cannot be read, and asks these again after a minute', async () => {
    nodes = 0;
    const source = open();
    const problem = 'meters: no Pod of namespace topology-traffic-meter is a traffic-meter';
    const reading = await source.read(query, never);
    expect(reading).to.deep.include({ samples: [], counts: { unit: 'Connection', pods: [sample] } });
    expect(reading.problems.join()).to.contain(problem);
    nodes = 1;
    await clock.advance(50_000);
    expect((await source.read(query, never)).problems.join(), 'soon after').to.contain(problem);
    await clock.advance(10_000);
    expect((await source.read(query, never)).problems).to.deep.equal([]);
  });
});

const root = resolve(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(resolve(root, path), 'utf8');
const reference = read('docs/reference/metric-sources.md');

const blocks = (language: string): string[] =>
  [...reference.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, 'gmu'))].map((match) => match[1] ?? '');

describe('reference of metric sources', () => {
  it('has a row for every reason of a failure', () => {
    const declaration = /export type LoadFailure =([^;]*);/.exec(read('pkg/metrics/types.ts'))?.[1] ?? '';
    const reasons = [...declaration.matchAll(/'(\w+)'/g)].map((match) => match[1] ?? '');
    expect(reasons).to.include('BadQuery');
    expect(reasons.filter((reason) => !reference.includes(`\n| \`${reason}\` |`))).to.deep.equal([]);
  });

  it('has the rights that the requests need', () => {
    const rights = blocks('yaml').find((text) => text.startsWith('rules:'));
    expect(parse(rights ?? '')).to.deep.equal({
      rules: [{ apiGroups: [POD_METRICS.group], resources: [POD_METRICS.plural], verbs: ['get', 'list'] }],
    });
  });
});
