import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Node } from '../../../../pkg/apis/core.ts';
import { clientNodes, demandReport, weigh } from '../../../../pkg/diagnosis/simulate/context.ts';
import { node } from '../../../fixtures/core.ts';

const CONTROL_PLANE = 'node-role.kubernetes.io/control-plane';

const named = (name: string, zone: string, { ready = true, control = false, cpu = '4' } = {}): Node =>
  node({
    zone,
    metadata: { name, labels: control ? { [CONTROL_PLANE]: '' } : {} },
    status: {
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
      ...(cpu === '' ? {} : { allocatable: { cpu } }),
      nodeInfo: { kubeletVersion: 'v1.34.1' },
    },
  });

describe('clientNodes', () => {
  const control = named('control', 'a', { control: true });
  const late = named('late', 'a', { ready: false });
  const rows: readonly [name: string, nodes: readonly Node[], clients: string][] = [
    ['are ready workers', [named('worker', 'a'), late, control], 'worker'],
    ['are those of the control plane where there are no others', [control, late], 'control'],
  ];
  for (const [name, nodes, clients] of rows)
    it(name, () => expect(clientNodes(nodes).map(({ metadata }) => metadata?.name)).to.deep.equal([clients]));
});

describe('weigh', () => {
  const nodes = [named('1', 'a'), named('2', 'a', { cpu: '2' }), named('3', 'b'), named('4', 'b', { ready: false })];

  it('by CPU as the control plane counts it', () => {
    expect(weigh(nodes, {})).to.deep.equal({ source: 'cpu', note: '', weights: { a: 6000, b: 4000 } });
  });

  it('by number of ready Nodes', () => {
    expect(weigh(nodes, { weights: 'nodes' })).to.deep.equal({ source: 'nodes', note: '', weights: { a: 2, b: 1 } });
  });

  it('as given, demand before weights', () => {
    expect(weigh(nodes, { weights: { a: 2 } })).to.deep.include({ source: 'weights', weights: { a: 2 } });
    expect(weigh(nodes, { weights: { a: 2 }, demand: { b: 1 } })).to.deep.include({
      source: 'demand',
      weights: { b: 1 },
    });
  });

  it('by number, with a note, where a zone has no known CPU', () => {
    const { source, note } = weigh([...nodes, named('5', 'b', { cpu: '' })], {});
    expect([source, note]).to.deep.equal([
      'nodes',
      'The CPU of each zone is not known (1 ready Nodes have no allocatable CPU (5)), so Nodes are counted instead.',
    ]);
  });

  it('by number, without a note, in a single zone', () => {
    expect(weigh([named('1', 'a')], {})).to.deep.equal({ source: 'nodes', note: '', weights: { a: 1 } });
  });

  it('counts Nodes without zone as clients', () => {
    expect(weigh([named('1', 'a'), named('2', ''), named('3', 'b')], {}).weights).to.deep.equal({ '': 1, a: 1, b: 1 });
  });

  it('takes demand of 0 where no Node is', () => {
    expect(weigh(nodes, { demand: { a: 1, z: 0 } }).source).to.equal('demand');
  });
});

describe('demandReport', () => {
  it('has a row for every zone with clients or endpoints', () => {
    const nodes = [named('1', 'a'), named('2', 'b'), named('3', 'b')];
    const endpoints = new Map([
      ['b', 2],
      ['z', 1],
    ]);
    expect(demandReport(weigh(nodes, { demand: { a: 3, b: 1, z: 0 } }), nodes, endpoints)).to.deep.equal({
      source: 'demand',
      note: '',
      cores: 4,
      zones: {
        a: { share: 0.75, cores: 3, nodes: 1, endpoints: 0 },
        b: { share: 0.25, cores: 1, nodes: 2, endpoints: 2 },
        z: { share: 0, cores: 0, nodes: 0, endpoints: 1 },
      },
    });
  });
});
