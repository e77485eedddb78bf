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
  for (const [name, given, problem] of [
    ['NaN', sample('NaN'), `NaN${of}`],
    ['infinity', sample('+Inf'), `infinite${of}`],
    ['minus infinity', sample('-Inf'), `infinite${of}`],
    ['a number beyond all', sample('1e999'), `infinite${of}`],
    ['implausibly large', sample('1e308'), `implausibly large${of}`],
    ['a negative number', sample('-0.1'), `negative${of}`],
    ['no number', sample('many'), `not a time and a number${of}`],
    ['hexadecimal', sample('0x10'), `not a time and a number${of}`],
    ['an empty text', sample(''), `not a time and a number${of}`],
    ['a number that is none in JSON', sample(1), `not a time and a number${of}`],
    ['no time', { ...sample('1'), value: ['x', '1'] }, `not a time and a number${of}`],
    ['no value', { metric: { pod: 'a' } }, `not a time and a number${of}`],
    [
      'a native histogram',
      { metric: { pod: 'a' }, histogram: [T, { count: '1', sum: '1' }] },
      `a histogram, not a number${of}`,
    ],
    ['no labels', { value: [T, '1'] }, 'no labels'],
    ['null', null, 'no labels'],
  ] as const) {
    it(`leaves a sample out that is ${name}, and keeps the others`, () => {
      const { rows, problems } = read(answer([given, sample('2', { namespace: 'shop', pod: 'b' })]));
      expect(rows.map(({ pod }) => pod)).to.deep.equal(['b']);
      expect(problems).to.deep.equal([`1 sample left out: ${problem}`]);
    });
  }

  for (const [name, more, problems] of [
    ['a warning', { warnings: ['store x is away'] }, ['warning: "store x is away"']],
    ['notes for people who write queries: not passed on', { infos: ['not a counter'] }, []],
    ['a partial answer', { isPartial: true }, ['the answer is partial']],
    [
      'many warnings',
      { warnings: ['1', '2', '3', '4', '5', '6', '7'] },
      [1, 2, 3, 4, 5].map((text) => `warning: "${text}"`).concat('2 further warnings'),
    ],
    ['warnings that are none', { warnings: 'x' }, []],
  ] as const) {
    it(`reports ${name}`, () => {
      expect(read(answer([], more)).problems).to.deep.equal(problems);
    });
  }

  for (const [name, body, reason, message] of [
    ['a scalar', answer([T, '1'], {}, 'scalar'), 'BadQuery', 'yields a scalar'],
    ['a range', answer([], {}, 'matrix'), 'BadQuery', 'yields a matrix'],
    ['a text', answer([T, 'x'], {}, 'string'), 'BadQuery', 'yields a string'],
    ['another type', answer([], {}, 'streams'), 'BadAnswer', 'no vector'],
    ['a vector that is no list', answer({}), 'BadAnswer', 'no vector'],
    ['no data', '{"status":"success"}', 'BadAnswer', 'no status or no data'],
    ['no status', '{"data":{"resultType":"vector","result":[]}}', 'BadAnswer', 'no status'],
    ['HTML', '<html>secret</html>', 'BadAnswer', '(19 characters) is no JSON object'],
    ['half an answer', answer([sample('1')]).slice(0, 40), 'BadAnswer', 'is no JSON object'],
    ['null', 'null', 'BadAnswer', 'is no JSON object'],
    [
      'an error with status 200',
      '{"status":"error","errorType":"bad_data","error":"parse error"}',
      'BadQuery',
      'bad_data: parse error',
    ],
  ] as const) {
    it(`refuses ${name}`, () => {
      expect(() => read(body))
        .to.throw(LoadError, message)
        .with.property('reason', reason);
    });
  }

  for (const [name, status, body, reason, message] of [
    [
      'a query that fails',
      422,
      '{"status":"error","errorType":"execution","error":"many-to-many"}',
      'BadQuery',
      'status 422: execution: many-to-many',
    ],
    [
      'a query that takes too long',
      503,
      '{"status":"error","errorType":"timeout","error":"query timed out"}',
      'Timeout',
      'status 503: timeout: query timed out',
    ],
    ['a server that is busy', 503, 'Service Unavailable', 'Unreachable', 'status 503'],
    ['a gateway in between', 502, '<html>', 'Unreachable', 'status 502'],
    ['a gateway that waited', 504, '', 'Timeout', 'status 504'],
    ['too many requests', 429, '', 'Unreachable', 'status 429'],
    ['no token', 401, 'Bearer t0 is wrong', 'Forbidden', 'status 401'],
    ['no right', 403, '', 'Forbidden', 'status 403'],
    ['no such path', 404, '404 page not found', 'NotInstalled', 'status 404'],
    ['a teapot', 418, '', 'BadAnswer', 'status 418'],
    ['a redirect', 302, '', 'BadAnswer', 'status 302: redirects are not followed, the url has to be the last one'],
  ] as const) {
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
