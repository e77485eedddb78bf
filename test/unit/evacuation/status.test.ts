// Tests of when an evacuation runs, what it is about, why it is refused, and what its status says.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { ZoneEvacuation, ZoneEvacuationSpec } from '../../../pkg/apis/zone-evacuation.ts';
import { type AcceptInput, concerns, isRunning, refusalOf } from '../../../pkg/evacuation/accept.ts';
import { type Outcome, refusedStatus, returningStatus, runningStatus } from '../../../pkg/evacuation/progress.ts';

const CREATED = Date.parse('2026-11-22T12:00:00Z');
const MINUTE = 60_000;

const evacuation = (spec: Partial<ZoneEvacuationSpec> = {}, more: Partial<ZoneEvacuation['metadata']> = {}) =>
  ({
    metadata: { name: 'a', generation: 2, creationTimestamp: '2026-11-22T12:00:00Z', ...more },
    spec: { zone: 'a', duration: '1h', percent: 100, rounding: 'Up', capacityCheck: 'Refuse', force: false, ...spec },
  }) satisfies ZoneEvacuation;

describe('an evacuation runs', () => {
  const cases: { name: string; one: ZoneEvacuation; after: number; want: boolean }[] = [
    { name: 'until its time is over', one: evacuation(), after: 60 * MINUTE - 1, want: true },
    { name: 'no longer than its time', one: evacuation(), after: 60 * MINUTE, want: false },
    { name: 'for a time of several units', one: evacuation({ duration: '1h30m' }), after: 89 * MINUTE, want: true },
    { name: 'for seven days at most', one: evacuation({ duration: '999h' }), after: 168 * 60 * MINUTE, want: false },
    { name: 'not without a time', one: evacuation({ duration: 'soon' }), after: 0, want: false },
    {
      name: 'not once it is deleted',
      one: evacuation({}, { deletionTimestamp: '2026-11-22T12:00:01Z' }),
      after: MINUTE,
      want: false,
    },
  ];
  for (const { name, one, after, want } of cases)
    it(name, () => expect(isRunning(one, CREATED + after)).to.equal(want));
});

describe('an evacuation is about', () => {
  const service = { key: 'shop/web', labels: { app: 'web' }, namespace: { 'kubernetes.io/metadata.name': 'shop' } };
  const cases: { name: string; spec: Partial<ZoneEvacuationSpec>; key?: string; want: boolean }[] = [
    { name: 'every Service without selectors', spec: {}, want: true },
    { name: 'kube-system as well', spec: {}, key: 'kube-system/kube-dns', want: true },
    { name: 'never the Service kubernetes', spec: {}, key: 'default/kubernetes', want: false },
    { name: 'Services with its labels', spec: { serviceSelector: { matchLabels: { app: 'web' } } }, want: true },
    { name: 'no others', spec: { serviceSelector: { matchLabels: { app: 'db' } } }, want: false },
    {
      name: 'Services of its namespaces alone',
      spec: { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'other' } } },
      want: false,
    },
  ];
  for (const { name, spec, key = service.key, want } of cases)
    it(name, () => expect(concerns(evacuation(spec), { ...service, key })).to.equal(want));
});

describe('an evacuation is refused', () => {
  const input: AcceptInput = {
    zone: 'a',
    percent: 100,
    force: false,
    clientZones: ['a', 'b'],
    endpointZones: new Set(['a', 'b']),
    leftAlready: new Set(),
    dropping: [],
    overloaded: [],
    together: [],
    admissionActs: true,
  };
  const cases: { name: string; more: Partial<AcceptInput>; want: string | undefined }[] = [
    { name: 'not where nothing speaks against it', more: {}, want: undefined },
    { name: 'of a zone that there is none of', more: { zone: 'z' }, want: 'UnknownZone' },
    { name: 'of the last zone', more: { leftAlready: new Set(['b']) }, want: 'LastZone' },
    { name: 'not of a part of the last zone', more: { leftAlready: new Set(['b']), percent: 50 }, want: undefined },
    {
      name: 'where a router would drop connections',
      more: { dropping: ['Calico eBPF 3.29.1'] },
      want: 'RouterDropsTraffic',
    },
    { name: 'not there where it is forced', more: { dropping: ['Calico eBPF 3.29.1'], force: true }, want: undefined },
    {
      name: 'where other endpoints would get too much',
      more: { overloaded: ['shop/web (3.0 fair shares)'] },
      want: 'Overloaded',
    },
    {
      name: 'where zones that are left together are all of a Service',
      more: { together: ['shop/web'] },
      want: 'TogetherNoEndpoint',
    },
    { name: 'for now while admission may be late', more: { admissionActs: undefined }, want: 'WaitingForAdmission' },
    { name: 'where no admission keeps it', more: { admissionActs: false }, want: 'AdmissionNotActing' },
  ];
  for (const { name, more, want } of cases)
    it(name, () => expect(refusalOf({ ...input, ...more })?.reason).to.equal(want));
});

it('a refusal names three Services and counts the others', () => {
  const overloaded = ['a/1', 'a/2', 'a/3', 'a/4', 'a/5'];
  const input = { zone: 'a', percent: 100, force: false, clientZones: ['a', 'b'], dropping: [], together: [] };
  const more = { endpointZones: new Set(['a', 'b']), leftAlready: new Set<string>(), admissionActs: true, overloaded };
  expect(refusalOf({ ...input, ...more })?.message).to.contain('a/1; a/2; a/3; and 2 more');
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
