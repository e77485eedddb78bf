import { expect } from 'chai';
import { describe, it } from 'mocha';
import { nodesBehind, projectPlaces } from '../../../pkg/kubeedge/stale.ts';
import { endpoint, slice } from '../../fixtures/core.ts';

const at = (nodeName: string, zone: string) => endpoint({ nodeName, zone });

describe('where the endpoints of a slice are', () => {
  it('is each pair of Node and zone once, whatever the number of endpoints', () => {
    const { service, places, metadata } = projectPlaces(
      slice({
        metadata: { resourceVersion: '7', uid: 'u' },
        endpoints: [at('n1', 'a'), at('n1', 'a'), at('n1', 'b'), at('n2', '')],
      }),
    );
    expect(service).to.equal('server');
    expect(metadata).to.deep.equal({ namespace: 'default', name: 'server-abcde', resourceVersion: '7', uid: 'u' });
    expect(places).to.deep.equal([
      { node: 'n1', zone: 'a' },
      { node: 'n1', zone: 'b' },
      { node: 'n2', zone: undefined },
    ]);
  });

  const { nodeName: _none, ...floating } = endpoint();
  for (const [name, given] of [
    [
      'a slice of another controller',
      slice({ metadata: { labels: { 'endpointslice.kubernetes.io/managed-by': 'me' } } }),
    ],
    ['a slice on its way out', slice({ metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } })],
    ['endpoints on no Node', slice({ endpoints: [floating] })],
    ['no endpoints', slice({ endpoints: null })],
    ['a slice without labels', {}],
  ] as const)
    it(`is nowhere: ${name}`, () => expect(projectPlaces(given).places).to.deep.equal([]));
});

describe('Nodes that endpoints are behind', () => {
  const zones: Record<string, string | undefined> = { n1: 'north', n2: undefined };
  const lookup = (node: string) => (node in zones ? { zone: zones[node] } : undefined);
  const behind = (...endpoints: ReturnType<typeof at>[]) => nodesBehind([projectPlaces(slice({ endpoints }))], lookup);

  for (const { name, endpoints, expected } of [
    { name: 'another zone', endpoints: [at('n1', 'south')], expected: ['n1'] },
    { name: 'no zone yet', endpoints: [at('n1', '')], expected: ['n1'] },
    { name: 'a zone still', endpoints: [at('n2', 'south')], expected: ['n2'] },
    { name: 'the same zone', endpoints: [at('n1', 'north'), at('n2', '')], expected: [] },
    { name: 'a Node that is gone', endpoints: [at('n9', 'south')], expected: [] },
    { name: 'all by name, once', endpoints: [at('n2', 'x'), at('n1', 'x'), at('n1', 'y')], expected: ['n1', 'n2'] },
  ])
    it(name, () => expect(behind(...endpoints)).to.deep.equal(expected));
});
