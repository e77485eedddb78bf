// The dashboard: it shows every metric there is, asks for nothing that there is not, and can be read by Grafana 7.5.
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { DASHBOARD } from '../../../hack/generate/dashboard.ts';
import { ROWS } from '../../../hack/lib/dashboard-panels.ts';
import { metricsCatalogue } from '../../../hack/lib/metrics-catalogue.ts';
import { unknownNames } from '../../../hack/lib/promql-names.ts';

interface Place {
  x: number;
  y: number;
  w: number;
  h: number;
}

interface Json {
  uid: string;
  panels: {
    id: number;
    type: string;
    title: string;
    description?: string;
    gridPos: Place;
    datasource?: string;
    targets?: { refId: string; expr: string; legendFormat: string }[];
  }[];
}

const json = JSON.parse(readFileSync(join(resolve(import.meta.dirname, '../../..'), DASHBOARD), 'utf8')) as Json;
const queries = ROWS.flatMap(({ panels }) => panels).flatMap((panel) => panel.queries);

describe('the dashboard', () => {
  it('shows every metric of every command', () => {
    const shown = queries.map(({ expr }) => expr).join('\n');
    const missing = metricsCatalogue()
      .flatMap(({ metrics }) => metrics)
      .filter(({ name, type }) =>
        type === 'histogram' ? !shown.includes(`${name}_bucket`) : !new RegExp(String.raw`\b${name}\b`).test(shown),
      );
    const advice = 'metrics that need a panel in hack/lib/dashboard-*.ts; then run make generate';
    expect(
      missing.map(({ name }) => name),
      advice,
    ).to.deep.equal([]);
  });

  for (const { expr, legend } of queries) {
    it(`asks for metrics and labels that there are: ${expr}`, () => {
      expect(unknownNames(expr, metricsCatalogue())).to.deep.equal([]);
      const labels = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map((match) => match[1] ?? '');
      // Labels that a line is named by are what the query sums by.
      const kept = new Set([...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap((match) => (match[1] ?? '').split(/,\s*/)));
      expect(labels.filter((label) => !kept.has(label))).to.deep.equal([]);
    });
  }

  it('explains every panel with what its metrics say', () => {
    // Node's and the process' own metrics have their names for an explanation.
    const own = json.panels.filter(({ targets = [] }) =>
      targets.some(({ expr }) => expr.replaceAll('topology_aware_routing_build_info', '').includes('topology_aware')),
    );
    expect(own.length).to.be.above(30);
    for (const { title, description } of own) expect(description, title).to.match(/^.+\.$/);
  });

  it('places panels beside and below each other, not upon', () => {
    const cells = new Set<string>();
    for (const { title, gridPos } of json.panels) {
      expect(gridPos.x + gridPos.w, title).to.be.at.most(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          expect(cells.has(`${x},${y}`), `${title} at ${x},${y}`).to.equal(false);
          cells.add(`${x},${y}`);
        }
      }
    }
    expect(new Set(json.panels.map(({ id }) => id)).size).to.equal(json.panels.length);
  });

  it('uses kinds of panels that Grafana 7.5 has, and the source that the reader chooses', () => {
    expect(json.uid).to.have.lengthOf.at.most(40);
    for (const { type, datasource } of json.panels) {
      expect(type).to.be.oneOf(['row', 'stat', 'timeseries']);
      expect(datasource).to.equal(type === 'row' ? undefined : '$datasource');
    }
  });
});
