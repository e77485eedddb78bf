// SPDX-License-Identifier: Apache-2.0
// What a run of the closed-loop suite has to show: which figures fail it, and what it then says.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { AFTER, BEFORE, REACTED, REACTING } from '../../e2e/closed-loop-scenarios.ts';
import type { Figures, ScenarioRun } from '../../e2e/closed-loop-types.ts';
import { findingsOf, isDisturbed } from '../../e2e/closed-loop-verdict.ts';

const figures = (overrides: Partial<Figures> = {}): Figures => ({
  sent: 1000,
  errors: 0,
  crossZone: 0,
  p50Ms: 21,
  p99Ms: 50,
  zones: [],
  overloadedSeconds: 0,
  endpointSeconds: 100,
  ...overrides,
});

type Phases = Readonly<Record<string, Figures>>;

const everywhere = (one: Figures): Phases => ({ [BEFORE]: one, [REACTING]: one, [REACTED]: one, [AFTER]: one });

const strained: Phases = {
  ...everywhere(figures()),
  [REACTING]: figures({ errors: 0.12, overloadedSeconds: 30 }),
  [REACTED]: figures({ errors: 0.12, overloadedSeconds: 30 }),
};

const good: Phases = {
  ...everywhere(figures()),
  [REACTING]: figures({ errors: 0.05, overloadedSeconds: 10, crossZone: 0.3 }),
  [REACTED]: figures({ crossZone: 0.4 }),
};

interface Overrides extends Partial<Omit<ScenarioRun, 'strategies'>> {
  readonly loadAware?: Phases;
  readonly sameZone?: Phases;
}

const run = ({ loadAware = good, sameZone = strained, ...more }: Overrides = {}): ScenarioRun => ({
  scenario: 'hot-zone',
  title: 'zone a is hot',
  metrics: 'metrics.k8s.io',
  watched: 'a',
  longLivedShare: 0,
  phases: [],
  binSeconds: 2,
  load: [],
  busy: 0.5,
  lateMs: 20,
  ...more,
  strategies: Object.entries({
    spread: everywhere(figures({ crossZone: 0.67 })),
    auto: sameZone,
    'same-zone': sameZone,
    'load-aware': loadAware,
  }).map(([strategy, phases]) => ({
    strategy,
    phases,
    series: { crossZone: [], p99Ms: [], errors: [] },
    changes: [],
  })),
});

describe('the verdict on a run', () => {
  it('has nothing to say where the loop spills, keeps to its zone otherwise, and returns', () => {
    expect(findingsOf(run())).to.deep.equal([]);
  });

  const cases: readonly { name: string; overrides: Overrides; finding: RegExp }[] = [
    { name: 'a machine without room', overrides: { busy: 0.81 }, finding: /^the machine was busy: 81\.0 %/ },
    {
      name: 'a scenario that strains nothing',
      overrides: { sameZone: everywhere(figures()), loadAware: everywhere(figures()) },
      finding: /^same-zone has only 0\.0 % errors/,
    },
    {
      name: 'traffic between zones without need',
      overrides: { loadAware: { ...good, [BEFORE]: figures({ crossZone: 0.05 }) } },
      finding: /^before: cross-zone: 5\.0 %/,
    },
    {
      name: 'a loop that reacts too late',
      overrides: { loadAware: { ...good, [REACTING]: figures({ errors: 0.13 }) } },
      finding: /^reacting: errors: 13\.0 %, at most 12\.0 %/,
    },
    {
      name: 'a loop that reacts too late to samples of every second',
      overrides: { metrics: 'Prometheus', loadAware: { ...good, [REACTING]: figures({ errors: 0.02 }) } },
      finding: /^reacting: errors: 2\.0 %, at most 1\.0 %/,
    },
    {
      name: 'errors that stay',
      overrides: { loadAware: { ...good, [REACTED]: figures({ errors: 0.04, crossZone: 0.4 }) } },
      finding: /^reacted: errors: 4\.0 %, at most 3\.0 %/,
    },
    {
      name: 'overload that stays',
      overrides: { loadAware: { ...good, [REACTED]: figures({ overloadedSeconds: 15, crossZone: 0.4 }) } },
      finding: /^reacted: overload: 15\.0 %, at most 10\.5 %/,
    },
    {
      name: 'a loop that crosses zones as much as no hints do',
      overrides: { loadAware: { ...good, [REACTED]: figures({ crossZone: 0.66 }) } },
      finding: /^reacted: cross-zone: 66\.0 %/,
    },
    {
      name: 'a loop that does not return',
      overrides: { loadAware: { ...good, [AFTER]: figures({ crossZone: 0.3 }) } },
      finding: /^after: cross-zone: 30\.0 %/,
    },
  ];
  for (const { name, overrides, finding } of cases) {
    it(`names ${name}`, () => {
      const findings = findingsOf(run(overrides));
      expect(findings[0]).to.match(finding);
    });
  }

  it('gives connections that stay more time to move, and to return', () => {
    const loadAware = { ...good, [REACTING]: figures({ errors: 0.025 }), [AFTER]: figures({ crossZone: 0.3 }) };
    expect(findingsOf(run({ metrics: 'Prometheus', loadAware, longLivedShare: 0.7 }))).to.deep.equal([]);
  });

  it('cannot be had without figures', () => {
    expect(() => findingsOf({ ...run(), strategies: [] })).to.throw('hot-zone: no figures of same-zone in reacted');
  });
});

describe('a machine that disturbed a run', () => {
  const failing: Overrides = { loadAware: { ...good, [BEFORE]: figures({ errors: 0.05 }) } };
  for (const { name, overrides, disturbed } of [
    { name: 'has had too much to do', overrides: { busy: 0.81 }, disturbed: true },
    {
      name: 'held a program up, and the figures are not as they have to be',
      overrides: { ...failing, lateMs: 501 },
      disturbed: true,
    },
    { name: 'is not to blame where no program stood still', overrides: { ...failing, lateMs: 500 }, disturbed: false },
    { name: 'may hold a program up where all is well nevertheless', overrides: { lateMs: 5_000 }, disturbed: false },
  ]) {
    it(name, () => expect(isDisturbed(run(overrides))).to.equal(disturbed));
  }
});
