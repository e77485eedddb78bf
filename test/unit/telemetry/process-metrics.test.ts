// What a process says about itself: release, readiness, leadership, events that were dropped.
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { parse } from 'yaml';
import { RELEASE } from '../../../pkg/apis/release.ts';
import { type Metrics, countFailures, createMetrics, createProcessMetrics, showStaleness } from '../../../pkg/telemetry/metrics.ts';

const read = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

const samples = async (metrics: Metrics): Promise<string[]> =>
  (await metrics.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));

describe('createProcessMetrics', () => {
  it('says what is so at each scrape', async () => {
    const metrics = createMetrics({ defaultMetrics: false, prefix: '' });
    let [problem, leads]: [string | undefined, boolean] = ['still listing pods', false];
    const readiness = [
      { name: 'fine', check: () => undefined },
      { name: 'other', check: () => problem },
    ];
    createProcessMetrics(metrics, { command: 'c', readiness, leads: () => leads });
    const build = `build_info{command="c",version="${RELEASE}"} 1`;
    expect(await samples(metrics)).to.deep.equal([build, 'ready{command="c"} 0', 'leader{command="c"} 0']);
    [problem, leads] = [undefined, true];
    expect(await samples(metrics)).to.deep.equal([build, 'ready{command="c"} 1', 'leader{command="c"} 1']);
  });

  it('names the release of package.json and of the chart', () => {
    expect((JSON.parse(read('package.json')) as { version: string }).version).to.equal(RELEASE);
    const chart = parse(read('charts/gardener-extension-topology-aware-routing/Chart.yaml')) as { appVersion: string };
    expect(chart.appVersion).to.equal(RELEASE);
  });
});

describe('metrics of caches', () => {
  it('show the older one of two caches of a resource, and forget those that are gone', async () => {
    const metrics = createMetrics({ defaultMetrics: false, prefix: '' });
    let all = [
      { resource: 'nodes', milliseconds: 1_500 },
      { resource: 'nodes', milliseconds: 500 },
      { resource: 'pods', milliseconds: 250 },
    ];
    showStaleness(metrics, () => all);
    countFailures(metrics).inc();
    expect(await samples(metrics)).to.deep.equal([
      'informer_staleness_seconds{resource="nodes"} 1.5',
      'informer_staleness_seconds{resource="pods"} 0.25',
      'list_watch_failures_total 1',
    ]);
    all = [];
    expect(await samples(metrics)).to.deep.equal(['list_watch_failures_total 1']);
  });
});
