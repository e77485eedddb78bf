// A real Prometheus that scrapes the commands at work, a traffic-meter on one node among them: every query of the dashboard has data, every alert rule is evaluated.
// Needs: prometheus, promtool, conntrack
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { alertFiles } from '../../../hack/lib/alerts.ts';
import { ROWS } from '../../../hack/lib/dashboard-panels.ts';
import type { Query } from '../../../hack/lib/dashboard-types.ts';
import { metricsCatalogue } from '../../../hack/lib/metrics-catalogue.ts';
import {
  ANNOTATION_EVACUATED,
  ANNOTATION_TOPOLOGY_MODE,
  COMMANDS,
  GROUP,
  LABEL_MANAGED,
  TRAFFIC_METER,
} from '../../../pkg/apis/names.ts';
import { RELEASE } from '../../../pkg/apis/release.ts';
import { apiVersionOf, ENDPOINT_SLICES, FLOW_POLICIES, ZONE_EVACUATIONS } from '../../../pkg/apis/resources.ts';
import { CUSTOM_RESOURCE_DEFINITIONS } from '../../fixtures/crds.ts';
import { zoneEvacuationDefinition } from '../../../hack/lib/crd.ts';
import type { ZoneEvacuation } from '../../../pkg/apis/zone-evacuation.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { nodeGroup, nodeGroupCrd } from '../../fixtures/kubeedge.ts';
import { yamlBlocks } from '../../support/docs/markdown.ts';
import type { Component } from '../bed/component.ts';
import { type BedNode, type BedService, useBed } from '../bed/index.ts';
import { is, ofLength, repeat, run, waitFor } from '../bed/machine.ts';
import { root } from '../chart.ts';
import { describeProxies, restartWebhook, startWebhook } from '../commands.ts';
import { type Meter, QUICK, describeFlowController, installFlowPolicies, policyOf, startMeter } from '../flow-world.ts';
import { connectAs, serviceSelector, slicesOf, startReconciler } from '../hints-support.ts';
import { type Prometheus, startPrometheus } from '../prometheus.ts';
import { addLocalDns, metricsPort, startMeter as startTrafficMeter, startPulse } from '../traffic-meter-world.ts';

const namespace = 'shop';
const zones = ['a', 'b', 'c'];
/** Ports for metrics: the webhook's default, and two that nothing else here takes. */
const PORTS = { webhook: 8080, reconciler: 18_084, flow: 18_086 } as const;
const TARGETS: Record<string, string> = {
  [COMMANDS.endpointSliceWebhook]: `127.0.0.1:${PORTS.webhook}`,
  [COMMANDS.settingsReconciler]: `127.0.0.1:${PORTS.reconciler}`,
  [COMMANDS.flowController]: `127.0.0.1:${PORTS.flow}`,
};

/** Panels of an evacuation, which is not what alerts call well. */
const EVACUATION: ReadonlySet<string> = new Set(['Services of evacuated zones', 'Slices written by evacuations (1 h)']);
/** A panel of data planes that this project warns of; the bed's kube-proxies are none. */
const UNSAFE = 'Nodes whose data plane is unsafe with hints';
/** What is there only after an evacuation, where a slice still shows it. */
const OVERDUE = 'slices that are overdue';

const PREFIX = 'topology_aware_routing_';
/** Of every metric of the project. */
const OWN = 'topology_';

/** Once a second a label that the EndpointSlice controller mirrors: reconciles, reviews and writes of slices. */
const startWork = (...services: BedService[]): void => {
  let round = 0;
  repeat(1_000, async () => {
    round += 1;
    for (const service of services) await service.patch({ metadata: { labels: { round: String(round) } } });
  });
};

describe('monitoring', () => {
  let client: Client;
  let meter: Meter;
  let prometheus: Prometheus;
  let webhook: Component;
  /** A Service that only clients touch. */
  let quiet: BedService;
  const bed = useBed();

  before('all commands at work, and a Prometheus that scrapes them', async () => {
    client = await connectAs(bed(), 'tester');
    await bed().api.create('/api/v1/namespaces', { metadata: { name: namespace } });
    await describeProxies(bed());
    webhook = await startWebhook(bed());
    await installFlowPolicies(client);
    await client.create(CUSTOM_RESOURCE_DEFINITIONS, zoneEvacuationDefinition());
    const nodes: BedNode[] = [];
    for (const zone of zones) nodes.push(await bed().node({ name: zone, zone }));
    for (const app of ['web', 'api']) await Promise.all(nodes.map((node) => bed().pod({ node, app, namespace })));
    const [web, api] = [
      await bed().service({ name: 'web', namespace }),
      await bed().service({ name: 'api', namespace }),
    ];
    meter = await startMeter(bed(), client, namespace, 'web');
    meter.demand = { a: 0.4, b: 0.4, c: 0.4 };
    await client.create(FLOW_POLICIES, policyOf(namespace, 'web', QUICK));
    await startReconciler(bed(), { config: { metrics: { port: PORTS.reconciler } } });
    await bed().api.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', nodeGroupCrd());
    const { controller, ready } = await describeFlowController(bed(), {
      nodeGroups: { enabled: true },
      metrics: { port: PORTS.flow },
    });
    controller.start();
    await ready();
    const [measured] = nodes as [BedNode];
    // Unsupported: NodeLocal DNSCache answers for it, past the kernel's connection tracking.
    const dns = await bed().service({ name: 'dns', namespace, app: 'web', port: 53 });
    await addLocalDns(measured, dns.clusterIPs[0]);
    await startTrafficMeter(bed(), measured, `--bind-address=${measured.addresses.ipv4}`);
    // Slices that change every second are never held against connections.
    quiet = await bed().service({ name: 'quiet', namespace, trafficDistribution: 'PreferSameZone' });
    await Promise.all(nodes.map((node) => bed().pod({ node, app: 'quiet', namespace })));
    startPulse(bed(), measured, quiet.clusterIPs[0] ?? '', quiet.port);
    TARGETS[TRAFFIC_METER] = `${measured.addresses.ipv4}:${metricsPort}`;
    prometheus = await startPrometheus(bed(), {
      jobs: Object.entries(TARGETS).map(([name, target]) => ({ name, targets: [target] })),
      ruleFiles: alertFiles().map(({ path }) => join(root, path)),
    });
    await web.patch({ metadata: { annotations: { [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/load-aware` } } });
    await bed().api.create('/apis/apps.kubeedge.io/v1alpha1/nodegroups', nodeGroup('north', { nodes: ['a'] }));
    await api.patch({ metadata: { labels: { [LABEL_MANAGED]: 'true' } } });
    startWork(web, api);
  });

  describe('what commands expose', () => {
    for (const { command, metrics } of metricsCatalogue()) {
      it(`${command}: exactly the metrics that are documented`, async () => {
        const text = await (await fetch(`http://${TARGETS[command]}/metrics`)).text();
        const exposed = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(
          ([, name = '', type = '']) => `${name} ${type}`,
        );
        const own = exposed.filter((line) => line.startsWith(OWN)).sort();
        expect(own).to.deep.equal(metrics.map(({ name, type }) => `${name} ${type}`).sort());
        for (const { name, labels } of metrics) {
          const series = [...text.matchAll(new RegExp(`^${name}(?:_bucket|_sum|_count)?\\{([^}]*)\\}`, 'gm'))];
          const used = new Set(
            series.flatMap((match) => [...(match[1] ?? '').matchAll(/(\w+)="/g)].map((label) => label[1])),
          );
          used.delete('le');
          expect([...labels], name).to.include.members([...used]);
        }
      });
    }

    it('names release, readiness and leaders', async () => {
      const up = await prometheus.waitForSamples(`${PREFIX}build_info{version="${RELEASE}"}`, 4);
      expect(up.map(({ metric }) => metric['command'] ?? '').sort()).to.deep.equal(Object.keys(TARGETS).sort());
      await prometheus.waitForSamples(`${PREFIX}ready == 1`, 4);
      await prometheus.waitForSamples(`${PREFIX}leader == 1`, 2);
    });

    it('predicts that all traffic of a Service with an endpoint in each zone stays there', async () => {
      const [sample] = await prometheus.waitForSamples(
        `${PREFIX}service_predicted_in_zone_ratio{service_namespace="${namespace}",service_name="api"} == 1`,
      );
      expect(sample?.metric).to.include({ service_name: 'api' });
      await prometheus.waitForSamples(`sum(${PREFIX}services{state="Effective"}) == sum(${PREFIX}services)`);
      await prometheus.waitForSamples(`${PREFIX}ready_endpoints{hint="present"} >= 3`);
      await prometheus.waitForSamples(`${PREFIX}ready_endpoints{hint="missing"} == 0`);
    });
  });

  const showsData = (row: string, title: string, { expr, legend }: Query): void => {
    it(`${row}: ${title} (${legend}) has data`, async () => {
      // A quantile of nothing is NaN, which is above no number.
      expect(await prometheus.waitForSamples(`(${expr}) > -Inf`)).not.to.be.empty;
    });
  };

  describe('the dashboard', () => {
    for (const { title: row, panels } of ROWS)
      for (const { title, queries } of panels)
        if (!EVACUATION.has(title) && title !== UNSAFE) for (const query of queries) showsData(row, title, query);

    it('connections of the measured node are all honored, and none crosses zones', async () => {
      const judged = 'sum by (outcome) (topology_traffic_judged_connections_total)';
      const [sample, ...others] = await prometheus.waitForSamples(`${judged} > 0`);
      expect([sample?.metric, others]).to.deep.equal([{ outcome: 'Honored' }, []]);
      await prometheus.waitForSamples('sum(topology_traffic_crossing_connections_total{kind="measured"}) == 0');
      await prometheus.waitForSamples('sum(topology_traffic_crossing_connections_total{kind="predicted"}) == 0');
    });
  });

  describe('the alert rules', () => {
    for (const { about, path, rules, records } of alertFiles())
      it(`of ${about} are right, fire when they should, and only then`, async () => {
        const checked = await run('promtool', ['check', 'rules', '--lint=all', '--lint-fatal', join(root, path)]);
        expect(checked).to.contain(`SUCCESS: ${rules.length + records} rules found`);
        const cases = join(root, 'test/fixtures/alerts', `${about}.yaml`);
        expect(await run('promtool', ['test', 'rules', cases])).to.contain('SUCCESS');
      });

    it('of the page about evacuations fires for the one zone that is lossy, and where two are for none', async () => {
      const rule = yamlBlocks('docs/operations/evacuate.md').find((text) => text.includes('ZoneLossy')) ?? '';
      const ruleFile = join(bed().directory, 'zone-lossy.yaml');
      writeFileSync(ruleFile, rule);
      const testOf = (ratios: Readonly<Record<string, string>>, fires: readonly object[]): object => ({
        interval: '1m',
        input_series: Object.entries(ratios).map(([zone, value]) => ({
          series: `zone:client_errors:ratio5m{zone="${zone}"}`,
          values: `${value}x10`,
        })),
        promql_expr_test: [
          { expr: 'ALERTS{alertstate="firing"}', eval_time: '1m', exp_samples: [] },
          { expr: 'ALERTS{alertstate="firing"}', eval_time: '4m', exp_samples: fires },
        ],
      });
      const lossy = 'ALERTS{alertname="ZoneLossy", alertstate="firing", severity="critical", zone="a"}';
      const tests = [
        testOf({ a: '0.2', b: '0.01', c: '0' }, [{ labels: lossy, value: 1 }]),
        testOf({ a: '0.01', b: '0.01', c: '0' }, []),
        testOf({ a: '0.2', b: '0.3' }, []),
      ];
      const file = join(bed().directory, 'zone-lossy-tests.yaml');
      writeFileSync(file, JSON.stringify({ rule_files: [ruleFile], evaluation_interval: '1m', tests }));
      expect(await run('promtool', ['check', 'rules', ruleFile])).to.contain('SUCCESS: 1 rules');
      expect(await run('promtool', ['test', 'rules', file])).to.contain('SUCCESS');
    });

    it('are all evaluated without an error', async () => {
      const rules = await waitFor(
        'every rule evaluated',
        () => prometheus.rules(),
        (all) => all.every(({ health }) => health !== 'unknown'),
      );
      expect(rules.filter(({ health }) => health !== 'ok')).to.deep.equal([]);
      const names = alertFiles().flatMap(({ rules: own }) => own.map(({ alert }) => alert));
      const alerts = rules.filter(({ type }) => type === 'alerting');
      expect(alerts.map(({ name }) => name)).to.have.members(names);
      expect(rules.length - alerts.length, 'rules that record').to.equal(
        alertFiles().reduce((sum, { records }) => sum + records, 0),
      );
    });

    it('are quiet while all is well', async () => {
      const active = await waitFor(
        'no alert',
        async () =>
          (await prometheus.rules())
            .filter(({ type, state }) => type === 'alerting' && state !== 'inactive')
            .map(({ name }) => name),
        ofLength(0),
      );
      expect(active).to.deep.equal([]);
    });

    it('see that the webhook is gone, and that it is back', async () => {
      const stateOf = async (): Promise<string | undefined> =>
        (await prometheus.rules()).find(({ name }) => name === 'TopologyRoutingWebhookDown')?.state;
      await webhook.kill();
      await waitFor('an alert on its way', stateOf, is('pending'));
      await restartWebhook(webhook);
      await waitFor('no alert', stateOf, is('inactive'));
    });
  });

  describe('the dashboard while a zone is evacuated', () => {
    const spec = { zone: 'c', duration: '1h' } as ZoneEvacuation['spec'];
    before(() =>
      client.create<ZoneEvacuation>(ZONE_EVACUATIONS, {
        apiVersion: apiVersionOf(ZONE_EVACUATIONS),
        kind: ZONE_EVACUATIONS.kind,
        metadata: { name: spec.zone },
        spec,
      }),
    );

    const panels = ROWS.flatMap(({ title: row, panels: own }) => own.map((panel) => ({ row, ...panel })));
    const queries = panels
      .filter(({ title }) => EVACUATION.has(title))
      .flatMap(({ row, title, queries: own }) => own.map((query) => ({ row, title, query })));
    for (const { row, title, query } of queries) if (!query.legend.includes(OVERDUE)) showsData(row, title, query);

    it(`what is over and still shown (${OVERDUE}) has data`, async () => {
      const marked = async () =>
        (await slicesOf(client, namespace, serviceSelector(quiet.name))).find(
          ({ metadata }) => metadata?.annotations?.[ANNOTATION_EVACUATED] !== undefined,
        );
      const slice = await waitFor('a slice that shows the evacuation', marked, (found) => found !== undefined);
      await client.delete(ZONE_EVACUATIONS, { name: spec.zone });
      const { name = '', annotations = {} } = slice?.metadata ?? {};
      // A writer of old copies: as often as it is mended, it is there again.
      const writeBack = (): Promise<unknown> =>
        client.patch(ENDPOINT_SLICES, { namespace, name }, 'merge', { metadata: { annotations } });
      const { expr } = queries.find(({ query }) => query.legend.includes(OVERDUE))?.query ?? { expr: '' };
      await waitFor(
        'an overdue slice',
        async () => {
          await writeBack();
          return prometheus.query(`(${expr}) > 0`);
        },
        ({ length }) => length > 0,
        { intervalMs: 100 },
      );
    });
  });
});
