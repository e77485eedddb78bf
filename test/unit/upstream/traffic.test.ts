// From routes to shares of traffic: known figures, and conservation.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import type { Endpoint, Node } from '../../../pkg/apis/core.ts';
import { routeFor } from '../../../pkg/upstream/proxy/routes.ts';
import { inZoneShare, trafficOf, worstOverload } from '../../../pkg/upstream/traffic.ts';
import { aService, aSlice, at, minor, nodeOf, nodesOf } from './support.ts';

const NODES = nodesOf({ a: '1', b: '1', c: '1' });
const own = (zone: string, index: number) => at(zone, index, { hints: [zone] });
const traffic = (endpoints: readonly Endpoint[], nodes: readonly Node[] = NODES, weights?: Record<string, number>) =>
  trafficOf({
    nodes,
    endpointsFor: (node) =>
      routeFor({ node, service: aService(), slices: [aSlice(endpoints)], version: minor(36) }).used,
    ...(weights === undefined ? {} : { weights }),
  });
const plain = ({ matrix }: ReturnType<typeof traffic>) =>
  Object.fromEntries([...matrix].map(([zone, row]) => [zone, Object.fromEntries(row)]));

describe('trafficOf', () => {
  it('keeps each zone to itself where each is hinted', () => {
    const result = traffic([own('a', 1), own('b', 2), own('c', 3)]);
    expect(plain(result)).to.deep.equal({ a: { a: 1 / 3 }, b: { b: 1 / 3 }, c: { c: 1 / 3 } });
    expect([inZoneShare(result), worstOverload(result, 3), result.lost]).to.deep.equal([1, 0, 0]);
  });
  it('spreads without hints', () => {
    const result = traffic([at('a', 1), at('a', 2), at('b', 3), at('c', 4)]);
    expect(plain(result)['b']).to.deep.equal({ a: 1 / 6, b: 1 / 12, c: 1 / 12 });
    expect(inZoneShare(result)).to.be.closeTo(1 / 3, 1e-12);
    expect(worstOverload(result, 4)).to.be.closeTo(0, 1e-12);
  });
  it('shows the overload of a zone with few endpoints', () => {
    const result = traffic([own('a', 1), own('b', 2), own('b', 3), own('c', 4)]);
    expect(inZoneShare(result)).to.equal(1);
    expect(worstOverload(result, 4)).to.be.closeTo(1 / 3, 1e-12);
  });
  it('weighs clients by zone, evenly over its nodes', () => {
    const nodes = [...NODES, nodeOf('second', 'a')];
    const result = traffic([own('a', 1), own('b', 2), own('c', 3)], nodes, { a: 6, b: 2, gone: 9 });
    expect(plain(result)).to.deep.equal({ a: { a: 0.75 }, b: { b: 0.25 }, c: { c: 0 } });
    expect(worstOverload(result, 3)).to.be.closeTo(1.25, 1e-12);
  });
  it('counts a node for as many as it stands for', () => {
    const nodes = [nodeOf('one', 'a'), nodeOf('two', 'b')];
    const endpoints = [own('a', 1), own('b', 2)];
    const route = (node: Node) =>
      routeFor({ node, service: aService(), slices: [aSlice(endpoints)], version: minor(36) }).used;
    const countOf = (node: Node): number => (node.metadata?.name === 'one' ? 9 : 1);
    const alike = trafficOf({ nodes, endpointsFor: route, countOf });
    expect(plain(alike)).to.deep.equal({ a: { a: 0.9 }, b: { b: 0.1 } });
    // A zone's weight is shared by its nodes, however many there are.
    const weighted = trafficOf({ nodes, endpointsFor: route, countOf, weights: { a: 1, b: 3 } });
    expect(plain(weighted)).to.deep.equal({ a: { a: 0.25 }, b: { b: 0.75 } });
  });
  it('counts connections that find no endpoint as lost', () => {
    const result = traffic([]);
    expect(result.lost).to.be.closeTo(1, 1e-12);
    expect([inZoneShare(result), worstOverload(result, 0)]).to.deep.equal([0, 0]);
  });
  for (const { name, nodes, weights } of [
    { name: 'no nodes', nodes: [], weights: undefined },
    { name: 'no clients', nodes: NODES, weights: { gone: 1 } },
  ]) {
    it(`is empty with ${name}`, () => {
      const result = traffic([own('a', 1)], nodes, weights);
      expect([result.matrix.size, result.lost, inZoneShare(result), worstOverload(result, 1)]).to.deep.equal([
        0, 0, 0, 0,
      ]);
    });
  }
  it('does not count traffic between nodes and endpoints without zone as staying in a zone', () => {
    const result = traffic([at('', 1)], [nodeOf('x', '')]);
    expect(plain(result)).to.deep.equal({ '': { '': 1 } });
    expect(inZoneShare(result)).to.equal(0);
  });

  it('conserves connections and does not depend on the order of nodes or endpoints', () => {
    const worlds = fc.record({
      endpoints: fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.constantFrom(undefined, 'a', 'b', 'c')), {
        maxLength: 9,
      }),
      nodes: fc.array(fc.constantFrom('a', 'b', 'c', ''), { minLength: 1, maxLength: 9 }),
    });
    fc.assert(
      fc.property(worlds, (world) => {
        const nodes = world.nodes.map((zone, index) => nodeOf(`n${index}`, zone));
        const endpoints = world.endpoints.map(([zone, hint], index) =>
          at(zone, index, hint === undefined ? {} : { hints: [hint] }),
        );
        const result = traffic(endpoints, nodes);
        const sum = (shares: Iterable<number>) => [...shares].reduce((total, share) => total + share, 0);
        expect(sum([...result.matrix.values()].flatMap((row) => [...row.values()])) + result.lost).to.be.closeTo(
          1,
          1e-9,
        );
        expect(sum(result.endpoints.values()) + result.lost).to.be.closeTo(1, 1e-9);
        const other = traffic([...endpoints].reverse(), [...nodes].reverse());
        expect(plain(other)).to.deep.equal(plain(result));
      }),
    );
  });
});
