// What the runner of the end-to-end suites says of them and of their results.
import { expect } from 'chai';
import { afterEach, describe, it } from 'mocha';
import { longForms } from '../../e2e/results.ts';
import {
  closingLine,
  exitCodeOf,
  formatFailures,
  formatSeconds,
  formatSummary,
  leftToSoak,
  listSuites,
  missingForSuite,
  needsBed,
  selectSuites,
  totalOf,
} from '../../e2e/runner.ts';
import type { SuiteResult } from '../../e2e/runner.ts';

const results: readonly SuiteResult[] = [
  { suite: 'bed', counts: { passed: 23, failed: 0, skipped: 0 }, failures: [], seconds: 40.6 },
  {
    suite: 'hints-churn',
    counts: { passed: 4, failed: 1, skipped: 2 },
    failures: ['FAILED hints: why'],
    seconds: 144.2,
  },
];

describe('results of the end-to-end suites', () => {
  it('are summed up in a table with the time of each', () => {
    expect(formatSummary(results).split('\n')).to.deep.equal([
      'suite        passed  failed  skipped        time',
      'bed              23       0        0        41 s',
      'hints-churn       4       1        2  2 min 24 s',
      'all              27       1        2  3 min 05 s',
    ]);
  });

  it('name what failed', () => {
    expect(formatFailures(results)).to.equal('FAILED hints: why\n');
    expect(formatFailures(results.slice(0, 1))).to.equal('');
  });

  it('end with one line', () => {
    expect(closingLine(totalOf(results))).to.equal('27 passed, 1 failed, 2 skipped');
    expect(closingLine(totalOf([]))).to.equal('0 passed, 0 failed, 0 skipped');
  });

  for (const { name, seconds, text } of [
    { name: 'nothing', seconds: 0, text: '0 s' },
    { name: 'just under a minute, rounded up', seconds: 59.6, text: '1 min 00 s' },
    { name: 'an hour', seconds: 3_600, text: '60 min 00 s' },
  ]) {
    it(`give ${name} as "${text}"`, () => expect(formatSeconds(seconds)).to.equal(text));
  }
});

describe('a run of the end-to-end suites', () => {
  for (const { name, failed = 0, skipped = 0, missing = [], code } of [
    { name: 'succeeds when all passed', code: 0 },
    { name: 'fails with a test', failed: 1, code: 1 },
    { name: 'fails with a test also where something is missing', failed: 1, missing: ['root'], code: 1 },
    { name: 'fails with a skipped test where nothing is missing', skipped: 1, code: 1 },
    { name: 'succeeds with skipped tests where something is missing', skipped: 9, missing: ['root'], code: 0 },
  ]) {
    it(name, () => expect(exitCodeOf({ passed: 3, failed, skipped }, missing)).to.equal(code));
  }
});

describe('what an end-to-end suite needs beside a bed', () => {
  const { PATH: path } = process.env;
  afterEach(() => {
    process.env['PATH'] = path;
  });

  it('is no bed for the page of an audit, which needs a browser only', () => {
    expect(needsBed('audit')).to.equal(false);
    expect(needsBed('hints')).to.equal(true);
    process.env['PATH'] = '/nonexistent';
    expect(missingForSuite('audit')).to.deep.equal([
      'not on PATH: chromium (Debian: apt-get install chromium), for the suite audit',
    ]);
  });

  it('is nothing for most suites', () => {
    process.env['PATH'] = '/nonexistent';
    expect(missingForSuite('hints')).to.deep.equal([]);
  });
});

describe('selection of the end-to-end suites', () => {
  it('takes all when none is named, else those named in their order', () => {
    expect(selectSuites([])).to.include.members(['bed', 'versions']);
    expect(selectSuites(['versions', 'bed'])).to.deep.equal(['versions', 'bed']);
  });

  it('leaves to make soak what only its long form is worth, unless it is named', () => {
    expect(leftToSoak()).to.include('scale');
    expect(selectSuites([])).to.not.include('scale');
    expect(selectSuites(['scale'])).to.deep.equal(['scale']);
    expect(longForms, 'each is in make soak').to.include.keys(leftToSoak());
    expect(selectSuites(Object.keys(longForms)), 'and only suites that exist').to.deep.equal(Object.keys(longForms));
  });

  it('takes all whose names begin with one that is no suite itself', () => {
    expect(selectSuites(['attack'])).to.include('attack-taken-over');
    expect(selectSuites(['hints']), 'a suite itself').to.deep.equal(['hints']);
  });

  it('refuses what there is not and names what there is', () => {
    expect(() => selectSuites(['bed', 'bad', 'worse'])).to.throw(
      /^no suite bad, worse; suites: (.*, )?audit, .*bed, build, .*versions(, .*)?$/,
    );
  });

  it('lists each with the sentence that its file begins with', () => {
    const lines = listSuites().split('\n');
    expect(lines).to.have.lengthOf(selectSuites([]).length + leftToSoak().length);
    for (const line of lines) expect(line).to.match(/^[a-z-]+ {2,}\S.{20,}/);
  });
});
