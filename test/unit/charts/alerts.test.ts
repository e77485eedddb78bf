// The alert rules: every one leads to a runbook, speaks of metrics and values that exist, and is shown to fire and to stay quiet.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { parse } from 'yaml';
import { alertFiles } from '../../../hack/lib/alerts.ts';
import { metricsCatalogue } from '../../../hack/lib/metrics-catalogue.ts';
import { unknownNames } from '../../../hack/lib/promql-names.ts';
import { COMMANDS, TRAFFIC_METER } from '../../../pkg/apis/names.ts';
import { OUTCOMES as JUDGED } from '../../../pkg/traffic/hints.ts';
import { REVIEW_OUTCOMES } from '../../../pkg/webhook/metrics.ts';

const root = resolve(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const RUNBOOKS = 'docs/operations/alerts';

const files = alertFiles();
const rules = files.flatMap((file) => file.rules);

/** Literals of a source file: reasons are unions of them, and types leave nothing to import. */
const literalsOf = (path: string): Set<string> =>
  new Set([...read(path).matchAll(/'(\w+)'/g)].map((match) => match[1] ?? ''));

/** Values that the labels of matchers can have. */
const VALUES: Readonly<Record<string, ReadonlySet<string>>> = {
  command: new Set(Object.values(COMMANDS)),
  outcome: new Set([...REVIEW_OUTCOMES, ...JUDGED, ...literalsOf('pkg/kubernetes/controller.ts')]),
  state: new Set([
    ...literalsOf('pkg/controllers/effectiveness/assess.ts'),
    ...literalsOf('pkg/evacuation/progress.ts'),
  ]),
  cause: literalsOf('pkg/controllers/settings/apply.ts'),
  condition: new Set(['Observed', 'Effective', 'Stable']),
  reason: new Set(
    ['pkg/flow/assemble/conditions.ts', 'pkg/diagnosis/models/routes.ts'].flatMap((path) => [...literalsOf(path)]),
  ),
  kind: new Set(['measured', 'predicted']),
};

interface PromtoolTests {
  rule_files: string[];
  tests: { name: string; promql_expr_test: { expr: string; exp_samples: unknown[] }[] }[];
}

describe('the alert rules of the chart', () => {
  it('are there for every command and for all of them', () => {
    const about = [
      'commands',
      COMMANDS.settingsReconciler,
      COMMANDS.endpointSliceWebhook,
      COMMANDS.flowController,
      TRAFFIC_METER,
    ];
    expect(files.map((file) => file.about)).to.have.members(about);
    const names = rules.map(({ alert }) => alert);
    expect(new Set(names).size).to.equal(names.length);
  });

  for (const { alert, expr, for: lasts, labels, annotations } of rules) {
    describe(alert, () => {
      it('names its runbook, which says meaning, impact, diagnosis and mitigation', () => {
        expect(annotations['runbook_url']).to.equal(`${RUNBOOKS}/${alert}.md`);
        const headings = [...read(`${RUNBOOKS}/${alert}.md`).matchAll(/^#+ (.+)$/gm)].map((match) => match[1]);
        expect(headings).to.deep.equal([alert, 'Meaning', 'Impact', 'Diagnosis', 'Mitigation']);
        expect(read(`${RUNBOOKS}/${alert}.md`), 'a command to begin with').to.contain('```sh');
      });

      it('says to whom it goes, and waits a moment first', () => {
        expect(labels).to.include({ service: 'topology-aware-routing', visibility: 'operator' });
        expect(labels['severity']).to.be.oneOf(['critical', 'warning', 'info']);
        expect(Number.parseInt(lasts, 10), lasts).to.be.at.least(1);
        expect(annotations['summary']).to.match(/\.$/);
        expect(annotations['description']).to.match(/\.$/);
      });

      it('names metrics and labels that commands have', () => {
        expect(unknownNames(expr, metricsCatalogue())).to.deep.equal([]);
      });

      it('compares labels with values that they can have', () => {
        const matchers = [...expr.matchAll(/(\w+)=~?"([^"]+)"/g)];
        const unknown = matchers.flatMap(([, label = '', value = '']) =>
          value
            .split('|')
            .filter((word) => VALUES[label]?.has(word) !== true)
            .map((word) => `${label}="${word}"`),
        );
        expect(unknown).to.deep.equal([]);
      });
    });
  }

  it('have no runbook too many', () => {
    const known = new Set(['README', ...rules.map(({ alert }) => alert)]);
    const pages = readdirSync(join(root, RUNBOOKS)).map((name) => name.replace('.md', ''));
    expect(pages.filter((page) => !known.has(page))).to.deep.equal([]);
  });

  for (const { about, path, rules: own } of files) {
    it(`of ${about} are all shown to fire, and to stay quiet, by a unit test of promtool`, () => {
      const file = `test/fixtures/alerts/${about}.yaml`;
      const { rule_files, tests } = parse(read(file)) as PromtoolTests;
      expect(rule_files.map((name) => resolve(root, 'test/fixtures/alerts', name))).to.deep.equal([join(root, path)]);
      expect(existsSync(join(root, path))).to.equal(true);
      for (const { alert } of own) {
        const checks = tests.flatMap((test) =>
          test.promql_expr_test
            .filter(({ expr }) => expr === `ALERTS{alertname="${alert}",alertstate="firing"}`)
            .map(({ exp_samples: samples }) => ({ test: test.name, fires: samples.length > 0 })),
        );
        const firing = new Set(checks.filter(({ fires }) => fires).map(({ test }) => test));
        const quiet = checks.filter(({ fires, test }) => !fires && !firing.has(test));
        expect(firing.size, `${file}: ${alert} fires nowhere`).to.be.at.least(1);
        expect(quiet.length, `${file}: ${alert} stays quiet in no test of its own`).to.be.at.least(1);
      }
    });
  }
});
