// SPDX-License-Identifier: Apache-2.0
// The alert rules of the chart, checked and unit-tested by promtool.
// Needs: promtool
// Needs no bed.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { alertFiles } from '../../../hack/lib/alerts.ts';
import { run } from '../bed/command.ts';
import { root } from '../chart.ts';

describe('alerts', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'alerts-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  for (const { about, path, rules, records } of alertFiles()) {
    it(`of ${about} are rules that promtool understands`, async () => {
      const output = await run('promtool', ['check', 'rules', '--lint=all', '--lint-fatal', join(root, path)]);
      expect(output).to.contain(`SUCCESS: ${rules.length + records} rules found`);
    });

    it(`of ${about} fire when they should, and only then`, async () => {
      const output = await run('promtool', ['test', 'rules', join(root, 'test/fixtures/alerts', `${about}.yaml`)]);
      expect(output).to.contain('SUCCESS');
    });
  }

  it('would fail this suite where they do not: promtool is asked for an alert that nothing fires', async () => {
    const [{ path } = { path: '' }] = alertFiles();
    const file = join(folder, 'wrong.yaml');
    const test = {
      interval: '1m',
      input_series: [],
      promql_expr_test: [
        { expr: 'ALERTS', eval_time: '5m', exp_samples: [{ labels: 'ALERTS{alertname="Never"}', value: 1 }] },
      ],
    };
    writeFileSync(file, JSON.stringify({ rule_files: [join(root, path)], evaluation_interval: '1m', tests: [test] }));
    const refusal = await run('promtool', ['test', 'rules', file]).then(
      () => 'passed',
      (error: unknown) => String(error),
    );
    expect(refusal).to.match(/FAILED|exited|Command failed/);
  });
});
