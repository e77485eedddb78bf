// SPDX-License-Identifier: Apache-2.0
// The tables of the closed-loop suite: what a reader finds in which cell.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { describeChanges, describeRun, formatRun, formatSummary } from '../../e2e/closed-loop-table.ts';
import type { Figures, ScenarioRun } from '../../e2e/closed-loop-types.ts';

const figures = (overrides: Partial<Figures> = {}): Figures => ({
  sent: 1000,
  errors: 0.123,
  crossZone: 0.067,
  p50Ms: 21,
  p99Ms: 50,
  zones: [
    { zone: 'a', sent: 900, errors: 0, crossZone: 0, p50Ms: 20.6, p99Ms: 329.4 },
    { zone: 'b', sent: 0, errors: 0, crossZone: 0, p50Ms: null, p99Ms: null },
  ],
  overloadedSeconds: 90,
  endpointSeconds: 600,
  ...overrides,
});

const run: ScenarioRun = {
  scenario: 'hot-zone',
  title: 'zone a is hot',
  metrics: 'Prometheus',
  watched: 'a',
  longLivedShare: 0,
  phases: [
    { name: 'warm-up', from: 0, to: 5, demand: { a: 1 }, warmUp: true },
    { name: 'reacted', from: 5, to: 20, demand: { a: 180, b: 40 }, warmUp: false },
  ],
  binSeconds: 2,
  load: [],
  busy: 0.314,
  lateMs: 20,
  strategies: ['spread', 'load-aware'].map((strategy, index) => ({
    strategy,
    phases: { reacted: figures({ errors: index === 0 ? 0.123 : 0 }) },
    series: { crossZone: [], p99Ms: [], errors: [] },
    changes: index === 0 ? [] : [{ at: 31, reason: 'Saturated' }],
  })),
};

describe('the tables of the closed-loop suite', () => {
  it('have a line for each measured phase and strategy, and a column for each zone', () => {
    expect(formatRun(run).split('\n')).to.deep.equal([
      '|  |  | errors | cross-zone | overloaded endpoint-minutes | p50 / p99 from a | p50 / p99 from b |',
      '| --- | --- | ---: | ---: | ---: | ---: | ---: |',
      '| reacted | spread | 12 % | 6.7 % | 1.5 of 10 | 21 ms / 330 ms | – |',
      '| reacted | load-aware | 0 % | 6.7 % | 1.5 of 10 | 21 ms / 330 ms | – |',
    ]);
  });

  it('say what was run, on how busy a machine', () => {
    expect(describeRun(run)).to.equal(
      'Metrics through Prometheus. Requests a second: reacted (15 s): a 180, b 40. The machine was 31 % busy.',
    );
  });

  it('say when and why hints were changed', () => {
    expect(describeChanges(run)).to.equal('The flow controller changed hints after 31 s (Saturated).');
    expect(describeChanges({ ...run, strategies: [] })).to.equal('The flow controller changed no hints.');
  });

  it('sum up every run by what each strategy comes to', () => {
    expect(formatSummary([run]).split('\n')).to.deep.equal([
      '| what happens |  | spread | load-aware |',
      '| --- | --- | ---: | ---: |',
      '| zone a is hot (Prometheus) | errors | 12 % | 0 % |',
      '|  | cross-zone | 6.7 % | 6.7 % |',
      '|  | p99 from a | 330 ms | 330 ms |',
    ]);
  });
});
