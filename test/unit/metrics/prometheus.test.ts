// The source as a whole: which query is asked for whom, how often, and what becomes of its answer.
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import nock from 'nock';
import type { PrometheusSourceConfiguration } from '../../../pkg/apis/config/load-sources.ts';
import { createPrometheus } from '../../../pkg/metrics/prometheus.ts';
import type { PrometheusSource } from '../../../pkg/metrics/prometheus.ts';
import { LoadError } from '../../../pkg/metrics/types.ts';
import type { LoadQuery, LoadReading } from '../../../pkg/metrics/types.ts';
import { rejection } from '../../fixtures/eventually.ts';
import { createFakeClock } from '../../fixtures/fake-clock.ts';
import type { FakeClock } from '../../fixtures/fake-clock.ts';
import { useScriptedServer } from '../../fixtures/scripted-server.ts';

const SERVER = 'http://prometheus.test:9090';
const PATH = '/api/v1/query';
const NOW = Date.UTC(2026, 0, 1) / 1_000;
const never = new AbortController().signal;

const vectorOf = (samples: Readonly<Record<string, string>>, namespace = 'shop', at = NOW): object => ({
  status: 'success',
  data: {
    resultType: 'vector',
    result: Object.entries(samples).map(([pod, value]) => ({ metric: { namespace, pod }, value: [at, value] })),
  },
});
const query = (more: Partial<LoadQuery> = {}): LoadQuery => ({
  namespace: 'shop',
  service: 'web',
  pods: new Set(['a', 'b']),
  ...more,
});

describe('Prometheus source', () => {
  let clock: FakeClock;
  const opened: PrometheusSource[] = [];
  const open = (more: Partial<PrometheusSourceConfiguration> = {}): PrometheusSource => {
    const source = createPrometheus({
      config: { name: 'p', type: 'Prometheus', url: SERVER, timeoutSeconds: 8, cacheSeconds: 10, ...more },
      clock,
      userAgent: 'unit/1.0',
    });
    opened.push(source);
    return source;
  };
  const answers = (promql: string, body: object | string, status = 200): nock.Scope =>
    nock(SERVER)
      .post(PATH, (form: { query?: string }) => form.query === promql)
      .reply(status, body);
  const read = (source: PrometheusSource, of = query(), signal = never): Promise<LoadReading> =>
    source.read(of, signal);

  beforeEach(() => {
    clock = createFakeClock(NOW * 1_000);
  });
  useScriptedServer(
    () => clock,
    () => Promise.all(opened.splice(0).map((source) => source.close())),
  );

  it("asks the FlowPolicy's query with the names of the Service in it", async () => {
    answers('load{namespace="shop",pod=~"web-.*"}', vectorOf({ a: '0.5', b: '1' }));
    const promql = 'load{namespace="$namespace",pod=~"$service-.*"}';
    expect(await read(open({ query: 'other' }), query({ promql }))).to.deep.equal({
      kind: 'pods',
      samples: [
        { pod: 'a', load: 0.5, sampledAt: NOW, window: 60 },
        { pod: 'b', load: 1, sampledAt: NOW, window: 60 },
      ],
      problems: [],
    });
  });

  it('asks the query of the configuration where the FlowPolicy has none, with the configured window and labels', async () => {
    const metric = { kubernetes_namespace: 'shop', instance: 'a' };
    const body = { status: 'success', data: { resultType: 'vector', result: [{ metric, value: [NOW, '3'] }] } };
    answers('load{namespace="shop"}', body);
    const source = open({
      query: 'load{namespace=$namespace}',
      windowSeconds: 30,
      labels: { namespace: 'kubernetes_namespace', pod: 'instance' },
    });
    expect((await read(source, query({ pods: new Set(['a']) }))).samples).to.deep.equal([
      { pod: 'a', load: 3, sampledAt: NOW, window: 30 },
    ]);
  });

  for (const { name, config, of, message } of [
    {
      name: 'nobody has a query',
      config: {},
      of: query(),
      message: 'neither the FlowPolicy nor the source p has a query',
    },
    {
      name: 'FlowPolicies may bring none',
      config: { query: 'q', policyQueries: false },
      of: query({ promql: 'secret' }),
      message: 'the source p accepts no query of a FlowPolicy',
    },
    {
      name: 'the query has a string without an end',
      config: {},
      of: query({ promql: 'x{a="$service}' }),
      message: 'the query has a string without an end: it begins with "',
    },
  ]) {
    it(`asks nothing where ${name}`, async () => {
      const error = await rejection(read(open(config), of));
      expect(error).to.be.instanceOf(LoadError).with.property('reason', 'BadQuery');
      expect(error).to.have.property('message', message);
    });
  }

  it('asks once for all whose query is the same, and not again for a while', async () => {
    const source = open({ query: 'all' });
    answers('all', vectorOf({ a: '1', c: '3' }));
    const both = await Promise.all([
      read(source, query({ pods: new Set(['a']) })),
      read(source, query({ service: 'db', pods: new Set(['c']) })),
    ]);
    expect(both.map(({ samples }) => samples.map(({ load }) => load))).to.deep.equal([[1], [3]]);
    await clock.advance(9_000);
    const later = await read(source, query({ pods: new Set(['a']) }));
    expect(later.samples, 'as old as it is').to.deep.equal([{ pod: 'a', load: 1, sampledAt: NOW, window: 60 }]);
    answers('all', vectorOf({ a: '2' }, 'shop', NOW + 9));
    const fresh = await read(source, query({ pods: new Set(['a']), maxAgeSeconds: 1 }));
    expect(fresh.samples[0]).to.include({ load: 2, sampledAt: NOW + 9 });
  });

  it('knows from a second query when samples were taken', async () => {
    const source = open({ query: 'q', sampleTimeQuery: 'timestamp(q{n="$namespace"})' });
    answers('q', vectorOf({ a: '1', b: '2' }));
    answers('timestamp(q{n="shop"})', vectorOf({ a: `${NOW - 30}`, b: `${NOW - 45}` }));
    const { samples } = await read(source);
    expect(samples.map(({ sampledAt }) => sampledAt)).to.deep.equal([NOW - 30, NOW - 45]);
  });

  it('asks no more at a time than it may', async () => {
    const source = open({ query: 'x{s="$service"}', maxConcurrentQueries: 2 });
    let together = 0;
    let most = 0;
    nock(SERVER)
      .post(PATH)
      .times(6)
      .reply(200, async () => {
        together += 1;
        most = Math.max(most, together);
        await new Promise((resolve) => setTimeout(resolve, 5));
        together -= 1;
        return vectorOf({ a: '1' });
      });
    const services = ['a', 'b', 'c', 'd', 'e', 'f'];
    await Promise.all(services.map((service) => read(source, query({ service }))));
    expect(most).to.equal(2);
  });

  it('connects to the configured address, whatever names and queries hold', async () => {
    const source = open({ query: '$service' });
    const service = 'http://evil.test/"';
    answers(String.raw`"http://evil.test/\""`, vectorOf({}));
    expect((await read(source, query({ service }))).samples).to.deep.equal([]);
  });
});
