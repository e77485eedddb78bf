// JSON with status 200 that no API server sends: what a proxy, a captive portal or another cluster may answer.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { NODES, SERVICES } from '../../../pkg/apis/resources.ts';
import { asList, asObject } from '../../../pkg/kubernetes/request.ts';
import { ConnectionError } from '../../../pkg/kubernetes/errors.ts';

const REQUEST = { method: 'GET', path: '/api/v1/nodes' };
const list = (extra: object = {}) => ({ kind: 'NodeList', metadata: { resourceVersion: '7' }, items: [], ...extra });

const refusal = (call: () => unknown): ConnectionError => {
  try {
    call();
  } catch (error) {
    if (error instanceof ConnectionError) return error;
    throw error;
  }
  throw new Error('the answer was believed');
};

describe('asList', () => {
  it('completes the items with the kind that the list has', () => {
    const read = asList(list({ items: [{ metadata: { name: 'a' } }] }), NODES, REQUEST);
    expect(read.items).to.deep.equal([{ apiVersion: 'v1', kind: 'Node', metadata: { name: 'a' } }]);
    expect(read.metadata).to.deep.equal({ resourceVersion: '7' });
  });

  it('reads null as no items, as Go encodes them, and absent metadata as none', () => {
    expect(asList({ kind: 'NodeList', items: null }, NODES, REQUEST)).to.deep.include({ metadata: {}, items: [] });
  });

  const refused: Array<[string, unknown]> = [
    ['an empty object', {}],
    ['null', null],
    ['an array', []],
    ['a text', 'ok'],
    ['the list of another kind', list({ kind: 'ServiceList' })],
    ['a single object', { kind: 'Node', metadata: { name: 'a' } }],
    ['a Status', { kind: 'Status', status: 'Success' }],
    ['a list without items', { kind: 'NodeList', metadata: { resourceVersion: '7' } }],
    ['items that are an object', list({ items: {} })],
    ['an item that is null', list({ items: [null] })],
    ['an item without metadata', list({ items: [{}] })],
    ['an item with an empty name', list({ items: [{ metadata: { name: '' } }] })],
    ['an item whose name is a number', list({ items: [{ metadata: { name: 1 } }] })],
    ['metadata that is a text', list({ metadata: 'x' })],
    ['a version that is a number', list({ metadata: { resourceVersion: 7 } })],
    ['a token that is an object', list({ metadata: { continue: {} } })],
  ];
  for (const [name, value] of refused) {
    it(`does not believe ${name}`, () => {
      expect(refusal(() => asList(value, NODES, REQUEST))).to.include({ reason: 'InvalidResponse' });
    });
  }

  it('quotes nothing of what it refuses', () => {
    const { message } = refusal(() => asList({ kind: 'secret', token: 'secret' }, NODES, REQUEST));
    expect(message).to.equal('GET /api/v1/nodes: the answer is no NodeList');
  });
});

describe('asObject', () => {
  const service = { kind: 'Service', metadata: { name: 'a' } };

  it('returns the object that was asked for, and any where the server names it', () => {
    expect(asObject(service, SERVICES, 'a', REQUEST)).to.equal(service);
    expect(asObject(service, SERVICES, undefined, REQUEST)).to.equal(service);
  });

  const refused: Array<[string, unknown]> = [
    ['an empty object', {}],
    ['null', null],
    ['another kind', { ...service, kind: 'Node' }],
    ['another name', { kind: 'Service', metadata: { name: 'b' } }],
    ['no metadata', { kind: 'Service' }],
    ['metadata that is an array', { kind: 'Service', metadata: [] }],
  ];
  for (const [name, value] of refused) {
    it(`does not believe ${name}`, () => {
      expect(refusal(() => asObject(value, SERVICES, 'a', REQUEST))).to.include({ reason: 'InvalidResponse' });
    });
  }
});
