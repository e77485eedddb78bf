// Tests of reading observations: what is missing gets its default, and what is wrong is named.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { parseObservation } from '../../../../pkg/flow/loop/parse-observation.ts';

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

  const accepted = [
    { name: 'weights of clients', change: { clients: { a: 2, b: 0 } }, expected: { clients: { a: 2, b: 0 } } },
    { name: 'no weights, said so', change: { clients: null }, expected: {} },
    { name: 'another window', change: { window: 60 }, expected: { window: 60 } },
    { name: 'a window of less than a second', change: { window: 0.5 }, expected: { window: 0.5 } },
    { name: 'no endpoints', change: { endpoints: [] }, expected: { endpoints: [] } },
    { name: 'fields that it does not know', change: { more: true }, expected: {} },
  ];
  for (const { name, change, expected } of accepted) {
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
    const loads =
      parsed.kind === 'observation' ? parsed.observation.endpoints.map((read) => [read.load, read.sampledAt]) : [];
    expect(loads).to.deep.equal([
      [null, null],
      [null, 30],
    ]);
    expect([load, sampledAt]).to.deep.equal([0.5, 30]);
  });

  const refused = [
    { name: 'no JSON', text: '{', field: '', message: /^expected JSON: / },
    { name: 'a list', text: '[]', field: '', message: /must be of type object/ },
    { name: 'no time', change: { time: undefined }, field: 'time', message: /required/ },
    { name: 'a time in words', change: { time: 'now' }, field: 'time', message: /must be of type number/ },
    { name: 'no zones', change: { zones: undefined }, field: 'zones', message: /required/ },
    { name: 'a zone without name', change: { zones: ['a', ''] }, field: 'zones[1]', message: /not be empty/ },
    { name: 'endpoints by name', change: { endpoints: {} }, field: 'endpoints', message: /must be of type array/ },
    {
      name: 'an endpoint that is a text',
      change: { endpoints: ['a1'] },
      field: 'endpoints[0]',
      message: /must be of type object/,
    },
    {
      name: 'no readiness',
      change: { endpoints: [{ ...endpoint, ready: 'yes' }] },
      field: 'endpoints[0].ready',
      message: /must be of type boolean/,
    },
    {
      name: 'no capacity',
      change: { endpoints: [{ ...endpoint, capacity: 0 }] },
      field: 'endpoints[0].capacity',
      message: /allowed: 1e-9/,
    },
    {
      name: 'a negative load',
      change: { endpoints: [{ ...endpoint, load: -1 }] },
      field: 'endpoints[0].load',
      message: /allowed: 0 to/,
    },
    {
      name: 'two endpoints of one name',
      change: { endpoints: [endpoint, endpoint] },
      field: 'endpoints',
      message: /two items of the same name/,
    },
    { name: 'a negative weight', change: { clients: { a: -1 } }, field: 'clients.a', message: /allowed: 0 to/ },
    { name: 'weights in a list', change: { clients: [1] }, field: 'clients', message: /must be of type object/ },
    {
      name: 'a load beyond anything real',
      change: { endpoints: [{ ...endpoint, load: 1e308 }] },
      field: 'endpoints[0].load',
      message: /to 1000000000000000\)/,
    },
    {
      name: 'a capacity beneath anything real',
      change: { endpoints: [{ ...endpoint, capacity: 1e-320 }] },
      field: 'endpoints[0].capacity',
      message: /allowed: 1e-9/,
    },
    { name: 'a time beyond anything real', change: { time: -1e308 }, field: 'time', message: /to 1000000000000000\)/ },
    { name: 'no window', change: { window: 0 }, field: 'window', message: /allowed: 1e-9/ },
  ];
  for (const { name, text, change, field, message } of refused) {
    it(`names the field of ${name}`, () => {
      const parsed = parseObservation(text ?? JSON.stringify({ ...valid, ...change }));
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
