// The source as a whole: which query is asked for whom, how often, and what becomes of its answer.
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import nock from 'nock';
import fc from 'fast-check';
import type { PrometheusSourceConfiguration } from '../../../pkg/apis/config/load-sources.ts';
import { createPrometheus, fillTemplate } from '../../../pkg/metrics/prometheus.ts';
import { type ClosableSource, LoadError, type LoadQuery, type LoadReading } from '../../../pkg/metrics/types.ts';
import { rejection } from '../../fixtures/eventually.ts';
import { type FakeClock, createFakeClock } from '../../fixtures/fake-clock.ts';
import { useScriptedServer } from '../../fixtures/scripted-server.ts';
import { upTo } from '../../support/depth.ts';

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
  const opened: ClosableSource[] = [];
  const open = (more: Partial<PrometheusSourceConfiguration> = {}): ClosableSource => {
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
  const read = (source: ClosableSource, of = query(), signal = never): Promise<LoadReading> => source.read(of, signal);

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

  for (const [name, config, of, message] of [
    ['no side has a query', {}, query(), 'neither the FlowPolicy nor the source p has a query'],
    [
      'FlowPolicies may bring none',
      { query: 'q', policyQueries: false },
      query({ promql: 'secret' }),
      'the source p accepts no query of a FlowPolicy',
    ],
    [
      'the name of the Service is none',
      {},
      query({ promql: 'x{a="$service"}', service: 'a"} or vector(1) #' }),
      String.raw`"a\"} or vector(1) #" is not the name of a service`,
    ],
  ] as const) {
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

  it('connects to the configured address, whatever names and queries hold', async () => {
    const promql = '"http://evil.test/$service"';
    answers('"http://evil.test/web"', vectorOf({}));
    expect((await read(open(), query({ promql }))).samples).to.deep.equal([]);
  });
});

const values = { namespace: 'shop', service: 'web' };

describe('PromQL template', () => {
  const cases: readonly (readonly [name: string, template: string, filled: string])[] = [
    ['in double quotes', 'x{namespace="$namespace"}', 'x{namespace="shop"}'],
    ['in single quotes', "x{namespace='$namespace'}", "x{namespace='shop'}"],
    ['between backticks', 'x{namespace=`$namespace`}', 'x{namespace=`shop`}'],
    ['without quotes', 'x{namespace=$namespace}', 'x{namespace="shop"}'],
    ['both, in braces', '"${namespace}/${service}"', '"shop/web"'],
    ['as part of a text', 'x{pod=~"$service-.*"}', 'x{pod=~"web-.*"}'],
    ['several times', '"$service" + $service', '"web" + "web"'],
    ['in a string behind a comment with a quote', '# it\'s "\nx{a="$service"} # \'', '# it\'s "\nx{a="web"} # \''],
    ['in a string that holds other quotes', '"it\'s `$service"', '"it\'s `web"'],
    ['behind an escaped quote', '"\\"$service"', '"\\"web"'],
    ['not where a name only begins so', '"$services $service_a"', '"$services $service_a"'],
    ['behind an escaped backslash', '"\\\\$service"', '"\\\\web"'],
    ['not in an unknown variable', '"$pod ${pod}"', '"$pod ${pod}"'],
    ['the end of a pattern stays', 'x{pod=~"^$service$"}', 'x{pod=~"^web$"}'],
    ['a query without variables stays', 'sum by (pod) (rate(x[1m]))', 'sum by (pod) (rate(x[1m]))'],
    ['nothing', '', ''],
  ];
  for (const [name, template, filled] of cases)
    it(`puts names ${name}`, () => expect(fillTemplate(template, values)).to.equal(filled));

  const noNames = ['', 'a"b', "it's", 'a`b', '\\', 'a.b', 'a|b', '.*', '-a', 'A', 'a\n', '$service', 'x'.repeat(64)];
  for (const service of noNames) {
    it(`puts nothing in its place that is no name: ${JSON.stringify(service)}`, () => {
      for (const template of ['x{a="$service"}', 'x{a=~`$service`}', '$service'])
        expect(() => fillTemplate(template, { namespace: 'n', service }))
          .to.throw(LoadError, 'is not the name of a service')
          .with.property('reason', 'BadQuery');
    });
  }

  it('refuses what is too long once names are put in', () => {
    const long = { namespace: 'n', service: 'x'.repeat(63) };
    expect(() => fillTemplate('$service '.repeat(1_200), long)).to.throw(LoadError, 'longer than 65536');
  });

  it('leaves queries without variables alone, whatever they are', () => {
    const part = fc.constantFrom('"', "'", '`', '\\', '\n', '#', '=~', '{', '}', 'x', ' ', '$servic', '$', '(');
    const template = fc.array(part, { maxLength: 20 }).map((parts) => parts.join(''));
    const check = (text: string): void => void expect(fillTemplate(text, values)).to.equal(text);
    fc.assert(fc.property(template, check), { numRuns: upTo(5_000) });
  });
});
