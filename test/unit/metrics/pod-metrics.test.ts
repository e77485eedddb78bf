// What one PodMetrics says: cores as the HorizontalPodAutoscaler adds them up, time, window; or why nothing.
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { type KnownUsage, newerUsage, parseTimestamp, readPodMetrics } from '../../../pkg/metrics/resource-metrics.ts';
import { upTo } from '../../support/depth.ts';

describe('PodMetrics', () => {
  const container = (cpu: unknown, name = 'main'): object => ({ name, usage: { cpu, memory: '1Mi' } });

  const item = (overrides: object = {}): object => ({
    metadata: { name: 'web-0', namespace: 'shop' },
    timestamp: '2026-01-01T00:00:30Z',
    window: '15.091s',
    containers: [container('250m')],
    ...overrides,
  });

  const STAMP = Date.UTC(2026, 0, 1, 0, 0, 30) / 1_000;

  it('gives cores, time and window', () => {
    expect(readPodMetrics(item())).to.deep.equal({ pod: 'web-0', cores: 0.25, stamp: STAMP, window: 15.091 });
  });

  for (const [name, containers, cores] of [
    ['nanocores, as metrics-server writes them', [container('123456789n')], 0.123456789],
    ['whole cores', [container('2')], 2],
    ['nothing used', [container('0')], 0],
    ['a sidecar beside it', [container('250m'), container('50m', 'sidecar')], 0.3],
    ['exact sums', [container('100m'), container('200m', 'b')], 0.3],
  ] as const) {
    it(`sums its containers: ${name}`, () => {
      expect(readPodMetrics(item({ containers }))).to.have.property('cores', cores);
    });
  }

  const noCpu = { problem: 'a container without CPU usage', pod: 'web-0' };
  for (const [name, value, expected] of [
    ['no object', 'x', { problem: 'no name' }],
    ['null', null, { problem: 'no name' }],
    ['no metadata', item({ metadata: undefined }), { problem: 'no name' }],
    ['a name that is no text', item({ metadata: { name: 7 } }), { problem: 'no name' }],
    ['an empty name', item({ metadata: { name: '' } }), { problem: 'no name' }],
    ['no containers', item({ containers: [] }), noCpu],
    ['containers that are no list', item({ containers: {} }), noCpu],
    [
      'one container of two without CPU',
      item({ containers: [container('1'), { name: 'b', usage: { memory: '1Mi' } }] }),
      noCpu,
    ],
    ['CPU as a number', item({ containers: [container(1)] }), noCpu],
    ['CPU that is no quantity', item({ containers: [container('lots')] }), noCpu],
    ['negative CPU', item({ containers: [container('-1m')] }), noCpu],
    ['CPU beyond reason', item({ containers: [container('1e300')] }), noCpu],
    ['no timestamp', item({ timestamp: null }), { problem: 'no timestamp', pod: 'web-0' }],
    ["Go's zero time", item({ timestamp: '0001-01-01T00:00:00Z' }), { problem: 'no timestamp', pod: 'web-0' }],
    ['no window', item({ window: undefined }), { problem: 'no window', pod: 'web-0' }],
    ['a window of nothing', item({ window: '0s' }), { problem: 'no window', pod: 'web-0' }],
    ['a window beyond reason', item({ window: '61m' }), { problem: 'a window of more than an hour', pod: 'web-0' }],
    ['a negative window', item({ window: '-15s' }), { problem: 'no window', pod: 'web-0' }],
    ['a window that is a number', item({ window: 15 }), { problem: 'no window', pod: 'web-0' }],
  ] as const) {
    it(`refuses ${name}`, () => {
      expect(readPodMetrics(value)).to.deep.equal(expected);
    });
  }

  for (const [name, text, seconds] of [
    ['seconds in UTC', '2026-01-01T00:00:30Z', STAMP],
    ['milliseconds', '2026-01-01T00:00:30.250Z', STAMP + 0.25],
    ['nanoseconds', '2026-01-01T00:00:30.250000000Z', STAMP + 0.25],
    ['microseconds, as MicroTime', '2026-01-01T00:00:30.250000Z', STAMP + 0.25],
    ['an offset', '2026-01-01T02:00:30+02:00', STAMP],
    ['a date alone', '2026-01-01', undefined],
    ['a time without zone', '2026-01-01T00:00:30', undefined],
    ['a month that is none', '2026-13-01T00:00:30Z', undefined],
    ['what only Date.parse takes', 'Thu, 01 Jan 2026 00:00:30 GMT', undefined],
    ['the epoch', '1970-01-01T00:00:00Z', undefined],
    ['a number', 5, undefined],
  ] as const) {
    it(`timestamp: ${name}`, () => {
      expect(parseTimestamp(text)).to.equal(seconds);
    });
  }
});

describe('usage table', () => {
  const NOW = 1_800_000_000;
  const usage = (stamp: number, cores = 1) => ({ pod: 'a', cores, stamp, window: 15 });

  const known: KnownUsage = { cores: 1, window: 15, stamp: NOW - 20, sampledAt: NOW - 20 };
  for (const [name, stamp, newer] of [
    ['a later timestamp', NOW - 5, true],
    ['the same timestamp', NOW - 20, false],
    ['an earlier one, of another replica', NOW - 35, false],
  ] as const) {
    it(`${newer ? 'takes' : 'keeps what it has for'} ${name}`, () => {
      const result = newerUsage(usage(stamp, 2), known, NOW);
      expect(result).to.deep.equal(newer ? { cores: 2, window: 15, stamp, sampledAt: stamp } : known);
    });
  }

  it('gives a sample from the future the time when it was first seen, and keeps that', () => {
    const first = newerUsage(usage(NOW + 3_600), undefined, NOW);
    expect(first.sampledAt).to.equal(NOW);
    const again = newerUsage(usage(NOW + 3_600), first, NOW + 300);
    expect(again, 'it gets old like any other').to.equal(first);
    const next = newerUsage(usage(NOW + 3_900), again, NOW + 300);
    expect(next).to.include({ stamp: NOW + 3_900, sampledAt: NOW + 300 });
  });

  it('holds: never in the future, never back in time, and a sample seen twice has one time', () => {
    const step = fc.record({ wait: fc.integer({ min: 1, max: 60 }), skew: fc.integer({ min: -7_200, max: 7_200 }) });
    const check = (steps: readonly { wait: number; skew: number }[]): void => {
      let now = NOW;
      let last: KnownUsage | undefined;
      for (const { wait, skew } of steps) {
        now += wait;
        const next = newerUsage(usage(now + skew), last, now);
        expect(next.sampledAt).to.be.at.most(now);
        if (last !== undefined) expect(next.sampledAt).to.be.at.least(last.sampledAt);
        if (last !== undefined && next !== last) expect(next.sampledAt, 'new in time').to.be.above(last.sampledAt);
        expect(newerUsage(usage(next.stamp), next, now + 1), 'seen twice').to.equal(next);
        last = next;
      }
    };
    fc.assert(fc.property(fc.array(step, { maxLength: 30 }), check), { numRuns: upTo(2_000) });
  });
});
