import { expect } from 'chai';
import { describe, it } from 'mocha';
import { findProblems, writesOf } from '../../../bench/reconciler/check.ts';
import { countEvents, countTraffic } from '../../../bench/reconciler/traffic.ts';
import type { Phase } from '../../../bench/reconciler/types.ts';
import type { Event } from '../../../../pkg/apis/core.ts';
import type { SandboxRequest } from '../../../sandbox/types.ts';

const facts = {
  scale: { shoots: 2, services: 10, etcds: 4 },
  changing: { services: 8, etcds: 4 },
};

const GOOD = { 'patch services': 8, 'patch etcds': 4, 'patch namespaces': 2, 'create events': 2, 'update leases': 3 };

const phase = (overrides: Partial<Phase> = {}): Phase => ({
  name: 'on',
  seconds: 1,
  residentBytes: 1,
  counts: GOOD,
  mostPatchesPerObject: { services: 1, etcds: 1, namespaces: 1, leases: 3 },
  mostEventsPerObject: 1,
  connections: 1,
  ...overrides,
});

const quiet = { mostPatchesPerObject: {}, mostEventsPerObject: 0 };
const QUIET_COUNTS = { 'list services': 2, 'watch services': 1, 'get leases': 1, 'update leases': 1 };

describe('bench/reconciler/check', () => {
  it('is content with one patch an object, one label patch and one event a namespace', () => {
    expect(findProblems([phase(), phase({ name: 'off' })], facts)).to.deep.equal([]);
  });

  it('is content with lists at a start, and with watches and renewals in the steady state', () => {
    const start = phase({ name: 'start', counts: QUIET_COUNTS, ...quiet });
    const steady = phase({
      name: 'steady',
      counts: { 'watch etcds': 1, 'update leases': 9, 'raw /version': 1 },
      ...quiet,
    });
    expect(findProblems([start, { ...start, name: 'restart' }, steady], facts)).to.deep.equal([]);
  });

  it('is content with three resyncs and one event where no webhook gives hints', () => {
    const flip = phase({ counts: { ...GOOD, 'patch endpointslices': 3 } });
    const counts = { ...QUIET_COUNTS, 'patch endpointslices': 3, 'create events': 1 };
    expect(findProblems([flip, phase({ name: 'restart', counts, ...quiet })], facts)).to.deep.equal([]);
  });

  const cases = [
    {
      name: 'a patch too few',
      with: { counts: { ...GOOD, 'patch services': 7 } },
      problem: 'on: 7 × patch services instead of 8',
    },
    {
      name: 'an Etcd too many',
      with: { counts: { ...GOOD, 'patch etcds': 5 } },
      problem: 'on: 5 × patch etcds instead of 4',
    },
    {
      name: 'a label too many',
      with: { counts: { ...GOOD, 'patch namespaces': 3 } },
      problem: 'on: 3 × patch namespaces, at most 2',
    },
    {
      name: 'an object hit twice',
      with: { mostPatchesPerObject: { services: 2 } },
      problem: 'on: one of the services was written 2 times',
    },
    { name: 'two events', with: { mostEventsPerObject: 2 }, problem: 'on: 2 events about one Cluster' },
    {
      name: 'another write',
      with: { counts: { ...GOOD, 'delete secrets': 1 } },
      problem: 'on: 1 writes of an unexpected kind',
    },
    { name: 'a second connection', with: { connections: 2 }, problem: 'on: 2 connections instead of one' },
    {
      name: 'a write on restart',
      with: { name: 'restart' as const, counts: { ...QUIET_COUNTS, 'patch services': 1 }, ...quiet },
      problem: 'restart: 1 writes instead of none',
    },
    {
      name: 'a fourth resync at a flip',
      with: { counts: { ...GOOD, 'patch endpointslices': 4 } },
      problem: 'on: 4 × patch endpointslices, at most 3',
    },
    {
      name: 'a second event on restart',
      with: { name: 'restart' as const, counts: { ...QUIET_COUNTS, 'create events': 2 }, ...quiet },
      problem: 'restart: 2 events, at most 1',
    },
    {
      name: 'its own namespace read more often than every 15 seconds',
      with: { name: 'steady' as const, seconds: 30, counts: { 'get namespaces': 3 }, ...quiet },
      problem: 'steady: 3 × get namespaces',
    },
    {
      name: 'a list in the steady state',
      with: { name: 'steady' as const, counts: { 'list services': 1 }, ...quiet },
      problem: 'steady: 1 × list services',
    },
  ];
  for (const { name, with: overrides, problem } of cases) {
    it(`finds ${name}`, () => expect(findProblems([phase(overrides)], facts)).to.deep.equal([problem]));
  }

  it('counts writes without the renewals of the Lease', () => {
    expect(writesOf({ counts: { ...GOOD, 'list services': 9, 'patch leases': 4 } })).to.equal(16);
  });
});

describe('bench/reconciler/traffic', () => {
  const request = (overrides: Partial<SandboxRequest>): SandboxRequest => ({
    user: 'me',
    method: 'GET',
    verb: 'list',
    path: '/api/v1/services',
    resource: 'services',
    status: 200,
    query: {},
    ...overrides,
  });
  const event = (name: string, count?: number): Event => ({
    involvedObject: { kind: 'Cluster', name },
    type: 'Normal',
    reason: 'Enabled',
    message: 'x',
    ...(count === undefined ? {} : { count }),
  });
  const none = countEvents([]);

  it("counts one user's requests by verb and resource, and the most that one object got", () => {
    const patch = (namespace: string, name: string) => request({ verb: 'patch', namespace, name });
    const requests = [
      request({}),
      request({ user: 'other' }),
      request({ verb: 'raw', resource: '', path: '/version' }),
      patch('a', 'x'),
      patch('b', 'x'),
      patch('a', 'x'),
    ];
    const traffic = countTraffic({ requests, user: 'me', connections: 1, eventsBefore: none, eventsAfter: none });
    expect(traffic).to.deep.equal({
      counts: { 'list services': 1, 'patch services': 3, 'raw /version': 1 },
      mostPatchesPerObject: { services: 2 },
      mostEventsPerObject: 0,
      connections: 1,
    });
  });

  it('counts events that came since, repeats on the same Event included', () => {
    const eventsBefore = countEvents([event('a', 4), event('b')]);
    const eventsAfter = countEvents([event('a', 7), event('b'), event('c')]);
    const traffic = countTraffic({ requests: [], user: 'me', connections: 0, eventsBefore, eventsAfter });
    expect(traffic.mostEventsPerObject).to.equal(3);
  });
});
