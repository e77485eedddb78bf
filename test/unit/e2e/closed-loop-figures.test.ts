// SPDX-License-Identifier: Apache-2.0
// From seconds of traffic to figures: whose requests count where, and what counts as overload.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { binsOf, loadOf, measureService, seriesOf } from '../../e2e/closed-loop-figures.ts';
import { addLatency } from '../../e2e/closed-loop-latency.ts';
import type { ClientSecond, PodSecond, TrafficReport } from '../../e2e/closed-loop-protocol.ts';

const client = (overrides: Partial<ClientSecond> = {}, latencies: readonly number[] = []): ClientSecond => {
  const counts = {};
  for (const ms of latencies) addLatency(counts, ms);
  return { sent: 0, byZone: {}, errors: {}, latencies: counts, newest: {}, ...overrides };
};

const pod = (overrides: Partial<PodSecond> = {}): PodSecond => ({
  service: 'web',
  served: 10,
  refused: 0,
  filled: 0,
  ...overrides,
});

const report = (zone: string, second: number, overrides: Partial<TrafficReport> = {}): TrafficReport => ({
  zone,
  second,
  lateMs: 0,
  clients: {},
  pods: {},
  ...overrides,
});

describe('figures of a Service', () => {
  const reports = [
    report('a', 1, {
      clients: { web: client({ sent: 10, byZone: { a: 6, b: 2 }, errors: { ETIMEDOUT: 2 } }, [20, 20, 20, 200]) },
      pods: { 'web-a': pod({ refused: 1 }), 'api-a': pod({ service: 'api', filled: 1 }) },
    }),
    report('b', 1, {
      clients: {
        web: client({ sent: 10, byZone: { b: 10 }, errors: { REFUSED: 5 } }, [10]),
        api: client({ sent: 99 }),
      },
      pods: { 'web-b': pod({ filled: 0.5 }) },
    }),
    report('a', 2, { pods: { 'web-a': pod({ filled: 0.48 }) } }),
    report('b', 2),
  ];
  const figures = measureService(reports, 'web');

  it('count the requests of all zones, and those without a good answer', () => {
    expect(figures.sent).to.equal(20);
    expect(figures.errors).to.equal(7 / 20);
    expect(figures.zones.map(({ zone, errors }) => [zone, errors])).to.deep.equal([
      ['a', 0.2],
      ['b', 0.5],
    ]);
  });

  it('take for cross-zone what reached another zone, of what reached any', () => {
    expect(figures.crossZone).to.equal(2 / 18);
    expect(figures.zones.map(({ crossZone }) => crossZone)).to.deep.equal([0.25, 0]);
  });

  it('have latencies of good answers by zone', () => {
    const [a] = figures.zones;
    expect(a?.p50Ms).to.be.within(20, 21);
    expect(a?.p99Ms).to.be.within(200, 210);
    expect(figures.p50Ms).to.be.within(20, 21);
  });

  it('count a second of an endpoint as overloaded when it refused or half of its places were taken', () => {
    expect(figures.overloadedSeconds).to.equal(2);
    expect(figures.endpointSeconds).to.equal(4);
  });

  it('are nothing where nothing was sent', () => {
    expect(measureService([report('a', 1)], 'web')).to.deep.equal({
      sent: 0,
      errors: 0,
      crossZone: 0,
      p50Ms: null,
      p99Ms: null,
      zones: [{ zone: 'a', sent: 0, errors: 0, crossZone: 0, p50Ms: null, p99Ms: null }],
      overloadedSeconds: 0,
      endpointSeconds: 0,
    });
  });
});

describe('series of a Service', () => {
  const reports = Array.from({ length: 5 }, (_, second) => [
    report('a', second, {
      clients: { web: client({ sent: 4 + second, byZone: { a: 3, b: 1 }, errors: { REFUSED: 1 } }, [20]) },
    }),
    report('b', second, { clients: { web: client({ sent: 100, byZone: { b: 4 } }) } }),
  ]).flat();
  const bins = binsOf(reports, { from: 0, to: 5, binSeconds: 2 });

  it('have whole bins only', () => {
    expect(bins.map((bin) => [...new Set(bin.map(({ second }) => second))])).to.deep.equal([
      [0, 1],
      [2, 3],
    ]);
  });

  it('show traffic between zones of all, latency and errors of the watched zone', () => {
    const { crossZone, p99Ms, errors } = seriesOf(bins, 'web', 'a');
    expect(crossZone).to.deep.equal([0.125, 0.125]);
    expect(p99Ms.map((ms) => Math.round(ms ?? 0))).to.deep.equal([20, 20]);
    expect(errors).to.deep.equal([0.222, 0.154]);
  });

  it('have no latency where nothing was answered', () => {
    expect(seriesOf(bins, 'web', 'b').p99Ms).to.deep.equal([null, null]);
  });

  it('show the load of the watched zone a second', () => {
    expect(loadOf(bins, 'web', 'a', 2)).to.deep.equal([4.5, 6.5]);
  });
});
