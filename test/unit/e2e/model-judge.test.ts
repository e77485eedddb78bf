// SPDX-License-Identifier: Apache-2.0
// The judge of the EndpointSlice controller: it accepts what a controller may store, and names everything else.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { Endpoint, EndpointSlice, Event, Node, Service } from '../../../pkg/apis/core.ts';
import { judgeController } from '../../e2e/model-judge.ts';
import type { ControllerFacts, Pod } from '../../e2e/model-judge.ts';
import { nodesOf } from '../upstream/support.ts';

const zones = ['a', 'b', 'c'];
const auto = { 'service.kubernetes.io/topology-mode': 'Auto' };
const enabled = 'Topology Aware Hints has been enabled, addressType: IPv4';

const podIn = (zone: string, index: number): Pod => ({
  metadata: { name: `p${index}` },
  spec: { nodeName: `node-${zone}` },
  status: { podIPs: [{ ip: `198.19.0.${index}` }], conditions: [{ type: 'Ready', status: 'True' }] },
});

const storedFor = (zone: string, index: number, hint: string | undefined): Endpoint => ({
  addresses: [`198.19.0.${index}`],
  nodeName: `node-${zone}`,
  zone,
  conditions: { ready: true, serving: true, terminating: false },
  ...(hint === undefined ? {} : { hints: { forZones: [{ name: hint }] } }),
});

const event = (message: string, type: Event['type'] = 'Normal'): Event => ({
  involvedObject: {},
  type,
  reason: type === 'Normal' ? 'TopologyAwareHintsEnabled' : 'TopologyAwareHintsDisabled',
  message,
});

/** Pods by zone, and the zone that each is hinted for; a dot for none. */
const factsOf = (where: string, hints: string, overrides: Partial<ControllerFacts> = {}): ControllerFacts => {
  const service: Service = { metadata: { name: 's', annotations: auto }, spec: { ipFamilies: ['IPv4'] } };
  const endpoints = Array.from(where, (zone, index) =>
    storedFor(zone, index + 1, hints[index] === '.' ? undefined : hints[index]),
  );
  const slice: EndpointSlice = { metadata: { name: 's-1' }, addressType: 'IPv4', endpoints };
  const nodes: Node[] = nodesOf(Object.fromEntries(zones.map((zone) => [zone, '4'])));
  const pods = Array.from(where, (zone, index) => podIn(zone, index + 1));
  return {
    service,
    slices: [slice],
    nodes,
    pods,
    events: [event(enabled)],
    version: { major: 1, minor: 36 },
    ...overrides,
  };
};

const aboutOf = (facts: ControllerFacts): string[] => judgeController(facts).map(({ about }) => about);

describe('judge of the EndpointSlice controller', () => {
  const disabled = 'Insufficient number of endpoints (2 endpoints, 3 zones), addressType: IPv4';
  const cases: readonly { name: string; facts: ControllerFacts; wrong: readonly string[] }[] = [
    { name: 'own zones', facts: factsOf('abc', 'abc'), wrong: [] },
    { name: 'lending, whichever endpoint is lent', facts: factsOf('aabbbb', 'aabbcc'), wrong: [] },
    { name: 'lending by another endpoint of the zone', facts: factsOf('aabbbb', 'aaccbb'), wrong: [] },
    { name: 'an endpoint too many lent', facts: factsOf('aabbbb', 'aabccc'), wrong: ['IPv4 hints by zone'] },
    { name: 'one endpoint without hint', facts: factsOf('abc', 'ab.'), wrong: ['IPv4 hints by zone'] },
    {
      name: 'too few endpoints, no hints',
      facts: factsOf('ab', '..', { events: [event(disabled, 'Warning')] }),
      wrong: [],
    },
    {
      name: 'hints where there are too few endpoints',
      facts: factsOf('ab', 'ab', { events: [event(disabled, 'Warning')] }),
      wrong: ['IPv4 hints (TooFewEndpoints)'],
    },
    {
      name: 'an event with other figures',
      facts: factsOf('ab', '..', { events: [event(enabled)] }),
      wrong: ['events'],
    },
    { name: 'a missing event', facts: factsOf('abc', 'abc', { events: [] }), wrong: ['events'] },
    {
      name: 'an endpoint in another zone than its node',
      facts: factsOf('abc', 'abc', { pods: [podIn('b', 1), podIn('b', 2), podIn('c', 3)] }),
      wrong: ['IPv4 endpoints'],
    },
    {
      name: 'a Pod that is in no slice',
      facts: factsOf('abc', 'abc', { pods: ['a', 'b', 'c', 'c'].map((zone, index) => podIn(zone, index + 1)) }),
      wrong: ['IPv4 endpoints'],
    },
  ];
  for (const { name, facts, wrong } of cases) {
    it(`${wrong.length === 0 ? 'accepts' : 'reports'}: ${name}`, () => {
      expect(aboutOf(facts)).to.deep.equal(wrong);
    });
  }

  it('accepts either zone as the lender of a tie, and no third outcome', () => {
    // Seven Pods of three zones with CPU 4:4:4 want 2.33 each; a and b have three each and one of them lends to c.
    const facts = (hints: string) => factsOf('aaabbbc', hints);
    expect(aboutOf(facts('aacbbbc'))).to.deep.equal([]);
    expect(aboutOf(facts('aaabbcc'))).to.deep.equal([]);
    expect(aboutOf(facts('aaabbbc'))).to.deep.equal(['IPv4 hints by zone']);
  });

  describe('after an update', () => {
    /** A slice each, as the controller makes with four endpoints at most. */
    const twoSlices = (where: string, hints: string, split: number): EndpointSlice[] => {
      const [whole] = factsOf(where, hints).slices;
      const endpoints = whole?.endpoints ?? [];
      return [
        { ...whole, metadata: { name: 's-1' }, endpoints: endpoints.slice(0, split) },
        { ...whole, metadata: { name: 's-2' }, endpoints: endpoints.slice(split) },
      ];
    };

    // b's third endpoint was lent to c, in a slice that does not change when a Pod of c comes into the other.
    const before = { slices: twoSlices('aabbbb', 'aabcbc', 4), events: [event(enabled)] };
    const updated = (hints: string): ControllerFacts => {
      const [first, second] = twoSlices('aabbbbc', hints, 4);
      return factsOf('aabbbbc', hints, { slices: [first!, second!], before });
    };

    it('accepts hints that stay in a slice that did not change', () => {
      expect(aboutOf(updated('aabcbbc'))).to.deep.equal([]);
    });

    it('accepts what a second sync makes of a state that the first one leaves above a maximum', () => {
      // CPU 5.93 : 20 allows six endpoints 2 and 4; the first sync leaves 1 and 5, since 0.38 is too little to lend.
      const nodes = nodesOf({ a: '5930m', b: '0', c: '20' }).filter(({ metadata }) => metadata?.name !== 'node-b');
      const [first, second] = twoSlices('caaaaac', 'ca.cccc', 3);
      const was = twoSlices('caaaaac', 'caacccc', 3);
      const unready = (endpoint: Endpoint, index: number): Endpoint =>
        index === 2 ? { ...endpoint, conditions: { ready: false, serving: false, terminating: false } } : endpoint;
      const pods = Array.from('caaaaac', (zone, index) => podIn(zone, index + 1));
      pods[2] = { ...pods[2], status: { ...pods[2]?.status, conditions: [{ type: 'Ready', status: 'False' }] } };
      const facts = (hints: string): ControllerFacts => ({
        ...factsOf('caaaaac', hints, { nodes, pods, before: { slices: was, events: [event(enabled)] } }),
        slices: [
          { ...first, endpoints: (first!.endpoints ?? []).map(unready) },
          { ...second, endpoints: twoSlices('caaaaac', hints, 3)[1]!.endpoints ?? [] },
        ],
      });
      expect(aboutOf(facts('ca.cccc'))).to.deep.equal([]);
      expect(aboutOf(facts('ca.ccac'))).to.deep.equal([]);
      expect(aboutOf(facts('ca.caac'))).to.deep.equal(['IPv4 hints by zone']);
    });

    it('reports one endpoint too many lent, and a second "enabled"', () => {
      expect(aboutOf(updated('aabcbcc'))).to.deep.equal(['IPv4 hints by zone']);
      const ipv6 = event(enabled.replace('IPv4', 'IPv6'));
      expect(aboutOf({ ...updated('aabcbbc'), events: [event(enabled), ipv6] })).to.deep.equal(['events']);
    });

    it('expects events of before and of now, and no second "enabled"', () => {
      const few = factsOf('ab', '..', {
        events: [event(enabled), event(disabled, 'Warning')],
        before: { slices: factsOf('abc', 'abc').slices, events: [event(enabled)] },
      });
      expect(aboutOf(few)).to.deep.equal([]);
      expect(aboutOf({ ...few, events: [event(enabled)] })).to.deep.equal(['events']);
    });
  });

  it('gives what the model says and what is there', () => {
    const [finding] = judgeController(factsOf('ab', 'ab', { events: [event(disabled, 'Warning')] }));
    expect(finding).to.deep.equal({
      about: 'IPv4 hints (TooFewEndpoints)',
      expected: { '198.19.0.1': 'none', '198.19.0.2': 'none' },
      actual: { '198.19.0.1': '[["a"],[]]', '198.19.0.2': '[["b"],[]]' },
    });
  });
});
