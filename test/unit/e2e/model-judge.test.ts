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

  it('gives what the model says and what is there', () => {
    const [finding] = judgeController(factsOf('ab', 'ab', { events: [event(disabled, 'Warning')] }));
    expect(finding).to.deep.equal({
      about: 'IPv4 hints (TooFewEndpoints)',
      expected: { '198.19.0.1': 'none', '198.19.0.2': 'none' },
      actual: { '198.19.0.1': '[["a"],[]]', '198.19.0.2': '[["b"],[]]' },
    });
  });
});
