// What Prometheus answers, good, bad and hostile: rows that are loads, or a LoadError, and nothing else.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { failureOf, readVector } from '../../../pkg/metrics/prometheus-answer.ts';
import { LoadError } from '../../../pkg/metrics/types.ts';

const T = 1_800_000_000.5;
const answer = (result: unknown, more: object = {}, resultType = 'vector'): string =>
  JSON.stringify({ status: 'success', data: { resultType, result }, ...more });
const sample = (value: unknown, metric: object = { namespace: 'shop', pod: 'a' }): object => ({
  metric,
  value: [T, value],
});
const read = (body: string) =>
  readVector(body, (label, value, at) => ({ pod: label('pod'), zone: label('source_zone'), value, at }), [
    'pod',
    'source_zone',
  ]);

describe("Prometheus' answer", () => {
  it('gives labels, numbers and the time of the evaluation', () => {
    const zones = { source_zone: 'a', destination_zone: 'b', le: '5' };
    expect(read(answer([sample('0.25'), sample('1e-3', zones)]))).to.deep.equal({
      rows: [
        { pod: 'a', zone: undefined, value: 0.25, at: T },
        { pod: undefined, zone: 'a', value: 0.001, at: T },
      ],
      problems: [],
    });
  });

  for (const [text, value] of Object.entries({
    '0': 0,
    '-0': 0,
    '+1': 1,
    '.5': 0.5,
    '5.': 5,
    '1.5e+06': 1.5e6,
    '1E2': 100,
  })) {
    it(`reads ${text}`, () => {
      const [first] = read(answer([sample(text)])).rows;
      expect(Object.is(first?.value, value), `${first?.value}`).to.equal(true);
    });
  }

  const of = ', of "a"';
  for (const { name, given, problem } of [
    { name: 'NaN', given: sample('NaN'), problem: `NaN${of}` },
    { name: 'infinity', given: sample('+Inf'), problem: `infinite${of}` },
    { name: 'minus infinity', given: sample('-Inf'), problem: `infinite${of}` },
    { name: 'a number beyond all', given: sample('1e999'), problem: `infinite${of}` },
    { name: 'implausibly large', given: sample('1e308'), problem: `implausibly large${of}` },
    { name: 'a negative number', given: sample('-0.1'), problem: `negative${of}` },
    { name: 'no number', given: sample('many'), problem: `not a time and a number${of}` },
    { name: 'hexadecimal', given: sample('0x10'), problem: `not a time and a number${of}` },
    { name: 'an empty text', given: sample(''), problem: `not a time and a number${of}` },
    { name: 'a number that is none in JSON', given: sample(1), problem: `not a time and a number${of}` },
    { name: 'no time', given: { ...sample('1'), value: ['x', '1'] }, problem: `not a time and a number${of}` },
    { name: 'no value', given: { metric: { pod: 'a' } }, problem: `not a time and a number${of}` },
    {
      name: 'a native histogram',
      given: { metric: { pod: 'a' }, histogram: [T, { count: '1', sum: '1' }] },
      problem: `a histogram, not a number${of}`,
    },
    { name: 'no labels', given: { value: [T, '1'] }, problem: 'no labels' },
    { name: 'null', given: null, problem: 'no labels' },
  ]) {
    it(`leaves a sample out that is ${name}, and keeps the others`, () => {
      const { rows, problems } = read(answer([given, sample('2', { namespace: 'shop', pod: 'b' })]));
      expect(rows.map(({ pod }) => pod)).to.deep.equal(['b']);
      expect(problems).to.deep.equal([`1 sample left out: ${problem}`]);
    });
  }

  for (const { name, more, problems } of [
    { name: 'a warning', more: { warnings: ['store x is away'] }, problems: ['warning: "store x is away"'] },
    { name: 'notes for people who write queries: not told', more: { infos: ['not a counter'] }, problems: [] },
    { name: 'a partial answer', more: { isPartial: true }, problems: ['the answer is partial'] },
    {
      name: 'many warnings',
      more: { warnings: ['1', '2', '3', '4', '5', '6', '7'] },
      problems: [1, 2, 3, 4, 5].map((text) => `warning: "${text}"`).concat('2 further warnings'),
    },
    { name: 'warnings that are none', more: { warnings: 'x' }, problems: [] },
  ]) {
    it(`reports ${name}`, () => {
      expect(read(answer([], more)).problems).to.deep.equal(problems);
    });
  }

  for (const { name, body, reason, message } of [
    { name: 'a scalar', body: answer([T, '1'], {}, 'scalar'), reason: 'BadQuery', message: 'yields a scalar' },
    { name: 'a range', body: answer([], {}, 'matrix'), reason: 'BadQuery', message: 'yields a matrix' },
    { name: 'a text', body: answer([T, 'x'], {}, 'string'), reason: 'BadQuery', message: 'yields a string' },
    { name: 'another type', body: answer([], {}, 'streams'), reason: 'BadAnswer', message: 'no vector' },
    { name: 'a vector that is no list', body: answer({}), reason: 'BadAnswer', message: 'no vector' },
    { name: 'no data', body: '{"status":"success"}', reason: 'BadAnswer', message: 'no status or no data' },
    {
      name: 'no status',
      body: '{"data":{"resultType":"vector","result":[]}}',
      reason: 'BadAnswer',
      message: 'no status',
    },
    { name: 'HTML', body: '<html>secret</html>', reason: 'BadAnswer', message: '(19 characters) is no JSON object' },
    {
      name: 'half an answer',
      body: answer([sample('1')]).slice(0, 40),
      reason: 'BadAnswer',
      message: 'is no JSON object',
    },
    { name: 'null', body: 'null', reason: 'BadAnswer', message: 'is no JSON object' },
    {
      name: 'an error with status 200',
      body: '{"status":"error","errorType":"bad_data","error":"parse error"}',
      reason: 'BadQuery',
      message: 'bad_data: parse error',
    },
  ]) {
    it(`refuses ${name}`, () => {
      expect(() => read(body))
        .to.throw(LoadError, message)
        .with.property('reason', reason);
    });
  }

  for (const { name, status, body, reason, message } of [
    {
      name: 'a query that is none',
      status: 400,
      body: '{"status":"error","errorType":"bad_data","error":"1:3: parse error: unexpected end"}',
      reason: 'BadQuery',
      message: 'status 400: bad_data: 1:3: parse error: unexpected end',
    },
    {
      name: 'a query that fails',
      status: 422,
      body: '{"status":"error","errorType":"execution","error":"many-to-many"}',
      reason: 'BadQuery',
      message: 'status 422: execution: many-to-many',
    },
    {
      name: 'a query that takes too long',
      status: 503,
      body: '{"status":"error","errorType":"timeout","error":"query timed out"}',
      reason: 'Timeout',
      message: 'status 503: timeout: query timed out',
    },
    {
      name: 'a server that is busy',
      status: 503,
      body: 'Service Unavailable',
      reason: 'Unreachable',
      message: 'status 503',
    },
    { name: 'a gateway in between', status: 502, body: '<html>', reason: 'Unreachable', message: 'status 502' },
    { name: 'a gateway that waited', status: 504, body: '', reason: 'Timeout', message: 'status 504' },
    { name: 'too many requests', status: 429, body: '', reason: 'Unreachable', message: 'status 429' },
    { name: 'no token', status: 401, body: 'Bearer t0 is wrong', reason: 'Forbidden', message: 'status 401' },
    { name: 'no right', status: 403, body: '', reason: 'Forbidden', message: 'status 403' },
    { name: 'no such path', status: 404, body: '404 page not found', reason: 'NotInstalled', message: 'status 404' },
    { name: 'a teapot', status: 418, body: '', reason: 'BadAnswer', message: 'status 418' },
    {
      name: 'a redirect',
      status: 302,
      body: '',
      reason: 'BadAnswer',
      message: 'status 302: redirects are not followed, the url has to be the last one',
    },
  ]) {
    it(`calls ${name} ${reason}`, () => {
      const error = failureOf(status, body);
      expect(error).to.be.instanceOf(LoadError);
      expect({ reason: error.reason, message: error.message }).to.deep.equal({ reason, message });
    });
  }

  it("quotes Prometheus' words only, on one short line", () => {
    const long = { status: 'error', errorType: 'bad_data', error: `a\n\u001b[31m${'x'.repeat(1_000)}` };
    const { message } = failureOf(400, JSON.stringify(long));
    expect(message).to.match(/^status 400: bad_data: a \[31mx+$/u);
    expect(message.length).to.be.below(330);
    expect(failureOf(400, '{"message":"Bearer t0"}').message).to.equal('status 400');
  });

  it('bears JSON of any depth', () => {
    const deep = `${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}`;
    expect(() => read(deep)).to.throw(LoadError);
    expect(() => read(deep.slice(1))).to.throw(LoadError);
    const inside = `{"status":"success","data":{"resultType":"vector","result":${deep}}}`;
    expect(read(inside).rows).to.deep.equal([]);
  });
});
