// Figures of a turn: of every zone with clients, and of no more others than fit into a status.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { loopFiguresOf } from '../../../../pkg/flow/assemble/job.ts';
import type { Observation } from '../../../../pkg/flow/loop/types.ts';

const OWN = { spread: false, endpoints: [] };

const observation = (zones: readonly string[], endpointZones: readonly string[]): Observation => ({
  time: 0,
  window: 15,
  zones,
  endpoints: endpointZones.map((zone, index) => ({
    name: `e${index}`,
    zone,
    ready: true,
    capacity: 1,
    load: null,
    sampledAt: null,
  })),
});

const zonesIn = (zones: readonly string[], endpointZones: readonly string[], demand: Record<string, number>) =>
  loopFiguresOf(observation(zones, endpointZones), OWN, demand, { targetUtilization: 0.7 }).zones;

describe('figures of a turn', () => {
  it('name zones with clients and zones with endpoints only', () => {
    expect(zonesIn(['a', 'b'], ['a', 'c'], { a: 1, b: 0.5 })).to.deep.equal([
      { zone: 'a', demand: 1, endpoints: 1, utilization: 1.25, spill: 0 },
      { zone: 'b', demand: 0.5, endpoints: 0, utilization: 0, spill: 1 },
      { zone: 'c', demand: 0, endpoints: 1, utilization: 0.25, spill: 0 },
    ]);
  });

  it('name all zones with clients, and eight of those that only a slice speaks of', () => {
    const clients = Array.from({ length: 40 }, (_, index) => `client-${index}`);
    const strange = Array.from({ length: 1_000 }, (_, index) => `strange-${index}`);
    const told = zonesIn(clients, strange, Object.fromEntries(clients.map((zone) => [zone, 1])));
    expect(told.filter(({ zone }) => zone.startsWith('client-'))).to.have.length(40);
    expect(told.filter(({ zone }) => zone.startsWith('strange-'))).to.have.length(8);
  });

  it('add up over all endpoints, named or not', () => {
    const strange = Array.from({ length: 100 }, (_, index) => `strange-${index}`);
    const figures = loopFiguresOf(observation(['a'], strange), OWN, { a: 3 }, { targetUtilization: 0.7 });
    expect(figures).to.include({ demand: 3, capacity: 100, endpoints: 100, inZoneShare: 0 });
  });
});
