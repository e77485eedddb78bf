// SPDX-License-Identifier: Apache-2.0
// Smaller steps by hints for Nodes: better than zones alone, no more load above the target, and what kube-proxy makes of them.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import type { EndpointSlice } from '../../../pkg/apis/core.ts';
import { planHints } from '../../../pkg/flow/index.ts';
import type { FlowEndpoint } from '../../../pkg/flow/index.ts';
import { NO_NODE, planNodeSteps } from '../../../pkg/flow/node-steps.ts';
import type { ClientNode, NodeSteps, NodeStepsInput } from '../../../pkg/flow/node-steps.ts';
import { kubeProxyRoute } from '../../../pkg/upstream/proxy/kube-proxy.ts';
import { stepsOf } from '../../bench/planner/steps.ts';
import { smallCounts, smallShares } from '../../bench/planner/brute-force.ts';
import { aService, aSlice, minor, nodeOf } from '../upstream/support.ts';

const TARGET = 0.7;

const planned = (endpoints: readonly FlowEndpoint[], nodes: readonly ClientNode[]): NodeStepsInput => {
  const demand: Record<string, number> = {};
  for (const { zone, demand: cores } of nodes) demand[zone] = (demand[zone] ?? 0) + cores;
  const plan = planHints({ endpoints, demand, targetUtilization: TARGET });
  const hints = new Map(plan.endpoints.map(({ name, forZones }) => [name, forZones]));
  return {
    nodes,
    targetUtilization: TARGET,
    endpoints: endpoints.map((endpoint) => ({ ...endpoint, forZones: hints.get(endpoint.name) ?? [] })),
  };
};

const endpointsOf = (counts: Readonly<Record<string, number>>): FlowEndpoint[] =>
  Object.entries(counts).flatMap(([zone, count]) =>
    Array.from({ length: count }, (_, index) => ({ name: `${zone}${index}`, zone, capacity: 1 })),
  );

const nodesOf = (demands: Readonly<Record<string, readonly number[]>>): ClientNode[] =>
  Object.entries(demands).flatMap(([zone, cores]) =>
    cores.map((demand, index) => ({ name: `node-${zone}-${index}`, zone, demand })),
  );

const sliceOf = ({ endpoints }: NodeStepsInput, steps: NodeSteps | undefined): EndpointSlice =>
  aSlice(
    endpoints.map(({ name, zone, forZones = [] }, index) => {
      const nodes = steps?.endpoints.find((one) => one.name === name)?.forNodes ?? [];
      const hints = {
        ...(forZones.length === 0 ? {} : { forZones: forZones.map((one) => ({ name: one })) }),
        ...(nodes.length === 0 ? {} : { forNodes: nodes.map((one) => ({ name: one })) }),
      };
      return {
        addresses: [`10.0.0.${index + 1}`],
        zone,
        conditions: { ready: true },
        ...(Object.keys(hints).length === 0 ? {} : { hints }),
      };
    }),
  );

/** What kube-proxy of a version does with the hints: load above the target, and demand that stays in its zone, in cores. */
const routed = (input: NodeStepsInput, steps: NodeSteps | undefined, version: number) => {
  const slices = [sliceOf(input, steps)];
  const loads = input.endpoints.map(() => 0);
  let local = 0;
  for (const { name, zone, demand } of input.nodes) {
    const { used } = kubeProxyRoute({ node: nodeOf(name, zone), service: aService(), slices, version: minor(version) });
    const indexes = used.map(({ address }) => Number(address.split('.')[3]) - 1);
    for (const index of indexes) {
      loads[index] = (loads[index] ?? 0) + demand / indexes.length;
      if (input.endpoints[index]?.zone === zone) local += demand / indexes.length;
    }
  }
  const overload = input.endpoints.reduce(
    (sum, { capacity }, index) => sum + Math.max(0, (loads[index] ?? 0) - TARGET * capacity),
    0,
  );
  return { overload, local };
};

const problem = fc.record({
  counts: fc.record({ a: fc.integer({ min: 0, max: 2 }), b: fc.integer({ min: 0, max: 2 }), c: fc.constant(1) }),
  nodes: fc.record({
    a: fc.array(fc.double({ min: 0.01, max: 0.5, noNaN: true }), { minLength: 1, maxLength: 10 }),
    b: fc.array(fc.double({ min: 0.01, max: 0.5, noNaN: true }), { maxLength: 3 }),
    c: fc.array(fc.double({ min: 0.01, max: 0.5, noNaN: true }), { maxLength: 3 }),
  }),
});

describe('hints for Nodes as smaller steps', () => {
  it('keep in its zone what an endpoint can take of a zone that whole endpoints would have to share', () => {
    // Zone a asks for one and a half endpoints: whole ones leave half of it or a third crossing.
    const input = planned(endpointsOf({ a: 1, b: 1, c: 1 }), nodesOf({ a: [0.3, 0.3, 0.3], b: [0.2], c: [0.2] }));
    const steps = planNodeSteps(input);
    const [before, after] = [routed(input, undefined, 36), routed(input, steps, 36)];
    expect(after.local, 'as much as the endpoint can take').to.be.closeTo(TARGET + 0.4, 1e-9);
    expect(before.local).to.be.below(after.local - 0.1);
    expect(after.overload).to.equal(0);
  });

  it('are none where zones alone keep everything in its zone, without clients, and for Services that are not small', () => {
    const calm = planned(endpointsOf({ a: 1, b: 1, c: 1 }), nodesOf({ a: [0.2], b: [0.2], c: [0.2] }));
    expect(planNodeSteps(calm)).to.equal(undefined);
    expect(planNodeSteps({ ...calm, nodes: [] })).to.equal(undefined);
    const large = planned(endpointsOf({ a: 4, b: 4, c: 4 }), nodesOf({ a: [2, 2], b: [0.2], c: [0.2] }));
    expect(planNodeSteps(large)).to.equal(undefined);
  });

  it('do what they claim in kube-proxy 1.36, for any small Service; 1.33 follows the zones', () => {
    fc.assert(
      fc.property(problem, ({ counts, nodes }) => {
        const input = planned(endpointsOf(counts), nodesOf(nodes));
        const steps = planNodeSteps(input);
        fc.pre(steps !== undefined);
        const total = input.nodes.reduce((sum, { demand }) => sum + demand, 0);
        const [without, now, old] = [routed(input, undefined, 36), routed(input, steps, 36), routed(input, steps, 33)];
        expect(now.local / total, 'in zone').to.be.closeTo(steps?.inZoneShare ?? 0, 1e-6);
        expect(now.overload, 'overload').to.be.closeTo(steps?.overload ?? 0, 1e-6);
        expect(now.overload, 'no more than by zones').to.be.at.most(without.overload + 1e-6);
        expect(old, 'proxies without Node hints').to.deep.equal(without);
      }),
      { numRuns: 60 },
    );
  });

  it('name a Node for every endpoint, and eight at most', () => {
    fc.assert(
      fc.property(problem, ({ counts, nodes }) => {
        const input = planned(endpointsOf(counts), nodesOf(nodes));
        for (const { name, forNodes } of planNodeSteps(input)?.endpoints ?? []) {
          expect(forNodes.length, name).to.be.within(1, 8);
          const known = input.nodes.map((node) => node.name);
          for (const node of forNodes) expect([...known, NO_NODE], name).to.include(node);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('do not depend on the order of the input', () => {
    const input = planned(endpointsOf({ a: 1, b: 2, c: 1 }), nodesOf({ a: [0.4, 0.3, 0.2], b: [0.2], c: [0.3] }));
    const turned = { ...input, endpoints: [...input.endpoints].reverse(), nodes: [...input.nodes].reverse() };
    expect(planNodeSteps(turned)).to.deep.equal(planNodeSteps(input));
  });

  it('close at least half of the gap to the bound for small Services, at 20 % above the fair share', () => {
    const cases = smallShares().flatMap((shares) => smallCounts(3).map((counts) => [shares, counts] as const));
    // Every 23rd of 1,827; all of them: npm run bench:planner -- --steps.
    const some = cases
      .filter((_, index) => index % 23 === 0)
      .map(([shares, counts]) => stepsOf(shares, counts, 1, true));
    const sum = (value: (one: (typeof some)[number]) => number): number =>
      some.reduce((all, one) => all + value(one), 0);
    const closed =
      (sum(({ nodes }) => nodes) - sum(({ zones }) => zones)) / (sum(({ lp }) => lp) - sum(({ zones }) => zones));
    expect(closed).to.be.at.least(0.5);
  });

  it('refuse a number that makes no sense, by name', () => {
    const input = planned(endpointsOf({ a: 1, b: 1 }), nodesOf({ a: [0.3] }));
    expect(() => planNodeSteps({ ...input, nodes: [{ name: 'x', zone: 'a', demand: -1 }] })).to.throw(RangeError, 'x');
  });
});
