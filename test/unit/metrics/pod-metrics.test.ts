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

  for (const { name, containers, cores } of [
    { name: 'nanocores, as metrics-server writes them', containers: [container('123456789n')], cores: 0.123456789 },
    { name: 'whole cores', containers: [container('2')], cores: 2 },
    { name: 'nothing used', containers: [container('0')], cores: 0 },
    { name: 'a sidecar beside it', containers: [container('250m'), container('50m', 'sidecar')], cores: 0.3 },
    { name: 'exact sums', containers: [container('100m'), container('200m', 'b')], cores: 0.3 },
  ]) {
    it(`sums its containers: ${name}`, () => {
      expect(readPodMetrics(item({ containers }))).to.have.property('cores', cores);
    });
  }

  const noCpu = { problem: 'a container without CPU usage', pod: 'web-0' };
  for (const { name, value, expected } of [
    { name: 'no object', value: 'x', expected: { problem: 'no name' } },
    { name: 'null', value: null, expected: { problem: 'no name' } },
    { name: 'no metadata', value: item({ metadata: undefined }), expected: { problem: 'no name' } },
    { name: 'a name that is no text', value: item({ metadata: { name: 7 } }), expected: { problem: 'no name' } },
    { name: 'an empty name', value: item({ metadata: { name: '' } }), expected: { problem: 'no name' } },
    { name: 'no containers', value: item({ containers: [] }), expected: noCpu },
    { name: 'containers that are no list', value: item({ containers: {} }), expected: noCpu },
    {
      name: 'one container of two without CPU',
      value: item({ containers: [container('1'), { name: 'b', usage: { memory: '1Mi' } }] }),
      expected: noCpu,
    },
    { name: 'CPU as a number', value: item({ containers: [container(1)] }), expected: noCpu },
    { name: 'CPU that is no quantity', value: item({ containers: [container('lots')] }), expected: noCpu },
    { name: 'negative CPU', value: item({ containers: [container('-1m')] }), expected: noCpu },
    { name: 'CPU beyond reason', value: item({ containers: [container('1e300')] }), expected: noCpu },
    { name: 'no timestamp', value: item({ timestamp: null }), expected: { problem: 'no timestamp', pod: 'web-0' } },
    {
      name: "Go's zero time",
      value: item({ timestamp: '0001-01-01T00:00:00Z' }),
      expected: { problem: 'no timestamp', pod: 'web-0' },
    },
    { name: 'no window', value: item({ window: undefined }), expected: { problem: 'no window', pod: 'web-0' } },
    { name: 'a window of nothing', value: item({ window: '0s' }), expected: { problem: 'no window', pod: 'web-0' } },
    {
      name: 'a window beyond reason',
      value: item({ window: '61m' }),
      expected: { problem: 'a window of more than an hour', pod: 'web-0' },
    },
    { name: 'a negative window', value: item({ window: '-15s' }), expected: { problem: 'no window', pod: 'web-0' } },
    {
      name: 'a window that is a number',
      value: item({ window: 15 }),
      expected: { problem: 'no window', pod: 'web-0' },
    },
  ]) {
    it(`refuses ${name}`, () => {
      expect(readPodMetrics(value)).to.deep.equal(expected);
    });
  }

  for (const { name, text, seconds } of [
    { name: 'seconds in UTC', text: '2026-01-01T00:00:30Z', seconds: STAMP },
    { name: 'milliseconds', text: '2026-01-01T00:00:30.250Z', seconds: STAMP + 0.25 },
    { name: 'nanoseconds', text: '2026-01-01T00:00:30.250000000Z', seconds: STAMP + 0.25 },
    { name: 'microseconds, as MicroTime', text: '2026-01-01T00:00:30.250000Z', seconds: STAMP + 0.25 },
    { name: 'an offset', text: '2026-01-01T02:00:30+02:00', seconds: STAMP },
    { name: 'a date alone', text: '2026-01-01', seconds: undefined },
    { name: 'a time without zone', text: '2026-01-01T00:00:30', seconds: undefined },
    { name: 'a month that is none', text: '2026-13-01T00:00:30Z', seconds: undefined },
    { name: 'what only Date.parse takes', text: 'Thu, 01 Jan 2026 00:00:30 GMT', seconds: undefined },
    { name: 'the epoch', text: '1970-01-01T00:00:00Z', seconds: undefined },
    { name: 'a number', text: 5, seconds: undefined },
  ]) {
    it(`timestamp: ${name}`, () => {
      expect(parseTimestamp(text)).to.equal(seconds);
    });
  }
});

describe('usage table', () => {
  const NOW = 1_800_000_000;
  const usage = (stamp: number, cores = 1) => ({ pod: 'a', cores, stamp, window: 15 });

  const known: KnownUsage = { cores: 1, window: 15, stamp: NOW - 20, sampledAt: NOW - 20 };
  for (const { name, stamp, newer } of [
    { name: 'a later timestamp', stamp: NOW - 5, newer: true },
    { name: 'the same timestamp', stamp: NOW - 20, newer: false },
    { name: 'an earlier one, of another replica', stamp: NOW - 35, newer: false },
  ]) {
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
