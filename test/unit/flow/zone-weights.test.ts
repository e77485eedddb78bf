import { expect } from 'chai';
import { describe, it } from 'mocha';
import { zoneWeights } from '../../../pkg/flow/evaluate.ts';
import { node } from '../../fixtures/core.ts';

const worker = (name: string, zone: string, cpu: string) =>
  node({ zone, metadata: { name }, status: { allocatable: { cpu }, conditions: [{ type: 'Ready', status: 'True' }] } });

describe('zoneWeights', () => {
  const nodes = [worker('n1', 'b', '4'), worker('n2', 'a', '1500m'), worker('n3', 'a', '2')];

  it('counts allocatable CPU in millicores, as upstream does', () => {
    expect(zoneWeights({ nodes, by: 'cpu' })).to.deep.equal({ kind: 'known', weights: { a: 3500, b: 4000 } });
  });

  it('counts Nodes', () => {
    expect(zoneWeights({ nodes, by: 'nodes' })).to.deep.equal({ kind: 'known', weights: { a: 2, b: 1 } });
  });

  it('says why CPU is unknown, where the number of Nodes still is known', () => {
    const broken = [...nodes, worker('n4', 'b', '0')];
    expect(zoneWeights({ nodes: broken, by: 'cpu' })).to.deep.include({ kind: 'unknown', reason: 'NodeWithoutCpu' });
    expect(zoneWeights({ nodes: broken, by: 'nodes' })).to.deep.equal({ kind: 'known', weights: { a: 2, b: 2 } });
  });

  it('needs two zones', () => {
    const one = [worker('n1', 'a', '4'), worker('n2', 'a', '4')];
    expect(zoneWeights({ nodes: one, by: 'cpu' })).to.deep.include({ kind: 'unknown', reason: 'FewerThanTwoZones' });
    expect(zoneWeights({ nodes: one, by: 'nodes' })).to.deep.equal({
      kind: 'unknown',
      reason: 'FewerThanTwoZones',
      message: 'Nodes are in 1 zones, and two are needed',
    });
  });
});
