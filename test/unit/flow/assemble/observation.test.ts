// Tests of observations put together: capacity from Pods, load from sources, and what is missing.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { clientZonesOf } from '../../../../pkg/flow/assemble/slice.ts';
import { type ObservationInput, observationOf } from '../../../../pkg/flow/assemble/turn.ts';
import { node } from '../../../fixtures/core.ts';

const view = (name: string, more: object = {}) => ({ name, pod: name, zone: 'a', ready: true, forZones: [], ...more });
const input = (more: Partial<ObservationInput> = {}): ObservationInput => ({
  time: 100,
  endpoints: [view('p')],
  zones: ['a'],
  weights: { a: 1 },
  capacity: { from: 'Requests' },
  podCpu: () => ({ requests: 0.5, limits: 2 }),
  load: undefined,
  ...more,
});
const endpointsIn = (more: Partial<ObservationInput>) => {
  const result = observationOf(input(more));
  return result.kind === 'observation' ? result.observation.endpoints : result;
};

describe('an observation', () => {
  const capacities: (readonly [name: string, more: Partial<ObservationInput>, capacity: number])[] = [
    ['requests', {}, 0.5],
    ['limits', { capacity: { from: 'Limits' } }, 2],
    ['a value, whatever the Pod says', { capacity: { from: 'Value', cores: 3 }, podCpu: () => undefined }, 3],
  ];
  for (const [name, more, capacity] of capacities) {
    it(`takes capacity from ${name}`, () =>
      expect(endpointsIn(more)).to.deep.include.members([
        { name: 'p', zone: 'a', ready: true, capacity, load: null, sampledAt: null },
      ]));
  }

  const without: { name: string; more: Partial<ObservationInput> }[] = [
    { name: 'does not say', more: { podCpu: () => ({ requests: null, limits: 1 }) } },
    { name: 'says nothing at all', more: { podCpu: () => ({ requests: 0, limits: 1 }) } },
    { name: 'is none', more: { endpoints: [view('p', { pod: '' })] } },
    { name: 'has a value of nothing', more: { capacity: { from: 'Value', cores: 0 } } },
  ];
  for (const { name, more } of without) {
    it(`is not made where a Pod ${name}`, () =>
      expect(endpointsIn(more)).to.deep.equal({ kind: 'no-capacity', endpoints: ['p'] }));
  }

  it('leaves out who is not ready, and whose Pod is not known yet', () => {
    const endpoints = [view('p'), view('new'), view('down', { ready: false })];
    const found = endpointsIn({ endpoints, podCpu: (pod) => (pod === 'p' ? { requests: 1, limits: 1 } : undefined) });
    expect(found).to.have.length(1);
  });

  it('has demand as it is measured between zones, summed by the zone of the clients', () => {
    const sample = (sourceZone: string, load: number, sampledAt: number) => ({
      sourceZone,
      destinationZone: 'b',
      load,
      sampledAt,
      window: 60,
    });
    const samples = [sample('a', 1, 80), sample('a', 0.5, 90), sample('b', 2, 85)];
    const result = observationOf(input({ load: { kind: 'zone-pairs', samples } }));
    const { observation } = result as Extract<typeof result, { kind: 'observation' }>;
    expect(observation.measured).to.deep.equal({ demand: { a: 1.5, b: 2 }, sampledAt: 90 });
    const nothing = observationOf(input({ load: { kind: 'zone-pairs', samples: [] } }));
    expect(nothing).to.deep.equal(observationOf(input()));
  });

  it('has what meters count by both zones, and the load of Pods beside it', () => {
    const pair = { sourceZone: 'a', destinationZone: 'b', load: 30, sampledAt: 90, window: 2 };
    const samples = [pair, { ...pair, destinationZone: 'a', load: 10 }, { ...pair, sourceZone: 'b', load: 5 }];
    const counts = { unit: 'Connection' as const, pods: [{ pod: 'web-0', load: 0.25, sampledAt: 80, window: 15 }] };
    const result = observationOf(input({ load: { kind: 'zone-pairs', samples, counts } }));
    const { observation } = result as Extract<typeof result, { kind: 'observation' }>;
    expect(observation.measured).to.deep.equal({
      demand: { a: 40, b: 5 },
      sampledAt: 90,
      counts: { unit: 'Connection', to: { a: 10, b: 35 }, window: 2 },
    });
    expect(observation.window, 'of the load of Pods').to.equal(15);
  });
});

describe('zones of clients', () => {
  const weighed = (zone: string, name: string, cpu: string, ready = 'True') =>
    node({
      zone,
      metadata: { name },
      status: { allocatable: { cpu }, conditions: [{ type: 'Ready', status: ready as 'True' }] },
    });

  it('are those of ready Nodes, weighed by CPU', () => {
    const nodes = [
      weighed('b', '1', '2'),
      weighed('a', '2', '4'),
      weighed('a', '3', '2'),
      weighed('c', '4', '8', 'False'),
    ];
    expect(clientZonesOf(nodes)).to.deep.equal({ zones: ['a', 'b'], weights: { a: 6_000, b: 2_000 } });
  });

  it('are weighed by number where a Node does not say its CPU, and alike where there is one only', () => {
    const { allocatable: _, ...status } = weighed('b', '2', '1').status ?? {};
    const nodes = [weighed('a', '1', '4'), weighed('a', '3', '4'), node({ zone: 'b', status })];
    expect(clientZonesOf(nodes)).to.deep.equal({ zones: ['a', 'b'], weights: { a: 2, b: 1 } });
    expect(clientZonesOf([weighed('a', '1', '4')])).to.deep.equal({ zones: ['a'], weights: { a: 1 } });
    expect(clientZonesOf([])).to.deep.equal({ zones: [], weights: {} });
  });
});

describe('names that every object has from its prototype', () => {
  const ZONE = 'constructor';

  it('are zones like others: of load between zones', () => {
    const sample = { sourceZone: ZONE, destinationZone: ZONE, load: 0.5, sampledAt: 90, window: 15 };
    const load = { kind: 'zone-pairs' as const, samples: [sample, { ...sample, load: 0.25 }] };
    const result = observationOf(input({ load }));
    expect(result.kind === 'observation' && result.observation.measured?.demand).to.deep.equal({ [ZONE]: 0.75 });
  });

  it('are zones like others: of Nodes', () => {
    const nodes = [node({ zone: ZONE }), node({ zone: 'toString' }), node({ zone: 'toString' })];
    expect(clientZonesOf(nodes).weights).to.deep.equal({ [ZONE]: 2_000, toString: 4_000 });
  });
});

describe('a capacity beyond all', () => {
  it('is none', () => {
    const result = observationOf(input({ podCpu: () => ({ requests: Infinity, limits: null }) }));
    expect(result).to.deep.equal({ kind: 'no-capacity', endpoints: ['p'] });
  });
});
