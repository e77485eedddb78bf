// The Auto heuristic of the sandbox's EndpointSlice controller, against the figures known of the original.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { allocate, autoHints, lending, zoneRatios } from '../../sandbox/slice-auto.ts';
import type { StoredObject } from '../../sandbox/object.ts';
import { zonesNamed } from '../upstream/support.ts';

const aNode = (
  zone: string,
  cpu: string,
  { ready = 'True', labels = {} }: { ready?: string; labels?: Record<string, string> } = {},
): StoredObject => ({
  metadata: {
    name: `n-${zone}-${cpu}`,
    labels: { ...(zone === '' ? {} : { 'topology.kubernetes.io/zone': zone }), ...labels },
  },
  status: { conditions: [{ type: 'Ready', status: ready }], ...(cpu === '' ? {} : { allocatable: { cpu } }) },
});

const aSlice = (zones: readonly (string | undefined)[], hints: readonly string[] = []): StoredObject => ({
  metadata: { name: 's' },
  endpoints: zones.map((zone, index) => ({
    addresses: [`198.19.0.${index}`],
    conditions: { ready: true },
    ...(zone === undefined ? {} : { zone }),
    ...(hints[index] === undefined ? {} : { hints: { forZones: [{ name: hints[index] }] } }),
  })),
});

const hintedIn = (slices: readonly StoredObject[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const slice of slices) {
    for (const endpoint of slice['endpoints'] as { hints?: { forZones: { name: string }[] } }[]) {
      const name = endpoint.hints?.forZones[0]?.name ?? 'none';
      counts[name] = (counts[name] ?? 0) + 1;
    }
  }
  return counts;
};

describe('zoneRatios', () => {
  it('shares by allocatable CPU of ready worker nodes', () => {
    const ratios = zoneRatios([
      aNode('a', '1'),
      aNode('a', '500m'),
      aNode('b', '2.5'),
      aNode('c', '8', { ready: 'False' }),
      aNode('d', '8', { labels: { 'node-role.kubernetes.io/control-plane': '' } }),
    ]);
    expect([...(ratios ?? [])]).to.deep.equal([
      ['a', 0.375],
      ['b', 0.625],
    ]);
  });
  for (const { name, nodes } of [
    { name: 'one zone', nodes: [aNode('a', '1'), aNode('a', '1')] },
    { name: 'a node without zone', nodes: [aNode('a', '1'), aNode('b', '1'), aNode('', '1')] },
    { name: 'a node without CPU', nodes: [aNode('a', '1'), aNode('b', '1'), aNode('b', '')] },
    { name: 'no nodes', nodes: [] },
  ]) {
    it(`knows nothing with ${name}`, () => expect(zoneRatios(nodes)).to.equal(undefined));
  }
});

describe('allocate', () => {
  for (const { zones, refused } of [
    { zones: 2, refused: [3, 5] },
    { zones: 3, refused: [4, 5, 8, 11] },
    { zones: 4, refused: [5, 6, 7, 10, 11, 15] },
    { zones: 5, refused: [6, 7, 8, 9, 12, 13, 14, 19, 24] },
    { zones: 6, refused: [8, 9, 10, 11, 15, 16, 17, 22, 23, 29] },
  ]) {
    it(`refuses ${refused.join(', ')} endpoints over ${zones} equal zones and no other number`, () => {
      const ratios = new Map(zonesNamed(zones).map((zone) => [zone, 1000 / (1000 * zones)]));
      const found = Array.from({ length: 60 - zones }, (_, index) => index + zones).filter(
        (count) => allocate(ratios, count).kind === 'refused',
      );
      expect(found).to.deep.equal(refused);
    });
  }

  it('says why', () => {
    const ratios = new Map(zonesNamed(3).map((zone) => [zone, 1 / 3]));
    expect(allocate(undefined, 3)).to.include({
      message: 'Insufficient Node information: allocatable CPU or zone not specified on one or more nodes',
    });
    expect(allocate(ratios, 2)).to.include({ message: 'Insufficient number of endpoints (2 endpoints, 3 zones)' });
    expect(allocate(ratios, 4)).to.include({
      message:
        'Unable to allocate minimum required endpoints to each zone without exceeding overload threshold (4 endpoints, 3 zones)',
    });
  });
});

describe('autoHints', () => {
  const allocated = (zones: readonly string[], count: number) => {
    const result = allocate(new Map(zones.map((zone) => [zone, 1 / zones.length])), count);
    if (result.kind !== 'allocated') throw new Error(result.message);
    return result.zones;
  };
  const plan = (parts: { create?: StoredObject[]; unchanged?: StoredObject[] }) => ({
    create: [],
    update: [],
    unchanged: [],
    remove: [],
    ...parts,
  });

  it('hints each zone for itself when they are even', () => {
    const result = autoHints(plan({ create: [aSlice(['a', 'b', 'c', 'a', 'b', 'c'])] }), allocated(['a', 'b', 'c'], 6));
    expect(result.kind === 'hinted' && hintedIn(result.plan.create)).to.deep.equal({ a: 2, b: 2, c: 2 });
  });

  it('lends from zones with too many to zones with too few', () => {
    const result = autoHints(plan({ create: [aSlice(['a', 'a', 'a', 'a', 'a', 'a'])] }), allocated(['a', 'b', 'c'], 6));
    expect(result.kind === 'hinted' && hintedIn(result.plan.create)).to.deep.equal({ a: 2, b: 2, c: 2 });
  });

  it('leaves alone what still fits, rewrites what does not', () => {
    const zones = allocated(['a', 'b'], 4);
    const good = aSlice(['a', 'a', 'b', 'b'], ['a', 'a', 'b', 'b']);
    const kept = autoHints(plan({ unchanged: [good] }), zones);
    expect(kept.kind === 'hinted' && [kept.plan.unchanged.length, kept.plan.update.length]).to.deep.equal([1, 0]);
    const bad = aSlice(['a', 'a', 'b', 'b'], ['a', 'a', 'a', 'a']);
    const changed = autoHints(plan({ unchanged: [bad] }), zones);
    expect(changed.kind === 'hinted' && hintedIn(changed.plan.update)).to.deep.equal({ a: 2, b: 2 });
  });

  it('refuses when an endpoint has no zone', () => {
    const result = autoHints(plan({ create: [aSlice(['a', 'b', undefined])] }), allocated(['a', 'b'], 4));
    expect(result).to.deep.equal({ kind: 'refused', message: 'One or more endpoints do not have a zone specified' });
  });
});

describe('lending', () => {
  it('gives exactly what is received and never makes a giver needy', () => {
    const counts = fc.array(fc.integer({ min: 0, max: 30 }), { minLength: 2, maxLength: 6 });
    fc.assert(
      fc.property(counts, (own) => {
        const zones = zonesNamed(own.length);
        const total = own.reduce((sum, count) => sum + count, 0);
        const desired = total / own.length;
        const { give, receive } = lending(
          new Map(zones.map((zone) => [zone, { desired, maximum: total }])),
          new Map(zones.map((zone, index) => [zone, own[index] ?? 0])),
        );
        const sum = (map: Map<string, number>): number => [...map.values()].reduce((left, right) => left + right, 0);
        expect(sum(give)).to.equal(sum(receive));
        for (const [index, zone] of zones.entries())
          expect((own[index] ?? 0) - (give.get(zone) ?? 0)).to.be.at.least(
            Math.min(own[index] ?? 0, Math.floor(desired)),
          );
      }),
    );
  });
});
