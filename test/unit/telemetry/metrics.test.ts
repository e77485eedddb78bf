// Metrics: exposition text, definitions for docs, and registries that share nothing.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { type Metrics, createControllerMetrics, createMetrics } from '../../../pkg/telemetry/metrics.ts';

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

  it('sets a gauge at each scrape when it collects', async () => {
    const metrics = createMetrics({ prefix: 'x_', defaultMetrics: false });
    let depth = 0;
    metrics.gauge({
      name: 'depth',
      help: 'Depth.',
      collect(gauge) {
        depth += 1;
        gauge.set(depth);
      },
    });
    expect(await samples(metrics)).to.deep.equal(['x_depth 1']);
    expect(await samples(metrics)).to.deep.equal(['x_depth 2']);
  });

  it('has process metrics with the event-loop lag p99 by default, and lists them not as its own', async () => {
    const metrics = createMetrics();
    const text = await metrics.text();
    for (const name of [
      'nodejs_eventloop_lag_p99_seconds',
      'process_resident_memory_bytes',
      'process_cpu_seconds_total',
    ]) {
      expect(text).to.match(new RegExp(`^${name} `, 'm'));
    }
    expect(metrics.definitions()).to.deep.equal([]);
  });

  it('refuses one name twice, and a label that was not declared', () => {
    const metrics = createMetrics({ defaultMetrics: false });
    const counter = metrics.counter({ name: 'a_total', help: 'A.', labels: ['known'] });
    expect(() => metrics.gauge({ name: 'a_total', help: 'A.' })).to.throw(/already been registered/);
    expect(metrics.definitions()).to.have.length(1);
    expect(() => counter.inc(JSON.parse('{"unknown":"x"}') as { known: string })).to.throw(/unknown/);
  });
});

describe('createControllerMetrics', () => {
  it('counts the life of keys and reconciles per controller', async () => {
    const metrics = createMetrics({ prefix: '', defaultMetrics: false });
    const shared = createControllerMetrics(metrics);
    const queue = shared.queue('seed');
    queue.onAdd();
    queue.onAdd();
    queue.onGet(30);
    queue.onRetry();
    const hooks = shared.controller('seed');
    hooks.onActive(2);
    hooks.onReconcile('error', 250);
    hooks.onReconcile('success', 4);
    shared.controller('garden').onReconcile('success', 1);
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
    ]) {
      expect(text).to.include(`${line}\n`);
    }
  });
});
