// What became of each Service under the evacuations of zones, counted; and which slices still have a mark.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { ANNOTATION_EVACUATED } from '../../../pkg/apis/names.ts';
import { decideInOrder, isMarked, markedSlices } from '../../../pkg/evacuation/decide.ts';
import { printMark } from '../../../pkg/evacuation/slice.ts';
import { type Outcome, countOutcomes, outcomeIn, outcomesOf } from '../../../pkg/evacuation/progress.ts';
import { endpoint, slice } from '../../fixtures/core.ts';

describe('what became of a Service in a zone', () => {
  const at = (zone: string, ready = true) => endpoint({ zone, conditions: { ready } });
  const outcome = (zones: readonly ReturnType<typeof at>[], settled: boolean) => {
    const slices = [slice({ endpoints: [...zones] })];
    const leaves = [{ zone: 'a', percent: 100, rounding: 'Up' as const }];
    const ordered = decideInOrder({ slices, clientZones: ['a', 'b'], leaves });
    return outcomeIn('a', slices, ordered, settled);
  };
  const cases: (readonly [
    name: string,
    zones: ReturnType<typeof at>[],
    want: object | undefined,
    settled?: boolean,
  ])[] = [
    [
      'counts the ready endpoints that left',
      [at('a'), at('a', false), at('b')],
      { state: 'moved', endpoints: 1, evacuated: 1 },
    ],
    [
      'is pending until its slices are written',
      [at('a'), at('b')],
      { state: 'pending', endpoints: 1, evacuated: 0 },
      false,
    ],
    [
      'is left where no other zone has an endpoint',
      [at('a'), at('a')],
      { state: 'left', endpoints: 2, evacuated: 0, reason: 'NoEndpointElsewhere' },
    ],
    ['is nothing without endpoints in the zone', [at('b')], undefined],
  ];
  for (const [name, zones, want, settled = true] of cases)
    it(name, () => {
      const found = outcome(zones, settled);
      if (want === undefined) expect(found).to.equal(undefined);
      else expect(found).to.include(want);
    });
});

describe('outcomes of several Services', () => {
  const of = (state: Outcome['state']): Outcome => ({ state, endpoints: 1, evacuated: 0 });
  const outcomes = new Map([
    [
      'shop/web',
      new Map([
        ['a', of('moved')],
        ['b', of('left')],
      ]),
    ],
    ['shop/api', new Map([['a', of('moved')]])],
    ['shop/db', new Map([['a', of('pending')]])],
  ]);

  it('are counted by zone and state', () =>
    expect(countOutcomes(outcomes)).to.deep.equal([
      { zone: 'a', state: 'moved', services: 2 },
      { zone: 'b', state: 'left', services: 1 },
      { zone: 'a', state: 'pending', services: 1 },
    ]));

  it('are taken apart by zone', () => expect([...outcomesOf('b', outcomes)]).to.deep.equal([['shop/web', of('left')]]));
});

describe('slices with the mark of an evacuation', () => {
  const marked = (...zones: string[]) => {
    const out = new Map(zones.map((zone) => [zone, 'all' as const]));
    const mark = printMark({ out, cover: [], was: { usual: 'none', except: new Map() } });
    return slice({ metadata: { annotations: { [ANNOTATION_EVACUATED]: mark } } });
  };
  const unreadable = slice({ metadata: { annotations: { [ANNOTATION_EVACUATED]: '?' } } });

  it('are counted for each zone that their mark is about', () =>
    expect([...markedSlices([marked('a'), marked('a', 'b'), unreadable, slice()])]).to.deep.equal([
      ['a', 2],
      ['b', 1],
    ]));

  it('include those whose mark cannot be read', () =>
    expect([marked('a'), unreadable, slice()].map(isMarked)).to.deep.equal([true, true, false]));
});
