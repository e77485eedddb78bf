// What holds for every step of the loop, whatever it observes.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { DEFAULT_LOOP_POLICY } from '../../../../pkg/flow/loop/from-spec.ts';
import { initialState, step } from '../../../../pkg/flow/loop/step.ts';
import type { LoopState } from '../../../../pkg/flow/loop/types.ts';
import type { Demand } from '../../../../pkg/flow/types.ts';
import { inFull } from '../../../support/depth.ts';
import { normalOf, randomOf } from '../../../bench/loop/random.ts';
import { changes, endpointsOf, last, looped, observation } from './support.ts';

describe('loop, whatever it observes', () => {
  describe(`without a limit cycle: at most three changes in ${inFull('ten hours', 'an hour')}`, () => {
    const { targetUtilization, upperUtilization } = DEFAULT_LOOP_POLICY;
    const thresholds = [targetUtilization, upperUtilization, 0.95];
    const changesUnderNoise = (count: number, demand: Demand, seed: number): string[] => {
      const normal = normalOf(randomOf(seed));
      const service = looped({
        endpoints: () => endpointsOf({ a: count, b: count, c: count }),
        demand: () => demand,
        noise: () => Math.max(0, 1 + 0.05 * normal()),
      });
      return changes(service.runTo(inFull(36_000, 3_600))).map(({ time, reason }) => `${time} s: ${reason}`);
    };
    for (const count of inFull([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], [1, 3, 10])) {
      for (const threshold of thresholds) {
        for (const offset of [-0.01, 0, 0.01]) {
          it(`${count} endpoints a zone at ${threshold}${offset < 0 ? '' : '+'}${offset} of their capacity, with noise`, () => {
            const utilization = threshold + offset;
            const demand = { a: utilization * count, b: 0.1 * count, c: 0.1 * count };
            const seed = count * 100 + Math.round(utilization * 1000);
            expect(changesUnderNoise(count, demand, seed)).to.have.lengthOf.at.most(3);
          });
        }
      }
    }

    for (const seed of inFull([1, 2, 3, 4, 5], [1]))
      it(`nor where no plan keeps below the threshold: two hot zones change hardly once an hour, seed ${seed}`, () => {
        expect(changesUnderNoise(3, { a: 3.6, b: 3, c: 0.6 }, seed)).to.have.lengthOf.at.most(inFull(12, 4));
      });
  });

  it('finds hints for an endpoint without zone, and never hints for a zone without name', () => {
    const service = looped({
      endpoints: () => endpointsOf({ a: 1, b: 1, '': 1 }),
      demand: () => ({ a: 0.5, b: 0.5 }),
      zones: ['a', 'b'],
    });
    const decisions = service.runTo(3600);
    for (const { endpoints } of decisions) for (const { forZones } of endpoints) expect(forZones).to.not.include('');
    expect(decisions[0]?.inZoneShare, 'one endpoint without hint makes proxies ignore all').to.equal(1);
    expect(last(decisions).endpoints.every(({ forZones }) => forZones.length > 0)).to.equal(true);
    expect(last(decisions).inZoneShare).to.be.closeTo(0.75, 0.01);
  });

  it('gives the same answer for the same input, in any order, and its state survives JSON', () => {
    const random = randomOf(5);
    const order = fc.shuffledSubarray([0, 1, 2, 3, 4, 5], { minLength: 6 });
    fc.assert(
      fc.property(
        order,
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 12, maxLength: 12 }),
        (positions, loads) => {
          const endpoints = endpointsOf({ a: 2, b: 2, c: 2 });
          let straight: LoopState | undefined;
          let shuffled: LoopState | undefined;
          for (let round = 0; round < 6; round += 1) {
            const time = 60 * round;
            const seen = endpoints.map((endpoint, index) => ({
              ...endpoint,
              load: loads[(index + round) % 12] ?? 0,
              sampledAt: time,
            }));
            const one = step(DEFAULT_LOOP_POLICY, straight, observation(time, seen));
            const other = step(
              DEFAULT_LOOP_POLICY,
              shuffled === undefined ? undefined : (JSON.parse(JSON.stringify(shuffled)) as LoopState),
              observation(
                time,
                positions.map((position) => seen[position] as (typeof seen)[number]),
                ['c', 'a', 'b'],
              ),
            );
            expect(other.decision).to.deep.equal(one.decision);
            straight = one.state;
            shuffled = other.state;
          }
        },
      ),
      { numRuns: 50, seed: Math.floor(random() * 1000) },
    );
  });

  it('always lists every ready endpoint, each with one to eight zones, or none when spread', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 2, noNaN: true }), { minLength: 9, maxLength: 9 }), (loads) => {
        const service = looped({
          endpoints: () => endpointsOf({ a: 1, b: 2, c: 1 }),
          demand: (time) => ({
            a: loads[Math.floor(time / 300) % 9] ?? 0,
            b: loads[(Math.floor(time / 300) + 3) % 9] ?? 0,
            c: 0.2,
          }),
        });
        for (const { spread, endpoints } of service.runTo(2700)) {
          if (spread) expect(endpoints).to.deep.equal([]);
          else {
            expect(endpoints.map(({ name }) => name)).to.deep.equal(['a1', 'b1', 'b2', 'c1']);
            for (const { forZones } of endpoints) expect(forZones.length).to.be.within(1, 8);
          }
        }
      }),
      { numRuns: inFull(50, 10) },
    );
  });

  it('has a first state that is plain JSON', () => {
    const state = initialState(observation(7, []));
    expect(JSON.parse(JSON.stringify(state))).to.deep.equal(state);
  });
});
