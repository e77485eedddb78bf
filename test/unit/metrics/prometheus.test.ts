// The source as a whole: which query is asked for whom, how often, and what becomes of its answer.
import { expect } from 'chai';
import { beforeEach, describe, it } from 'mocha';
import nock from 'nock';
import fc from 'fast-check';
import type { PrometheusSourceConfiguration } from '../../../pkg/apis/config/load-sources.ts';
import { createPrometheus, fillTemplate } from '../../../pkg/metrics/prometheus.ts';
import type { ClosableSource } from '../../../pkg/metrics/types.ts';
import { LoadError } from '../../../pkg/metrics/types.ts';
import type { LoadQuery, LoadReading } from '../../../pkg/metrics/types.ts';
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

const values = { namespace: 'shop', service: 'web' };

/** Go's strconv.Unquote for what PromQL allows in a string, written from its documentation. */
const unquote = (literal: string): string => {
  const quote = literal.charAt(0);
  const inner = literal.slice(1, -1);
  if (quote === '`') return inner;
  const simple: Record<string, string> = {
    a: '\u0007',
    b: '\b',
    f: '\f',
    n: '\n',
    r: '\r',
    t: '\t',
    v: '\v',
    '\\': '\\',
  };
  let text = '';
  for (let index = 0; index < inner.length; index += 1) {
    const character = inner.charAt(index);
    if (character === quote || character === '\n') throw new Error(`bare ${JSON.stringify(character)} in ${literal}`);
    if (character !== '\\') {
      text += character;
      continue;
    }
    const escape = inner.charAt(index + 1);
    const hex = /^x([0-9a-f]{2})/.exec(inner.slice(index + 1));
    if (hex?.[1] !== undefined) {
      text += String.fromCharCode(Number.parseInt(hex[1], 16));
      index += 3;
    } else if (escape === quote || escape in simple) {
      text += escape === quote ? quote : simple[escape];
      index += 1;
    } else throw new Error(`no escape: \\${escape} in ${literal}`);
  }
  return text;
};

interface Filled {
  readonly name: string;
  readonly template: string;
  readonly filled: string;
}

describe('PromQL template', () => {
  const fills = (title: string, cases: readonly Filled[], names = values): void => {
    for (const { name, template, filled } of cases) {
      it(`${title} ${name}`, () => expect(fillTemplate(template, names)).to.equal(filled));
    }
  };

  fills('puts names', [
    { name: 'in double quotes', template: 'x{namespace="$namespace"}', filled: 'x{namespace="shop"}' },
    { name: 'in single quotes', template: "x{namespace='$namespace'}", filled: "x{namespace='shop'}" },
    { name: 'between backticks', template: 'x{namespace=`$namespace`}', filled: 'x{namespace=`shop`}' },
    { name: 'without quotes', template: 'x{namespace=$namespace}', filled: 'x{namespace="shop"}' },
    { name: 'both, in braces', template: '"${namespace}/${service}"', filled: '"shop/web"' },
    { name: 'as part of a text', template: 'x{pod=~"$service-.*"}', filled: 'x{pod=~"web-.*"}' },
    { name: 'several times', template: '"$service" + $service', filled: '"web" + "web"' },
    {
      name: 'not in a comment',
      template: '# $service "\nx{a="$service"} # \'',
      filled: '# $service "\nx{a="web"} # \'',
    },
    { name: 'not where a name only begins so', template: '"$services $service_a"', filled: '"$services $service_a"' },
    { name: 'not where the dollar is escaped away', template: '"\\$service"', filled: '"\\$service"' },
    { name: 'behind an escaped backslash', template: '"\\\\$service"', filled: '"\\\\web"' },
    { name: 'not in an unknown variable', template: '"$pod ${pod}"', filled: '"$pod ${pod}"' },
    { name: 'the end of a pattern stays', template: 'x{pod=~"^$service$"}', filled: 'x{pod=~"^web$"}' },
    {
      name: 'a query without variables stays',
      template: 'sum by (pod) (rate(x[1m]))',
      filled: 'sum by (pod) (rate(x[1m]))',
    },
    { name: 'nothing', template: '', filled: '' },
  ]);

  const hostile = String.raw`a"} or vector(1) #\'` + '\n`$namespace`';
  fills(
    'lets no name leave its string:',
    [
      {
        name: 'double quotes',
        template: 'x{a="$service"}',
        filled: String.raw`x{a="a\"} or vector(1) #\\'\n` + '`$namespace`"}',
      },
      {
        name: 'single quotes',
        template: "x{a='$service'}",
        filled: String.raw`x{a='a"} or vector(1) #\\\'\n` + "`$namespace`'}",
      },
      {
        name: 'no quotes',
        template: 'x{a=$service}',
        filled: String.raw`x{a="a\"} or vector(1) #\\'\n` + '`$namespace`"}',
      },
    ],
    { namespace: 'n', service: hostile },
  );

  fills(
    'makes a pattern match nothing but the name, behind',
    [
      { name: '=~', template: 'x{a=~"$service"}', filled: 'x{a=~"a\\\\.b\\\\|c"}' },
      { name: '!~ and a space', template: 'x{a!~ "$service"}', filled: 'x{a!~ "a\\\\.b\\\\|c"}' },
      { name: '=~ and a comment', template: 'x{a=~ # "\n"$service"}', filled: 'x{a=~ # "\n"a\\\\.b\\\\|c"}' },
      { name: '=~ and backticks', template: 'x{a=~`$service`}', filled: 'x{a=~`a\\.b\\|c`}' },
      { name: '=~ without quotes', template: 'x{a=~$service}', filled: 'x{a=~"a\\\\.b\\\\|c"}' },
      { name: 'but not behind =', template: 'x{a="$service"}', filled: 'x{a="a.b|c"}' },
      { name: 'and not in the matcher behind it', template: 'x{a=~"b",c="$service"}', filled: 'x{a=~"b",c="a.b|c"}' },
    ],
    { namespace: 'n', service: 'a.b|c' },
  );

  for (const { name, template, message } of [
    { name: 'a double quote', template: 'x{a="$service}', message: 'it begins with "' },
    { name: 'a single quote', template: "x{a='$service}", message: "it begins with '" },
    { name: 'a backtick', template: 'x{a=`$service}', message: 'it begins with `' },
    { name: 'a string that breaks', template: 'x{a="\n$service"}', message: 'it begins with "' },
    { name: 'a string whose end is escaped', template: '"$service\\"', message: 'it begins with "' },
  ]) {
    it(`refuses ${name} without a second one`, () => {
      expect(() => fillTemplate(template, values))
        .to.throw(LoadError, message)
        .with.property('reason', 'BadQuery');
    });
  }

  it('refuses a name with a backtick between backticks', () => {
    expect(() => fillTemplate('`$service`', { namespace: 'n', service: 'a`b' })).to.throw(LoadError, 'backtick');
  });

  it('refuses what is too long, before and after names are put in', () => {
    expect(() => fillTemplate('x'.repeat(65_537), values)).to.throw(LoadError, 'longer than 65536');
    const long = { namespace: 'n', service: 'x'.repeat(253) };
    expect(() => fillTemplate('$service'.repeat(300), long)).to.throw(LoadError, 'longer than 65536');
  });

  it('holds for every name: what the string means is the name', () => {
    const anyName = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 30 }),
      fc
        .array(fc.constantFrom('"', "'", '`', '\\', '\n', '\r', '\u0000', '\u007f', '$', 'service', '}', '#', 'x'), {
          maxLength: 12,
        })
        .map((parts) => parts.join('')),
    );
    const check = (name: string, quote: string): void => {
      const filled = fillTemplate(`x{a=${quote}<$service>${quote}}`, { namespace: 'n', service: name });
      expect(filled.startsWith('x{a=') && filled.endsWith('}')).to.equal(true);
      expect(unquote(filled.slice(4, -1))).to.equal(`<${name.toWellFormed()}>`);
    };
    fc.assert(fc.property(anyName, fc.constantFrom('"', "'"), check), { numRuns: upTo(10_000) });
  });

  it('never fails with anything but a LoadError, and leaves queries without variables alone', () => {
    const part = fc.constantFrom('"', "'", '`', '\\', '\n', '#', '=~', '{', '}', 'x', ' ', '$servic', '$', '(');
    const template = fc.array(part, { maxLength: 20 }).map((parts) => parts.join(''));
    const check = (text: string): void => {
      try {
        expect(fillTemplate(text, values)).to.equal(text);
      } catch (error) {
        expect(error).to.be.instanceOf(LoadError);
      }
    };
    fc.assert(fc.property(template, check), { numRuns: upTo(5_000) });
  });
});
