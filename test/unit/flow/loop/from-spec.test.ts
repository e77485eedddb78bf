// Tests of what a FlowPolicy's spec means to the loop.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import fc from 'fast-check';
import { parseDuration } from '../../../../pkg/apis/quantity.ts';
import { DEFAULT_LOOP_POLICY, settingsFromSpec } from '../../../../pkg/flow/loop/from-spec.ts';
import { parseObservation } from '../../../../pkg/flow/loop/parse-observation.ts';

describe('the settings of a FlowPolicy', () => {
  it('of an empty one are the defaults', () => {
    expect(settingsFromSpec({})).to.deep.equal({
      mode: 'Enforce',
      loop: { ...DEFAULT_LOOP_POLICY, cost: undefined },
      capacity: { from: 'Requests' },
      source: undefined,
      query: undefined,
      intervalSeconds: undefined,
    });
  });

  it('of a full one are in cores, fractions and seconds', () => {
    const { loop, ...rest } = settingsFromSpec({
      mode: 'Observe',
      targetUtilizationPercent: 60,
      upperUtilizationPercent: 75,
      upDwell: '1m30s',
      downDwell: '1h',
      planInterval: '2s',
      metrics: { source: 'prometheus', query: 'q', interval: '5s' },
      capacity: { from: 'Value', value: '250m' },
      minEndpointsPerZone: 2,
      worthwhileSavingPercent: 5,
      staleness: { holdAfter: '30s', safeModeAfter: '1.5m' },
      safeMode: 'SameZone',
      zoneCosts: [{ from: 'a', to: 'b', cost: 0.5 }],
    });
    expect(rest).to.deep.equal({
      mode: 'Observe',
      capacity: { from: 'Value', cores: 0.25 },
      source: 'prometheus',
      query: 'q',
      intervalSeconds: 5,
    });
    const { cost, ...numbers } = loop;
    expect(numbers).to.deep.equal({
      targetUtilization: 0.6,
      upperUtilization: 0.75,
      upDwellSeconds: 90,
      downDwellSeconds: 3_600,
      quickReturnSeconds: Infinity,
      planIntervalSeconds: 2,
      holdAfterSeconds: 30,
      safeModeAfterSeconds: 90,
      safeMode: 'same-zone',
      minEndpoints: 2,
      worthwhileSaving: 0.05,
      settleSeconds: DEFAULT_LOOP_POLICY.settleSeconds,
    });
    expect([cost?.('a', 'b'), cost?.('b', 'a')], 'listed, and not').to.deep.equal([0.5, 1]);
  });

  it('have limits as capacity where they are asked for', () => {
    expect(settingsFromSpec({ capacity: { from: 'Limits' } }).capacity).to.deep.equal({ from: 'Limits' });
  });
});

describe('a duration', () => {
  const read: [string, number | undefined][] = [
    ['30s', 30],
    ['1h2m3.5s', 3_723.5],
    ['500ms', 0.5],
    ['90m', 5_400],
    ['', undefined],
    ['5', undefined],
    ['-5s', undefined],
    ['5 s', undefined],
    ['1d', undefined],
    ['9'.repeat(100), undefined],
  ];
  for (const [text, seconds] of read)
    it(`${JSON.stringify(text)} is ${seconds}`, () => expect(parseDuration(text)).to.equal(seconds));
});

// Tests of reading observations: what is missing gets its default, and what is wrong is named.
const endpoint = {
  name: 'a1',
  address: '10.0.0.1',
  zone: 'a',
  node: 'n1',
  ready: true,
  capacity: 1,
  load: 0.5,
  sampledAt: 30,
};
const valid = { time: 30, zones: ['a', 'b'], endpoints: [endpoint] };

describe('an observation as JSON', () => {
  it('is read, with a window of fifteen seconds where it names none', () => {
    expect(parseObservation(JSON.stringify(valid))).to.deep.equal({
      kind: 'observation',
      observation: {
        time: 30,
        zones: ['a', 'b'],
        window: 15,
        endpoints: [{ name: 'a1', zone: 'a', ready: true, capacity: 1, load: 0.5, sampledAt: 30 }],
      },
    });
  });

  const accepted: [name: string, change: object, expected: object][] = [
    ['weights of clients', { clients: { a: 2, b: 0 } }, { clients: { a: 2, b: 0 } }],
    ['no weights, said so', { clients: null }, {}],
    ['another window', { window: 60 }, { window: 60 }],
    ['a window of less than a second', { window: 0.5 }, { window: 0.5 }],
    ['no endpoints', { endpoints: [] }, { endpoints: [] }],
    ['fields that it does not know', { more: true }, {}],
  ];
  for (const [name, change, expected] of accepted) {
    it(`may have ${name}`, () => {
      const parsed = parseObservation(JSON.stringify({ ...valid, ...change }));
      expect(parsed.kind === 'observation' && parsed.observation).to.deep.include(expected);
    });
  }

  it('takes a load that is missing for none', () => {
    const { load, sampledAt, ...silent } = endpoint;
    const parsed = parseObservation(
      JSON.stringify({ ...valid, endpoints: [silent, { ...endpoint, name: 'a2', load: null }] }),
    );
    const read = parsed.kind === 'observation' ? parsed.observation.endpoints : [];
    expect(read.map((one) => one.load)).to.deep.equal([null, null]);
    expect(read.map((one) => one.sampledAt)).to.deep.equal([null, 30]);
    expect([load, sampledAt]).to.deep.equal([0.5, 30]);
  });

  const withOne = (change: object): object => ({ endpoints: [{ ...endpoint, ...change }] });
  const refused: [name: string, change: object | string, field: string, message: RegExp][] = [
    ['no JSON', '{', '', /^expected JSON: /],
    ['a list', '[]', '', /must be of type object/],
    ['no time', { time: undefined }, 'time', /required/],
    ['a time in words', { time: 'now' }, 'time', /must be of type number/],
    ['no zones', { zones: undefined }, 'zones', /required/],
    ['a zone without name', { zones: ['a', ''] }, 'zones[1]', /not be empty/],
    ['endpoints by name', { endpoints: {} }, 'endpoints', /must be of type array/],
    ['an endpoint that is a text', { endpoints: ['a1'] }, 'endpoints[0]', /must be of type object/],
    ['no readiness', withOne({ ready: 'yes' }), 'endpoints[0].ready', /must be of type boolean/],
    ['no capacity', withOne({ capacity: 0 }), 'endpoints[0].capacity', /allowed: 1e-9/],
    ['a negative load', withOne({ load: -1 }), 'endpoints[0].load', /allowed: 0 to/],
    ['two endpoints of one name', { endpoints: [endpoint, endpoint] }, 'endpoints', /two items of the same name/],
    ['a negative weight', { clients: { a: -1 } }, 'clients.a', /allowed: 0 to/],
    ['weights in a list', { clients: [1] }, 'clients', /must be of type object/],
    ['a load beyond anything real', withOne({ load: 1e308 }), 'endpoints[0].load', /to 1000000000000000\)/],
    ['a capacity beneath anything real', withOne({ capacity: 1e-320 }), 'endpoints[0].capacity', /allowed: 1e-9/],
    ['a time beyond anything real', { time: -1e308 }, 'time', /to 1000000000000000\)/],
    ['no window', { window: 0 }, 'window', /allowed: 1e-9/],
  ];
  for (const [name, change, field, message] of refused) {
    it(`names the field of ${name}`, () => {
      const text = typeof change === 'string' ? change : JSON.stringify({ ...valid, ...change });
      const parsed = parseObservation(text);
      expect(parsed).to.deep.include({ kind: 'invalid', field });
      expect(parsed.kind === 'invalid' && parsed.message).to.match(message);
    });
  }

  it('never throws, whatever the text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) =>
        ['observation', 'invalid'].includes(parseObservation(text).kind),
      ),
    );
  });
});
