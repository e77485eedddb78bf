// The closed loop by what meters count: real connections through real proxies, and a surge that no CPU sample shows any more.
// Needs: conntrack, prometheus
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import type { Service } from '../../../pkg/apis/core.ts';
import type { FlowPolicy } from '../../../pkg/apis/flow-policy.ts';
import { ANNOTATION_TOPOLOGY_MODE, GROUP } from '../../../pkg/apis/names.ts';
import { FLOW_POLICIES, SERVICES } from '../../../pkg/apis/resources.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import type { Component } from '../bed/component.ts';
import { type BedNode, type BedPod, type BedService, useBed } from '../bed/index.ts';
import { repeat, waitFor } from '../bed/machine.ts';
import { documents, useHelm } from '../chart.ts';
import { apply, describeProxies, ownNamespace, startWebhook } from '../commands.ts';
import { describeFlowController, installFlowPolicies, policyOf, QUICK } from '../flow-world.ts';
import { connectAs, zonesOf } from '../hints-support.ts';
import { type MetricsApi, type PodReading, startMetricsApi } from '../metrics-api.ts';
import { startPrometheus } from '../prometheus.ts';
import {
  countArrivals,
  readArrivals,
  readerToken,
  SECURE_PORT,
  startMeasuredNode,
  startPulse,
} from '../traffic-meter-world.ts';

const namespace = 'shop';
const zones = ['a', 'b', 'c'];
const PODS_PER_ZONE = 2;
/** What a connection a second takes of a Pod, which serves 20 of them at most. */
const CORES = 0.05;
/** Connections a second from each zone, and what comes to those of zone a: above its two Pods, below all six. */
const [CALM, SURGE] = [6, 46];
const WINDOW_SECONDS = 3;

const prometheusUrl = 'http://127.0.0.1:9090';
const SOURCES = [
  { name: 'meters', type: 'TrafficMeter', cacheSeconds: 1 },
  { name: 'scraped', type: 'TrafficMeter', url: prometheusUrl, cacheSeconds: 0, windowSeconds: 5 },
  { name: 'metrics.k8s.io', type: 'ResourceMetrics', cacheSeconds: 0 },
];

/** Within a fifth. */
const isNear = (value: number, wanted: number): boolean => Math.abs(value / wanted - 1) < 0.2;

interface Arrived {
  /** Seconds since 1970. */
  readonly at: number;
  readonly counts: ReadonlyMap<string, number>;
}

describe('the flow controller with meters as its source', () => {
  let client: Client;
  let metrics: MetricsApi;
  const bed = useBed();
  const { helm } = useHelm();
  const nodes: BedNode[] = [];
  const pods: BedPod[] = [];
  let service: BedService;
  let controller: Component;
  /** Once a second, the oldest first. */
  const history: Arrived[] = [];

  const look = async (): Promise<void> => {
    const all = await Promise.all(nodes.map((node) => readArrivals(node)));
    history.push({ at: Date.now() / 1_000, counts: new Map(all.flatMap((counts) => [...counts])) });
  };

  /** Connections a second that arrived at a Pod in the last seconds. */
  const rateOf = (pod: string, seconds: number): { rate: number; at: number; window: number } | undefined => {
    const newest = history.at(-1);
    const earlier = history.findLast(({ at }) => newest !== undefined && at <= newest.at - seconds);
    if (newest === undefined || earlier === undefined) return undefined;
    const window = newest.at - earlier.at;
    return { rate: ((newest.counts.get(pod) ?? 0) - (earlier.counts.get(pod) ?? 0)) / window, at: newest.at, window };
  };

  /** CPU of the Pods: what they served, as a Pod would use it. */
  const readings = (): PodReading[] =>
    pods.flatMap(({ name }) => {
      const seen = rateOf(name, WINDOW_SECONDS);
      if (seen === undefined) return [];
      const { rate, at, window } = seen;
      return [{ namespace, pod: name, labels: { app: 'web' }, cores: rate * CORES, sampledAt: at, window }];
    });

  const statusOf = async (): Promise<NonNullable<FlowPolicy['status']>> =>
    ((await client.get(FLOW_POLICIES, { namespace, name: 'web' })) as FlowPolicy).status ?? {};
  const hintsWhere = (what: string, accept: (zonesServed: (string | undefined)[][]) => boolean): Promise<unknown> =>
    waitFor(
      what,
      async () => (await service.endpoints()).map((endpoint) => [endpoint.zone, ...zonesOf(endpoint)]),
      (all) => all.length === pods.length && accept(all),
      { timeoutSeconds: 60, intervalMs: 200, assert: () => controller.assertRunning() },
    );
  const servesOwn = ([own, ...served]: (string | undefined)[]): boolean => served.join() === own;
  const helpsA = ([own, ...served]: (string | undefined)[]): boolean => own !== 'a' && served.includes('a');
  const pulse = (node: BedNode, perSecond: number): Component =>
    startPulse(bed(), node, service.clusterIPs[0] ?? '', service.port, { perSecond });

  before('three zones with meters, the rights that the chart gives, a webhook, a Prometheus, and clients', async () => {
    client = await connectAs(bed(), 'tester');
    await bed().api.create('/api/v1/namespaces', { metadata: { name: namespace } });
    await describeProxies(bed());
    await startWebhook(bed());
    await installFlowPolicies(client);
    const flowController = { enabled: true, metricSources: SOURCES, trafficProof: true };
    const values = { flowController, trafficMeter: { enabled: true } };
    const rights = new Set(['Namespace', 'ServiceAccount', 'Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding']);
    const rendered = documents(await helm().template(values, { namespace: ownNamespace }));
    const items = rendered.filter(({ kind = '' }) => rights.has(kind));
    items.sort(({ kind }) => (kind === 'Namespace' ? -1 : 1));
    await apply(bed(), 'rights.json', JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));

    for (const zone of zones) nodes.push((await startMeasuredNode(bed(), { name: `${zone}1`, zone })).node);
    for (const node of nodes)
      for (let index = 0; index < PODS_PER_ZONE; index += 1)
        pods.push(await bed().pod({ node, app: 'web', namespace, name: `web-${node.zone}-${index}` }));
    for (const node of nodes)
      await countArrivals(
        node,
        pods.filter((pod) => pod.node === node),
      );
    repeat(1_000, look);
    metrics = await startMetricsApi(bed(), { readings });
    const token = await readerToken(bed());
    const targets = nodes.map(({ addresses }) => `${addresses.ipv4}:${SECURE_PORT}`);
    await startPrometheus(bed(), { jobs: [{ name: 'traffic-meter', targets, token }] });
    service = await bed().service({
      name: 'web',
      namespace,
      annotations: { [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/load-aware` },
    });
    for (const node of nodes) pulse(node, CALM);
    const metricsSpec = { interval: '1s', source: 'meters' };
    await client.create(FLOW_POLICIES, policyOf(namespace, 'web', { ...QUICK, metrics: metricsSpec }));
    // No right but those of the chart.
    const trafficProof = { enabled: true };
    const status = { minIntervalSeconds: 1 };
    const config = { metricSources: SOURCES, trafficProof, status };
    const described = await describeFlowController(bed(), config, []);
    ({ controller } = described);
    controller.start();
    await described.ready();
  });

  for (const source of ['meters', 'scraped']) {
    const by = source === 'meters' ? 'read one by one through the API server' : 'scraped by a Prometheus';

    describe(by, () => {
      let surge: Component;

      it('learns from CPU what a connection takes, and keeps each zone to itself while all is calm', async () => {
        metrics.unavailable = false;
        await client.patch(FLOW_POLICIES, { namespace, name: 'web' }, 'merge', { spec: { metrics: { source } } });
        const { learned, source: read } = await waitFor(
          'cores of a connection, known within 30 %',
          statusOf,
          (status) => status.source === source && (status.learned?.uncertaintyPercent ?? 100) <= 30,
          { timeoutSeconds: 60, assert: () => controller.assertRunning() },
        );
        expect([read, learned?.unit]).to.deep.equal([source, 'Connection']);
        await waitFor(
          `${CORES} cores, within a fifth`,
          statusOf,
          ({ learned: known }) => isNear(Number(known?.cores), CORES),
          { timeoutSeconds: 60 },
        );
        await hintsWhere('each endpoint serves its own zone', (all) => all.every(servesOwn));
      });

      it('answers a surge that the meters alone can show: no Pod is asked for more than it can serve', async () => {
        metrics.unavailable = true;
        surge = pulse(nodes[0] as BedNode, SURGE);
        const began = performance.now();
        await hintsWhere('endpoints of other zones serve zone a', (all) => all.some(helpsA));
        const answered = (performance.now() - began) / 1_000;
        const seconds = 6;
        const most = (): number => Math.max(...pods.map(({ name }) => rateOf(name, seconds)?.rate ?? Infinity));
        await waitFor(
          'no Pod above what it can serve over six seconds',
          () => Promise.resolve(most()),
          (rate) => rate < 1 / CORES,
          { timeoutSeconds: 60, intervalMs: 500 },
        );
        const cores = (CALM + SURGE) * CORES;
        const demand = async (): Promise<number> => {
          const { zones: byZone = [] } = await statusOf();
          return Number(byZone.find(({ zone }) => zone === 'a')?.demand);
        };
        await waitFor(`a demand of zone a of ${cores} cores, within a fifth`, demand, (value) => isNear(value, cores));
        // It stays there: no window is taken for longer or shorter than it is. One reading may be late on a busy machine.
        const seen: number[] = [];
        for (let round = 0; round < 12; round += 1) {
          await new Promise((resolve) => setTimeout(resolve, 500));
          seen.push(await demand());
        }
        const astray = new Set(seen.filter((value) => !isNear(value, cores)));
        expect(
          astray.size,
          `readings of zone a, of which one may be far from ${cores}: ${seen.join(', ')}`,
        ).to.be.below(2);
        process.stdout.write(
          `      ${source}: hints ${answered.toFixed(1)} s after the surge; busiest Pod ${most().toFixed(1)} of ${1 / CORES} connections a second\n`,
        );
      });

      it('keeps each zone to itself again when the surge is over', async () => {
        await surge.stop();
        await hintsWhere('each endpoint serves its own zone', (all) => all.every(servesOwn));
      });
    });
  }

  it('the FlowPolicy says that connections go where hints say, and the Service says nothing', async () => {
    const honored = await waitFor(
      'TrafficDistributionHonored in the FlowPolicy',
      async () => (await statusOf()).conditions?.find(({ type }) => type === 'TrafficDistributionHonored'),
      (condition) => condition?.status === 'True',
      { timeoutSeconds: 120 },
    );
    expect(honored?.reason).to.equal('Honored');
    const { status } = await client.get<Service>(SERVICES, { namespace, name: 'web' });
    expect(status?.conditions ?? []).to.deep.equal([]);
  });
});
