// SPDX-License-Identifier: Apache-2.0
// The alert rules of the chart, and the one that the page about evacuations shows, checked and unit-tested by promtool.
// Needs: promtool
// Needs no bed.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { alertFiles } from '../../../hack/lib/alerts.ts';
import { yamlBlocks } from '../../support/docs/markdown.ts';
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

  describe('of the page about evacuations', () => {
    const RATIO = 'zone:client_errors:ratio5m';
    const lossy = (zone: string) => ({
      labels: `ALERTS{alertname="ZoneLossy", alertstate="firing", severity="critical", zone="${zone}"}`,
      value: 1,
    });
    const cases = [
      { name: 'fires for the one zone that is lossy', values: { a: '0.2', b: '0.01', c: '0' }, fires: [lossy('a')] },
      { name: 'is quiet where all zones are well', values: { a: '0.01', b: '0.01', c: '0' }, fires: [] },
      {
        name: 'is quiet where two zones are, as by a fault of the application',
        values: { a: '0.2', b: '0.3' },
        fires: [],
      },
    ];
    const rule = yamlBlocks('docs/operations/evacuate.md').find((text) => text.includes('ZoneLossy')) ?? '';

    for (const { name, values, fires } of cases)
      it(name, async () => {
        writeFileSync(join(folder, 'page.yaml'), rule);
        const input_series = Object.entries(values).map(([zone, value]) => ({
          series: `${RATIO}{zone="${zone}"}`,
          values: `${value}x10`,
        }));
        const firing = { expr: 'ALERTS{alertstate="firing"}', eval_time: '4m', exp_samples: fires };
        const early = { expr: 'ALERTS{alertstate="firing"}', eval_time: '1m', exp_samples: [] };
        const test = { interval: '1m', input_series, promql_expr_test: [early, firing] };
        const file = join(folder, 'page-test.yaml');
        writeFileSync(
          file,
          JSON.stringify({ rule_files: [join(folder, 'page.yaml')], evaluation_interval: '1m', tests: [test] }),
        );
        expect(await run('promtool', ['check', 'rules', join(folder, 'page.yaml')])).to.contain('SUCCESS: 1 rules');
        expect(await run('promtool', ['test', 'rules', file])).to.contain('SUCCESS');
      });
  });

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
