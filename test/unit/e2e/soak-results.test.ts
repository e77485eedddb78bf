// SPDX-License-Identifier: Apache-2.0
// The record of the long forms: which run of a suite it keeps, and how the docs show it.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { formatSoak, longForms, readSoak, withEntries } from '../../e2e/soak-results.ts';
import type { SoakEntry } from '../../e2e/soak-results.ts';
import { leftToSoak, selectSuites } from '../../e2e/runner.ts';

const entry = (overrides: Partial<SoakEntry> = {}): SoakEntry => ({
  suite: 'versions',
  date: '2026-01-31',
  seconds: 125,
  counts: { passed: 41, failed: 0, skipped: 0 },
  versions: 'all',
  ...overrides,
});

describe('results of a soak', () => {
  it('has long forms of suites only that exist', () => {
    expect(selectSuites(Object.keys(longForms))).to.deep.equal(Object.keys(longForms));
  });

  it('has one of every suite that is left to it', () => {
    expect(longForms).to.include.keys(leftToSoak());
  });

  it('replace those of the same suite and keep the others, by name', () => {
    const known = [entry(), entry({ suite: 'day', date: '2026-01-01' })];
    expect(withEntries(known, [entry({ date: '2026-02-01' }), entry({ suite: 'chaos' })])).to.deep.equal([
      entry({ suite: 'chaos' }),
      entry({ suite: 'day', date: '2026-01-01' }),
      entry({ date: '2026-02-01' }),
    ]);
  });

  it('stand in a table with date, versions, time and outcome', () => {
    const row = formatSoak([entry()])
      .split('\n')
      .find((line) => line.startsWith('| versions'));
    expect(row).to.match(/ \| 2026-01-31, all \| 2 min 05 s \| 41 passed, 0 failed, 0 skipped \|$/);
  });

  it('say of a suite that no run was kept', () => {
    const rows = formatSoak([entry()]).split('\n').slice(2);
    expect(rows).to.have.lengthOf(Object.keys(longForms).length);
    expect(rows.filter((row) => row.endsWith('| – | – | no run kept |'))).to.have.lengthOf(rows.length - 1);
  });

  it('are none where there is no file', () => expect(readSoak('/nonexistent/soak.json')).to.deep.equal([]));
});
