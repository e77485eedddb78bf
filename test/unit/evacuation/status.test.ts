// Tests of when an evacuation runs, what it is about, why it is refused, and what its status says.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { ZoneEvacuation, ZoneEvacuationSpec } from '../../../pkg/apis/zone-evacuation.ts';
import { concerns, isRunning, refusalOf, shortageOf } from '../../../pkg/evacuation/accept.ts';
import {
  type Outcome,
  countOutcomes,
  outcomeIn,
  outcomesOf,
  refusedStatus,
  returningStatus,
  runningStatus,
} from '../../../pkg/evacuation/progress.ts';
import { ANNOTATION_EVACUATED } from '../../../pkg/apis/names.ts';
import { decideInOrder, isMarked, markedSlices } from '../../../pkg/evacuation/decide.ts';
import { printMark } from '../../../pkg/evacuation/slice.ts';
import { endpoint, slice } from '../../fixtures/core.ts';

const CREATED = Date.parse('2026-11-22T12:00:00Z');
const MINUTE = 60_000;

const evacuation = (spec: Partial<ZoneEvacuationSpec> = {}, more: Partial<ZoneEvacuation['metadata']> = {}) =>
  ({
    metadata: { name: 'a', generation: 2, creationTimestamp: '2026-11-22T12:00:00Z', ...more },
    spec: { zone: 'a', duration: '1h', percent: 100, rounding: 'Up', capacityCheck: 'Refuse', force: false, ...spec },
  }) satisfies ZoneEvacuation;

describe('an evacuation runs', () => {
  const cases: (readonly [name: string, one: ZoneEvacuation, after: number, want: boolean])[] = [
    ['until its time is over', evacuation(), 60 * MINUTE - 1, true],
    ['no longer than its time', evacuation(), 60 * MINUTE, false],
    ['for a time of several units', evacuation({ duration: '1h30m' }), 89 * MINUTE, true],
    ['for seven days at most', evacuation({ duration: '999h' }), 168 * 60 * MINUTE, false],
    ['not without a time', evacuation({ duration: 'soon' }), 0, false],
    ['not once it is deleted', evacuation({}, { deletionTimestamp: '2026-11-22T12:00:01Z' }), MINUTE, false],
  ];
  for (const [name, one, after, want] of cases) it(name, () => expect(isRunning(one, CREATED + after)).to.equal(want));
});

describe('an evacuation is about', () => {
  const service = { key: 'shop/web', labels: { app: 'web' }, namespace: { 'kubernetes.io/metadata.name': 'shop' } };
  const cases: (readonly [name: string, spec: Partial<ZoneEvacuationSpec>, want: boolean, key?: string])[] = [
    ['every Service without selectors', {}, true],
    ['kube-system as well', {}, true, 'kube-system/kube-dns'],
    ['never the Service kubernetes', {}, false, 'default/kubernetes'],
    ['Services with its labels', { serviceSelector: { matchLabels: { app: 'web' } } }, true],
    ['no others', { serviceSelector: { matchLabels: { app: 'db' } } }, false],
    [
      'Services of its namespaces alone',
      { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'other' } } },
      false,
    ],
  ];
  for (const [name, spec, want, key = service.key] of cases)
    it(name, () => expect(concerns(evacuation(spec), { ...service, key })).to.equal(want));
});

describe('an evacuation is refused', () => {
  const { spec } = evacuation();
  const world = {
    clientZones: ['a', 'b'],
    endpointZones: ['a', 'b'],
    evacuatedAlready: new Set<string>(),
    dropping: [],
  };
  type World = Parameters<typeof refusalOf>[1];
  const cases: (readonly [
    name: string,
    more: Partial<World>,
    want: string | undefined,
    asked?: Partial<ZoneEvacuationSpec>,
  ])[] = [
    ['not where nothing speaks against it', {}, undefined],
    ['of a zone that there is none of', {}, 'UnknownZone', { zone: 'z' }],
    ['of the last zone', { evacuatedAlready: new Set(['b']) }, 'LastZone'],
    ['not of a part of the last zone', { evacuatedAlready: new Set(['b']) }, undefined, { percent: 50 }],
    ['where a router would drop connections', { dropping: ['Calico eBPF 3.29.1'] }, 'RouterDropsTraffic'],
    ['not there where it is forced', { dropping: ['Calico eBPF 3.29.1'] }, undefined, { force: true }],
  ];
  for (const [name, more, want, asked = {}] of cases)
    it(name, () => expect(refusalOf({ ...spec, ...asked }, { ...world, ...more })?.reason).to.equal(want));

  it('where Services would have too little left: three are named, the others counted', () => {
    expect(shortageOf([], [])).to.equal(undefined);
    expect(shortageOf(['shop/web'], ['shop/db'])?.reason).to.equal('TogetherNoEndpoint');
    const refusal = shortageOf([], ['a/1', 'a/2', 'a/3', 'a/4', 'a/5']);
    expect(refusal?.reason).to.equal('Overloaded');
    expect(refusal?.message).to.contain('a/1; a/2; a/3; and 2 more');
  });
});

describe('the status of an evacuation', () => {
  const now = CREATED + MINUTE;
  const moved: Outcome = { state: 'moved', endpoints: 2, evacuated: 2 };
  const left: Outcome = { state: 'left', endpoints: 1, evacuated: 0, reason: 'NoEndpointElsewhere', message: 'none' };
  const stand = (outcomes: Record<string, Outcome>, incomplete = false) =>
    runningStatus(
      evacuation(),
      { outcomes: new Map(Object.entries(outcomes)), incomplete, clientZones: ['a', 'b'] },
      now,
    );

  it('is Evacuated once every Service has moved or is listed', () => {
    const status = stand({ 'shop/web': moved, 'shop/db': left });
    expect(status).to.deep.include({
      phase: 'Evacuated',
      expiresAt: '2026-11-22T13:00:00Z',
      startedAt: '2026-11-22T12:01:00Z',
      services: { total: 2, moved: 1, pending: 0, left: 1 },
      endpoints: { total: 3, evacuated: 2 },
      left: [{ namespace: 'shop', name: 'db', reason: 'NoEndpointElsewhere', message: 'none' }],
    });
    expect(status.conditions?.map(({ type, status: value }) => `${type}=${value}`)).to.deep.equal([
      'Accepted=True',
      'Evacuated=True',
    ]);
  });

  it('is Moving while a Service is not written, or not all were looked at', () => {
    expect(stand({ 'shop/web': { ...moved, state: 'pending' } }).phase).to.equal('Moving');
    expect(stand({ 'shop/web': moved }, true).phase).to.equal('Moving');
  });

  it('lists a hundred Services and counts the others', () => {
    const many = Object.fromEntries(Array.from({ length: 120 }, (_, index) => [`shop/s${index}`, left]));
    const status = stand(many);
    expect(status.left).to.have.lengthOf(100);
    expect(status.omitted).to.equal(20);
  });

  it('keeps the time of a condition that did not change', () => {
    const before = stand({ 'shop/web': moved });
    const later = runningStatus(
      { ...evacuation(), status: before },
      { outcomes: new Map([['shop/web', moved]]), incomplete: false, clientZones: ['a', 'b'] },
      now + MINUTE,
    );
    expect(later).to.deep.equal(before);
  });

  it('says why nothing is done, and when nothing of it is left', () => {
    const refused = refusedStatus(evacuation(), { reason: 'LastZone', message: 'a', waiting: false }, now);
    expect(refused).to.include({ phase: 'Refused' });
    expect(returningStatus(evacuation(), 3, now).phase).to.equal('Returning');
    const over = returningStatus({ ...evacuation(), status: stand({ 'shop/web': moved }) }, 0, now);
    expect(over.phase).to.equal('Returned');
    expect(over.conditions?.map(({ type, status }) => `${type}=${status}`)).to.deep.equal([
      'Accepted=True',
      'Evacuated=False',
      'Returned=True',
    ]);
  });
});

// What became of each Service under the evacuations of zones, counted; and which slices still have a mark.
describe('what became of a Service in a zone', () => {
  const at = (zone: string, ready = true) => endpoint({ zone, conditions: { ready } });
  const outcome = (zones: readonly ReturnType<typeof at>[], settled: boolean) => {
    const slices = [slice({ endpoints: [...zones] })];
    const requests = [{ zone: 'a', percent: 100, rounding: 'Up' as const }];
    const ordered = decideInOrder({ slices, clientZones: ['a', 'b'], requests });
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
    ['shop/web', new Map(Object.entries({ a: of('moved'), b: of('left') }))],
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
    const evacuated = new Map(zones.map((zone) => [zone, 'all' as const]));
    const mark = printMark({ evacuated, alsoServe: [], original: { usual: 'none', except: new Map() } });
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
