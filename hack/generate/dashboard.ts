// The chart's dashboard for Grafana and Gardener's Plutono (Grafana 7.5): panels from the list, descriptions from the metrics.
import { CHART } from '../lib/alerts.ts';
import { ROWS } from '../lib/dashboard-panels.ts';
import type { Panel, Row } from '../lib/dashboard-types.ts';
import { metricsCatalogue } from '../lib/metrics-catalogue.ts';
import type { Generator } from './types.ts';

export const DASHBOARD = `${CHART}/monitoring/dashboards/topology-aware-routing.json`;

/** Grafana's grid is 24 wide. */
const WIDTH = 8;
const HEIGHT = 7;
const COLUMNS = 24 / WIDTH;

const DATASOURCE = '$datasource';

const helpOf = (panel: Panel): string => {
  const texts = panel.queries.map(({ expr }) => expr).join(' ');
  const used = metricsCatalogue()
    .flatMap(({ metrics }) => metrics)
    .filter(
      ({ name }) => !name.endsWith('_build_info') && new RegExp(String.raw`\b${name}(?:_bucket|_count)?\b`).test(texts),
    );
  return [...new Map(used.map(({ name, help }) => [name, help])).values()].join(' ');
};

const panelOf = (panel: Panel, id: number, x: number, y: number): object => {
  const { title, type = 'timeseries', unit, queries, stacked = false } = panel;
  const custom = {
    fillOpacity: stacked ? 30 : 0,
    stacking: { mode: stacked ? 'normal' : 'none' },
    showPoints: 'never',
  };
  const options =
    type === 'stat'
      ? { reduceOptions: { calcs: ['lastNotNull'] }, textMode: 'value_and_name', colorMode: 'none', graphMode: 'none' }
      : { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi' } };
  return {
    id,
    title,
    description: helpOf(panel),
    type,
    datasource: DATASOURCE,
    gridPos: { x, y, w: WIDTH, h: HEIGHT },
    fieldConfig: { defaults: { unit, min: 0, ...(type === 'stat' ? {} : { custom }) }, overrides: [] },
    options,
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCodePoint(65 + index),
      expr,
      legendFormat: legend,
      instant: type === 'stat',
    })),
  };
};

/** A title, and its panels in lines below it. */
const rowOf = ({ title, panels }: Row, firstId: number, y: number): { panels: object[]; next: number } => {
  const lines = Math.ceil(panels.length / COLUMNS);
  return {
    next: y + 1 + lines * HEIGHT,
    panels: [
      { id: firstId, type: 'row', title, collapsed: false, gridPos: { x: 0, y, w: 24, h: 1 }, panels: [] },
      ...panels.map((panel, index) =>
        panelOf(panel, firstId + 1 + index, (index % COLUMNS) * WIDTH, y + 1 + Math.floor(index / COLUMNS) * HEIGHT),
      ),
    ],
  };
};

const allPanels = (): object[] => {
  const panels: object[] = [];
  let y = 0;
  for (const row of ROWS) {
    const placed = rowOf(row, panels.length + 1, y);
    panels.push(...placed.panels);
    y = placed.next;
  }
  return panels;
};

export const dashboard: Generator = {
  path: DASHBOARD,
  async render() {
    const json = JSON.stringify({
      uid: 'topology-aware-routing',
      title: 'Topology-aware routing',
      tags: ['topology-aware-routing'],
      editable: false,
      // What Grafana 7.5 writes; newer ones migrate it when they load it.
      schemaVersion: 27,
      version: 1,
      refresh: '1m',
      time: { from: 'now-3h', to: 'now' },
      templating: {
        list: [
          { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus', hide: 0, current: {} },
        ],
      },
      panels: allPanels(),
    });
    const { format } = await import('prettier');
    return format(json, { parser: 'json', printWidth: 120 });
  },
};
