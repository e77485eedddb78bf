// From request targets to routes, and which faults a request meets.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { createFaultTable } from '../../sandbox/faults.ts';
import { parseRoute } from '../../sandbox/route.ts';

describe('parseRoute', () => {
  for (const { method = 'GET', target, expected } of [
    { target: '/api/v1/namespaces', expected: ['list', '', 'v1', 'namespaces', '', '', ''] },
    { target: '/api/v1/namespaces/a', expected: ['get', '', 'v1', 'namespaces', '', 'a', ''] },
    {
      method: 'PATCH',
      target: '/api/v1/namespaces/a/status',
      expected: ['patch', '', 'v1', 'namespaces', '', 'a', 'status'],
    },
    { target: '/api/v1/namespaces/a/services', expected: ['list', '', 'v1', 'services', 'a', '', ''] },
    { target: '/api/v1/namespaces/a/services/b', expected: ['get', '', 'v1', 'services', 'a', 'b', ''] },
    {
      method: 'PUT',
      target: '/api/v1/namespaces/a/services/b/status',
      expected: ['update', '', 'v1', 'services', 'a', 'b', 'status'],
    },
    {
      target: '/apis/discovery.k8s.io/v1/endpointslices?watch=1',
      expected: ['watch', 'discovery.k8s.io', 'v1', 'endpointslices', '', '', ''],
    },
    { target: '/api/v1/services?watch=false', expected: ['list', '', 'v1', 'services', '', '', ''] },
    { method: 'POST', target: '/apis/a.b/v1/namespaces/n/cs', expected: ['create', 'a.b', 'v1', 'cs', 'n', '', ''] },
    {
      method: 'DELETE',
      target: '/api/v1/namespaces/a/pods',
      expected: ['deletecollection', '', 'v1', 'pods', 'a', '', ''],
    },
    { method: 'DELETE', target: '/api/v1/nodes/x', expected: ['delete', '', 'v1', 'nodes', '', 'x', ''] },
    { target: '/api/v1/nodes/a%3Ab', expected: ['get', '', 'v1', 'nodes', '', 'a:b', ''] },
    { target: '/version', expected: ['raw', '', '', '', '', '', ''] },
    { target: '/apis/discovery.k8s.io/v1', expected: ['raw', '', '', '', '', '', ''] },
    { target: '/', expected: ['raw', '', '', '', '', '', ''] },
  ]) {
    it(`${method} ${target}`, () => {
      const { verb, group, version, plural, namespace, name, subresource } = parseRoute(method, target);
      expect([verb, group, version, plural, namespace, name, subresource]).to.deep.equal(expected);
    });
  }

  it('throws on broken percent encoding', () => {
    expect(() => parseRoute('GET', '/api/v1/nodes/%E0%A4')).to.throw(URIError);
  });
});

describe('createFaultTable', () => {
  const subject = { verb: 'get', resource: 'nodes', user: 'alice', name: 'n' };
  const kinds = (table: ReturnType<typeof createFaultTable>): string[] => table.take(subject).map(({ kind }) => kind);

  it('lets latency and one more fault strike, in the order in which they came', () => {
    const table = createFaultTable();
    table.add({ kind: 'latency', milliseconds: 1 });
    table.add({ kind: 'status', code: 500, times: 1 });
    table.add({ kind: 'reset' });
    expect(kinds(table)).to.deep.equal(['latency', 'status']);
    expect(kinds(table)).to.deep.equal(['latency', 'reset']);
    table.clear();
    expect(kinds(table)).to.deep.equal([]);
  });

  for (const { match, strikes } of [
    { match: {}, strikes: true },
    { match: { verb: 'get', resource: 'nodes', user: 'alice', name: 'n' }, strikes: true },
    { match: { verb: 'list' }, strikes: false },
    { match: { resource: 'pods' }, strikes: false },
    { match: { user: 'bob' }, strikes: false },
    { match: { name: 'm' }, strikes: false },
  ]) {
    it(`${JSON.stringify(match)} ${strikes ? 'matches' : 'does not match'}`, () => {
      const table = createFaultTable();
      table.add({ kind: 'reset', match });
      expect(kinds(table)).to.have.length(strikes ? 1 : 0);
    });
  }
});
