// Metrics: exposition text, definitions for docs, and registries that share nothing.
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { parse } from 'yaml';
import {
  type Metrics,
  SERVICES_IN_ALL,
  SERVICES_PER_NAMESPACE,
  countFailures,
  createControllerMetrics,
  createMetrics,
  limitServices,
  showStaleness,
} from '../../../pkg/telemetry/metrics.ts';
import { RELEASE } from '../../../pkg/apis/release.ts';

const samples = async (metrics: Metrics): Promise<string[]> =>
  (await metrics.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));

describe('createMetrics', () => {
  it('writes counters, gauges and histograms under the prefix, with help and labels', async () => {
    const metrics = createMetrics({ defaultMetrics: false });
    metrics.counter({ name: 'patches_total', help: 'Patches sent.', labels: ['kind'] }).inc({ kind: 'Service' }, 2);
    metrics.gauge({ name: 'services', help: 'Services managed.' }).set(5);
    metrics.histogram({ name: 'wait_seconds', help: 'Waits.', buckets: [1, 2] }).observe(1.5);
    const text = await metrics.text();
    expect(text).to.include('# HELP topology_aware_routing_patches_total Patches sent.');
    expect(text).to.include('# TYPE topology_aware_routing_wait_seconds histogram');
    expect(await samples(metrics)).to.deep.equal([
      'topology_aware_routing_patches_total{kind="Service"} 2',
      'topology_aware_routing_services 5',
      'topology_aware_routing_wait_seconds_bucket{le="1"} 0',
      'topology_aware_routing_wait_seconds_bucket{le="2"} 1',
      'topology_aware_routing_wait_seconds_bucket{le="+Inf"} 1',
      'topology_aware_routing_wait_seconds_sum 1.5',
      'topology_aware_routing_wait_seconds_count 1',
    ]);
    expect(metrics.contentType).to.match(/^text\/plain; version=0\.0\.4/);
  });

  it('computes samples at each scrape: the same labels add up, and what has no value has no series', async () => {
    const metrics = createMetrics({ prefix: 'x_', defaultMetrics: false });
    let depth: number | undefined = 1;
    metrics.gauge({ name: 'depth', help: 'Depth.', samples: () => [[{}, depth]] });
    const zones = [{ zone: 'a' }, { zone: 'a' }];
    metrics.counter({ name: 'zones', help: 'Zones.', labels: ['zone'], samples: () => zones.map((of) => [of, depth]) });
    expect(await samples(metrics)).to.deep.equal(['x_depth 1', 'x_zones{zone="a"} 2']);
    depth = 2;
    expect(await samples(metrics)).to.deep.equal(['x_depth 2', 'x_zones{zone="a"} 4']);
    depth = undefined;
    expect(await samples(metrics)).to.deep.equal([]);
  });
});

describe('createControllerMetrics', () => {
  it('counts the life of keys and reconciles per controller', async () => {
    const metrics = createMetrics({ prefix: '', defaultMetrics: false });
    const hooksOf = createControllerMetrics(metrics);
    const hooks = hooksOf('seed');
    hooks.onAdd();
    hooks.onAdd();
    hooks.onGet(30);
    hooks.onRetry();
    hooks.onActive(2);
    hooks.onReconcile('error', 250);
    hooks.onReconcile('success', 4);
    hooksOf('garden').onReconcile('success', 1);
    const text = await metrics.text();
    for (const line of [
      'workqueue_adds_total{controller="seed"} 2',
      'workqueue_retries_total{controller="seed"} 1',
      'workqueue_depth{controller="seed"} 1',
      'workqueue_wait_duration_seconds_sum{controller="seed"} 0.03',
      'controller_active_workers{controller="seed"} 2',
      'controller_reconcile_total{controller="seed",outcome="error"} 1',
      'controller_reconcile_total{controller="seed",outcome="success"} 1',
      'controller_reconcile_total{controller="garden",outcome="success"} 1',
      'controller_reconcile_duration_seconds_bucket{le="0.005",controller="seed"} 1',
      'controller_reconcile_duration_seconds_sum{controller="seed"} 0.254',
    ])
      expect(text).to.include(`${line}\n`);
  });
});

const read = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

describe('createProcessMetrics', () => {
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

interface Item {
  readonly namespace: string;
  readonly service: string;
}

const services = (namespace: string, count: number): Item[] =>
  Array.from({ length: count }, (_, index) => ({ namespace, service: `s${index}` }));

describe('limitServices', () => {
  it('shows all where they are few', () => {
    const all = [...services('a', 2), ...services('b', SERVICES_PER_NAMESPACE)];
    expect(limitServices(all)).to.deep.equal({ shown: all, omitted: 0 });
  });

  it('lets no namespace crowd out the others', () => {
    const { shown, omitted } = limitServices([...services('hostile', 5_000), ...services('other', 3)]);
    expect(shown.filter(({ namespace }) => namespace === 'hostile')).to.have.length(SERVICES_PER_NAMESPACE);
    expect(shown.filter(({ namespace }) => namespace === 'other')).to.have.length(3);
    expect(omitted).to.equal(5_000 - SERVICES_PER_NAMESPACE);
  });

  it('shows no more than its limit, whatever there is', () => {
    const all = Array.from({ length: 5_000 }, (_, index) => services(`n${index}`, 1)).flat();
    const { shown, omitted } = limitServices(all);
    expect(shown).to.deep.equal(all.slice(0, SERVICES_IN_ALL));
    expect(omitted).to.equal(5_000 - SERVICES_IN_ALL);
  });
});
