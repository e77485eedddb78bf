// SPDX-License-Identifier: Apache-2.0
// From seconds of traffic to what the suite evacuate-traffic says of a zone that is left.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { TrafficReport } from '../../e2e/closed-loop-protocol.ts';
import { busiestIn, figuresIn, formatDrills, newestIn } from '../../e2e/evacuate-traffic-figures.ts';
import type { DrillRun, PhaseFigures } from '../../e2e/evacuate-traffic-figures.ts';

const report = (zone: string, byZone: Record<string, number>, served: number): TrafficReport => ({
  zone,
  second: 1,
  lateMs: 0,
  clients: {
    web: {
      sent: 10,
      byZone,
      errors: { ETIMEDOUT: 1 },
      latencies: {},
      newest: Object.fromEntries(Object.keys(byZone).map((name, index) => [name, 1_000 + index])),
    },
  },
  pods: { [`web-${zone}`]: { service: 'web', served, refused: 0, filled: 0 } },
});
const REPORTS = [report('a', { b: 6, a: 2 }, 0), report('b', { b: 8 }, 15), report('c', {}, 15)];

describe('figures of an evacuation', () => {
  it('are requests, errors, and the share of answers that came from the zone', () => {
    const { requests, errors, there, p99Ms } = figuresIn(REPORTS, 'web', 'a');
    expect({ requests, errors, there, p99Ms }).to.deep.equal({ requests: 30, errors: 3, there: 2 / 16, p99Ms: null });
  });

  it('know the newest connection that the zone answered, and that it answered none', () => {
    expect(newestIn(REPORTS, 'web', 'a')).to.equal(1_001);
    expect(newestIn(REPORTS, 'web', 'c')).to.equal(undefined);
  });

  it('compare the busiest zone with a fair share of all zones, one that serves nothing included', () => {
    expect(busiestIn(REPORTS, 'web')).to.equal(1.5);
  });

  it('say of a Service that is not moved that connections never ended', () => {
    const phase: PhaseFigures = { requests: 10, errors: 0, p50Ms: 1, p99Ms: null, there: 0 };
    const run: DrillRun = {
      title: 'A drill',
      ways: [
        { service: 'moved', phases: { before: phase }, lastMs: 1_110 },
        { service: 'nothing', phases: { before: phase }, lastMs: null },
      ],
      commandMs: { evacuate: 600, return: 100 },
      busiest: { forecast: 1.5, measured: 1.49 },
      lateMs: 0,
    };
    const environment = {
      date: '2026-11-22',
      node: '24',
      v8: '',
      kernel: '',
      cpu: 'one',
      cores: 2,
      memoryGib: 8,
      loadAverage: { begin: 1, end: 1 },
    };
    const text = formatDrills({
      environment,
      kubernetes: 'v1.36.3',
      lostPerThousand: 100,
      slowMs: 150,
      rate: 30,
      runs: [run],
    });
    expect(text)
      .to.contain('moved 1.11 s, nothing never')
      .and.to.contain('| before | nothing | 0 of 10 | 1 ms | – | 0 % |');
  });
});
