import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Endpoint, EndpointSlice } from '../../../../pkg/apis/core.ts';
import { SimulationError, changeReplicas, hintFor } from '../../../../pkg/diagnosis/models/what-if.ts';
import { endpoint, node, service, slice } from '../../../fixtures/core.ts';

const nodes = ['a', 'b', 'c'].map((zone) => node({ zone, metadata: { name: `node-${zone}` } }));
const at = (address: string, zone: string, overrides: Partial<Endpoint> = {}): Endpoint =>
  endpoint({ zone, addresses: [address], ...overrides });
const FAMILY = { family: 'IPv4', port: 'https' } as const;

const change = (
  slices: readonly EndpointSlice[],
  replicas: Readonly<Record<string, number>>,
  place: { family: string; port: string } = FAMILY,
  own = nodes,
) => changeReplicas({ service: service(), slices, nodes: own, ...place, replicas });

const addresses = (slices: readonly EndpointSlice[]): string[] =>
  slices.flatMap(({ endpoints }) => (endpoints ?? []).map(({ addresses: [address] }) => address!));

const codeOf = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    if (error instanceof SimulationError) return `${error.reason}: ${error.message}`;
    throw error;
  }
  return 'no error';
};

describe('changeReplicas', () => {
  const two = slice({ endpoints: [at('10.0.0.1', 'a'), at('10.0.0.2', 'a'), at('10.0.0.3', 'b')] });

  it('takes the last ones of a zone by address away', () => {
    const { slices, changes } = change([two], { a: 1 });
    expect(addresses(slices)).to.deep.equal(['10.0.0.1', '10.0.0.3']);
    expect(changes).to.deep.equal({ a: { before: 2, after: 1 } });
  });

  it('adds ready ones at unused addresses, on Nodes of the zone', () => {
    const { slices, changes } = change([two], { b: 3, c: 1 });
    expect(addresses(slices)).to.deep.equal([
      '10.0.0.1',
      '10.0.0.2',
      '10.0.0.3',
      '240.0.0.1',
      '240.0.0.2',
      '240.0.0.3',
    ]);
    expect(changes).to.deep.equal({ b: { before: 1, after: 3 }, c: { before: 0, after: 1 } });
    expect(slices[0]?.endpoints?.slice(3)).to.deep.equal([
      at('240.0.0.1', 'b'),
      at('240.0.0.2', 'b'),
      at('240.0.0.3', 'c'),
    ]);
  });

  it('puts new ones on the Nodes with fewest', () => {
    const three = ['1', '2', '3'].map((name) => node({ zone: 'a', metadata: { name: `node-a${name}` } }));
    const own = slice({ endpoints: [at('10.0.0.1', 'a', { nodeName: 'node-a2' })] });
    const { slices } = change([own], { a: 5 }, FAMILY, three);
    expect(slices[0]?.endpoints?.map(({ nodeName }) => nodeName)).to.deep.equal([
      'node-a2',
      'node-a1',
      'node-a3',
      'node-a1',
      'node-a2',
    ]);
  });

  it('takes all hints away: the control plane decides anew', () => {
    const hinted = slice({ endpoints: [at('10.0.0.1', 'a', { hints: { forZones: [{ name: 'b' }] } })] });
    expect(change([hinted], { a: 1 }).slices[0]?.endpoints?.[0]).not.to.have.property('hints');
  });

  it('counts ready ones only, and leaves the others', () => {
    const mixed = slice({
      endpoints: [
        at('10.0.0.1', 'a', { conditions: { ready: false } }),
        at('10.0.0.2', 'a', { conditions: {} }),
        at('10.0.0.3', 'a'),
      ],
    });
    const { slices, changes } = change([mixed], { a: 0 });
    expect(addresses(slices)).to.deep.equal(['10.0.0.1']);
    expect(changes).to.deep.equal({ a: { before: 2, after: 0 } });
  });

  it('adds to the slice that serves the port and family', () => {
    const slices = [
      slice({ metadata: { name: 's-6' }, addressType: 'IPv6', endpoints: [at('fd00::1', 'a')] }),
      slice({ metadata: { name: 's-other' }, endpoints: [], ports: [{ name: 'other', port: 1 }] }),
      slice({ metadata: { name: 's-4' }, endpoints: [] }),
    ];
    expect(change(slices, { a: 1 }).slices.map((own) => addresses([own]))).to.deep.equal([
      ['fd00::1'],
      [],
      ['240.0.0.1'],
    ]);
    const six = change(slices, { a: 2 }, { family: 'IPv6', port: 'https' });
    expect(six.changes).to.deep.equal({ a: { before: 1, after: 2 } });
    expect(addresses(six.slices)).to.deep.equal(['fd00::1', '100::1']);
  });

  it('makes a slice where there is none', () => {
    const { slices } = change([], { a: 1 });
    expect(slices).to.have.lengthOf(1);
    expect(slices[0]).to.deep.include({ addressType: 'IPv4', ports: [{ name: 'https', port: 443 }] });
    expect(addresses(slices)).to.deep.equal(['240.0.0.1']);
  });

  it('new Pods are like those that are there', () => {
    const like = slice({ endpoints: [at('10.0.0.1', 'a', { targetRef: { kind: 'Pod', name: 'web-1' } })] });
    expect(change([like], { b: 1 }).slices[0]?.endpoints?.[1]?.targetRef).to.deep.equal({ kind: 'Pod', name: 'web-1' });
  });

  it('does not change what it was given', () => {
    const before = structuredClone(two);
    change([two], { a: 0, b: 2 });
    expect(two).to.deep.equal(before);
  });

  it('refuses Pods where no Node is, but lets those be that are there', () => {
    const lost = slice({ endpoints: [at('10.0.0.1', 'z')] });
    expect(codeOf(() => change([lost], { z: 2 }))).to.match(/^UnknownZone: no Node is in zone "z", so no Pod can be; /);
    expect(change([lost], { z: 0 }).changes).to.deep.equal({ z: { before: 1, after: 0 } });
  });
});

describe('hintFor', () => {
  const cases: readonly [string, readonly string[], string][] = [
    ['eu-1d', ['eu-1a'], '; did you mean "eu-1a"?'],
    ['x', ['eu-1b', 'eu-1a'], '; there are eu-1a, eu-1b'],
    ['x', ['eu-1a'], '; there is eu-1a'],
    ['x', [], ''],
  ];
  for (const [name, known, text] of cases) {
    it(`${name} among ${known.length}`, () => {
      expect(hintFor(name, known)).to.equal(text);
    });
  }
});
