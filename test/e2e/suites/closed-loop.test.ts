// Sends real traffic to Pods that can be overloaded, and compares no hints, same-zone, upstream's Auto and the closed loop.
// Needs: prometheus
// Alone: it measures latencies, which others' work would be part of.
// Soak: figures of the page on real traffic; `flow`, `traffic-source` and `monitoring` show the same loop at work.
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { describeEnvironment } from '../../bench/environment.ts';
import { useBed } from '../bed/index.ts';
import {
  describeChanges,
  describeRun,
  formatRun,
  hotZone,
  LONG,
  longLived,
  POD,
  PODS_PER_ZONE,
  SHORT,
  SLOW,
  zoneOutage,
} from '../closed-loop-results.ts';
import type { ClosedLoopResults, MetricsPath, Scenario, ScenarioRun } from '../closed-loop-results.ts';
import { findingsOf, isDisturbed, runScenario } from '../closed-loop-run.ts';
import { countersOf, createWorld, METRICS, readingsOf, SHOP, startFlowController } from '../closed-loop-world.ts';
import type { FlowController, World } from '../closed-loop-world.ts';
import { startWebhook } from '../commands.ts';
import { startMetricsApi } from '../metrics-api.ts';
import { type Exporter, type Prometheus, startExporter, startPrometheus } from '../prometheus.ts';
import { isLongForm, keepResults } from '../results.ts';

const shortForm: readonly [Scenario, MetricsPath][] = [[hotZone(SHORT), 'Prometheus']];
const longForm: readonly [Scenario, MetricsPath][] = [
  [hotZone(LONG), 'Prometheus'],
  [zoneOutage(LONG), 'Prometheus'],
  [longLived(LONG), 'Prometheus'],
  [hotZone(SLOW), 'metrics.k8s.io'],
];

/** Of a run that met a busy machine; more would only tell the same. */
const MOST_REPETITIONS = 4;

describe('the closed loop on real traffic', function () {
  this.timeout(1_800_000);
  const bed = useBed();
  const environment = describeEnvironment();
  const runs: ScenarioRun[] = [];
  let kubernetes = '';
  let world: World | undefined;
  let flow: FlowController;

  const startPrometheusOfPods = async (): Promise<Prometheus> => {
    const exporter: Exporter = await startExporter(() => (world === undefined ? [] : countersOf(world)));
    const prometheus = await startPrometheus(bed(), { jobs: [{ name: 'pods', targets: [exporter.target] }] });
    return prometheus;
  };

  before('three zones, a Service for each strategy, the flow controller', async () => {
    ({ gitVersion: kubernetes } = await bed().api.get<{ gitVersion: string }>('/version'));
    await bed().api.create('/api/v1/namespaces', { metadata: { name: SHOP } });
    await startWebhook(bed());
    await startMetricsApi(bed(), {
      readings: () => (world === undefined ? [] : readingsOf(world)),
    });
    flow = await startFlowController(bed(), (await startPrometheusOfPods()).url);
    await flow.read(METRICS['metrics.k8s.io']);
    world = await createWorld(bed());
  });
  after(() => {
    const pod = { requestsPerSecond: POD.requestsPerSecond, places: POD.places };
    const results: ClosedLoopResults = {
      environment: environment(),
      kubernetes,
      pod,
      podsPerZone: PODS_PER_ZONE,
      runs,
    };
    if (isLongForm) keepResults('closed-loop', results);
  });

  for (const [scenario, metrics] of isLongForm ? longForm : shortForm) {
    it(`${scenario.title}; metrics from ${metrics}`, async () => {
      await flow.read(METRICS[metrics]);
      const play = async (): Promise<ScenarioRun> => {
        await flow.restart();
        return runScenario({ world: world!, scenario, metrics, changes: flow.changes });
      };
      let run = await play();
      for (let again = 0; isDisturbed(run) && again < MOST_REPETITIONS; again += 1) {
        console.log(
          `${describeRun(run)} A program stood still for ${Math.round(run.lateMs)} ms. It is measured again.`,
        );
        run = await play();
      }
      runs.push(run);
      console.log(`${describeRun(run)} ${describeChanges(run)}\n\n${formatRun(run)}\n`);
      flow.component.assertRunning();
      expect(findingsOf(run)).to.deep.equal([]);
    });
  }
});
