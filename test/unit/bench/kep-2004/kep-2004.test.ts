// SPDX-License-Identifier: Apache-2.0
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { scoreCeiling, scoreGroups } from '../../../bench/kep-2004/by-score.ts';
import { casesOf, GRID_CASES, sections } from '../../../bench/kep-2004/grid.ts';
import type { Case, Section } from '../../../bench/kep-2004/grid.ts';
import { deviationScore, measure, scoreOf } from '../../../bench/kep-2004/measure.ts';
import { parseOptions } from '../../../bench/kep-2004/options.ts';
import { runPass } from '../../../bench/kep-2004/pass.ts';
import { checksOf, ordinal, resultsOf } from '../../../bench/kep-2004/results.ts';
import { problemOf, upstreamGroups } from '../../../bench/kep-2004/strategies.ts';
import { addTally, emptyTally, tallySection } from '../../../bench/kep-2004/tally.ts';
import { sameZoneGroups, spreadGroups } from '../../../../pkg/flow/problem.ts';

const item = (nodes: Case['nodes'], endpoints: Case['endpoints']): Case => ({ nodes, endpoints });

describe('bench/kep-2004: the grid', () => {
  const all = sections();

  it('has 39,273,145 cases, as published', () => {
    expect(all.reduce((sum, { cases }) => sum + cases, 0)).to.equal(GRID_CASES);
    expect(all).to.have.length(221);
    expect(all.at(-1)).to.deep.include({ nodes: [30, 30, 30], cases: 366_145 });
  });

  it('lists as many cases as each section says, none without endpoints', () => {
    const section = all[3]!;
    let [count, empty] = [0, 0];
    for (const { endpoints } of casesOf(section, 1)) {
      count += 1;
      if (endpoints[2] === 0) empty += 1;
    }
    expect([count, empty]).to.deep.equal([section.cases, 0]);
  });

  it('takes every n-th case of the whole grid, across sections', () => {
    const every = 4001;
    let taken = 0;
    for (const section of all) for (const _ of casesOf(section, every)) taken += 1;
    expect(taken).to.equal(Math.ceil(GRID_CASES / every));
    const small: Section = { nodes: [1, 1, 1], choices: [0, 1, 2], first: 5, cases: 9 };
    const whole = [...casesOf(small, 1)];
    expect([...casesOf(small, 4)]).to.deep.equal([whole[3], whole[7]]);
  });
});

describe('bench/kep-2004: the contenders', () => {
  it('measures share and deviation as the simulator does', () => {
    const problem = problemOf(item([1, 1, 1], [2, 2, 4]), 0.2);
    const own = measure(problem, sameZoneGroups(problem)!);
    expect(own.inZone).to.equal(1);
    expect(own.maxDeviation).to.be.closeTo(1 / 3, 1e-12);
    expect(own.meanDeviation).to.be.closeTo(1 / 3, 1e-12);
    expect(deviationScore(own)).to.be.closeTo(100 - 100 / 3, 1e-9);
    expect(scoreOf(own)).to.be.closeTo(45 + 0.4 * (100 - 100 / 3) + 15, 1e-9);
    const spread = measure(problem, spreadGroups(problem));
    expect(spread).to.deep.equal({ inZone: 1 / 3, maxDeviation: 0, meanDeviation: 0 });
  });

  it('shows upstream’s overload of 112 % for shares 1:6:10 and endpoints 1, 1, 4', () => {
    const found = item([1, 6, 10], [1, 1, 4]);
    const problem = problemOf(found, 0);
    expect(measure(problem, upstreamGroups(found, problem)!).maxDeviation).to.be.closeTo(1.118, 0.001);
  });

  it('has no hints of upstream where that gives none', () => {
    const found = item([1, 1, 1], [1, 1, 2]);
    expect(upstreamGroups(found, problemOf(found, 0))).to.equal(undefined);
  });

  it('searches by score: never below upstream or spread, never above the ceiling', () => {
    const cases = [
      item([1, 6, 10], [1, 1, 4]),
      item([1, 2, 2], [3, 4, 9]),
      item([2, 3, 5], [0, 20, 41]),
      item([1, 1, 1], [0, 0, 1]),
    ];
    for (const found of cases) {
      const problem = problemOf(found, 0);
      const score = scoreOf(measure(problem, scoreGroups(found)));
      const others = [upstreamGroups(found, problem) ?? spreadGroups(problem), spreadGroups(problem)];
      for (const groups of others) expect(score).to.be.at.least(scoreOf(measure(problem, groups)) - 1e-9);
      expect(score).to.be.at.most(scoreCeiling(problem) + 1e-9);
    }
  });
});

describe('bench/kep-2004: a pass', () => {
  const work = { every: 40_009, thetas: [0.2, 0.5], byScore: false };

  it('adds sections up to the published mean of spread, rebuilt or published', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'kep-2004-'));
    try {
      const resumeFile = join(folder, 'resume.jsonl');
      const lines: string[] = [];
      const report = (line: string): void => void lines.push(line);
      const total = await runPass({ work, threads: 2, resumeFile, report });
      expect(total.cases).to.equal(Math.ceil(GRID_CASES / work.every));
      expect(total.spread.inZone / total.cases).to.be.closeTo(38.84, 0.3);
      const alone = emptyTally(work);
      for (const section of sections()) addTally(alone, tallySection(section, work));
      expect(total.plans['0.2']!.inZone).to.be.closeTo(alone.plans['0.2']!.inZone, 1e-6);
      expect(total.upstream.worst).to.equal(alone.upstream.worst);

      // A line that an interruption cut off, and one of other work, change nothing.
      const other = readFileSync(resumeFile, 'utf8').split('\n')[0]!.replace('[40009', '[40010');
      appendFileSync(resumeFile, `${other}\n{"work":"[400`);
      // A section that is missing is computed again.
      const rows = readFileSync(resumeFile, 'utf8').split('\n');
      writeFileSync(resumeFile, rows.slice(1).join('\n'));
      const again = await runPass({ work, threads: 2, resumeFile, report });
      expect(again.cases).to.equal(total.cases);
      expect(again.plans['0.5']!.inZone).to.be.closeTo(total.plans['0.5']!.inZone, 1e-6);
      expect(lines.some((line) => line.startsWith('220 sections were finished before'))).to.equal(true);
      await runPass({ work, threads: 2, resumeFile, report });
      expect(lines.at(-1)).to.equal(`221 sections were finished before: ${resumeFile}`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  }).timeout(120_000);

  it('checks what the planner must reach', () => {
    const tally = emptyTally({ ...work, byScore: true });
    addTally(tally, tallySection(sections()[7]!, { ...work, every: 2_003, byScore: true }));
    const results = resultsOf(tally, 2_003);
    const { planMicroseconds } = results;
    expect(planMicroseconds).to.be.greaterThan(0);
    const plan = results.plans.find(({ theta }) => theta === 0.2)!;
    const broken = { ...results, plans: [{ ...plan, above: 1, inZone: plan.lp - 0.4 }] };
    const verdicts = (grid: typeof results): boolean[] => checksOf({ grid, sample: grid }).map(({ holds }) => holds);
    expect(verdicts(results).slice(1, 3)).to.deep.equal([true, true]);
    expect(verdicts(broken).slice(0, 2)).to.deep.equal([false, false]);
  });
});

describe('bench/kep-2004: words', () => {
  it('counts in English', () => {
    expect([1, 2, 3, 4, 11, 12, 13, 401, 4_001, 1_112].map(ordinal).join(' ')).to.equal(
      '1st 2nd 3rd 4th 11th 12th 13th 401st 4001st 1112th',
    );
  });
});

describe('bench/kep-2004: options', () => {
  it('computes everything unless asked otherwise', () => {
    expect(parseOptions([])).to.deep.include({ kind: 'run' });
    expect(parseOptions(['--every', '401', '--threads', '1', '--resume', 'x', '--keep'])).to.deep.equal({
      kind: 'run',
      options: { every: 401, threads: 1, resumeFile: 'x', keep: true },
    });
    expect(parseOptions(['--help'])).to.deep.equal({ kind: 'help' });
  });

  for (const [args, message] of [
    [['--every', '0'], '--every takes a whole number above 0, got 0'],
    [['--threads', 'two'], '--threads takes a whole number above 0, got two'],
    [['--fast'], '--fast'],
  ] as const) {
    it(`refuses ${args.join(' ')}`, () => {
      const parsed = parseOptions(args);
      expect(parsed).to.have.property('kind', 'wrong');
      expect(parsed).to.have.property('message').that.includes(message);
    });
  }
});
