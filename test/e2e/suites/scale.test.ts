// What the commands cost near the limits of Kubernetes, on a real API server, in steps of size.
// Alone: it measures time and CPU.
// Soak: its sizes are near the limits; a small one shows nothing that other suites do not.
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { makeBundle } from '../../../hack/bundle.ts';
import { NAMESPACES } from '../../../pkg/apis/resources.ts';
import type { AuditReport } from '../../../pkg/diagnosis/audit/audit.ts';
import type { Explanation } from '../../../pkg/diagnosis/explain/explain.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { describeEnvironment } from '../../bench/environment.ts';
import { topologyJson } from '../../fixtures/topology-command.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { mastersGroup } from '../bed/access.ts';
import type { Component } from '../bed/component.ts';
import { useBed } from '../bed/index.ts';
import { waitFor } from '../bed/machine.ts';
import { ownNamespace } from '../commands.ts';
import { describeFlowController, FLOW_USER, installFlowPolicies } from '../flow-world.ts';
import { connectAs } from '../hints-support.ts';
import { type Cgroup, createCgroup } from '../memory.ts';
import { startMetricsApi } from '../metrics-api.ts';
import { isLongForm, keepResults, keptResults } from '../results.ts';
import { type Program, measure } from '../scale-commands.ts';
import { type ScaleCost, type StepCost, formatScaleCost, mergeScaleCost } from '../scale-figures.ts';
import { ENDPOINTS_PER_SERVICE, type Step } from '../scale-objects.ts';
import { type ScaleWorld, createScaleWorld, measurePhase } from '../scale-world.ts';
import type { Write } from '../settings-audit.ts';

const SMALL: Step = { nodes: 40, services: 60 };
const STEPS: readonly Step[] = [
  { nodes: 500, services: 1_000 },
  { nodes: 2_000, services: 4_000 },
  { nodes: 5_000, services: 10_000, policies: false, memoryBytes: Math.floor(1.2 * 2 ** 30) },
];
/** Numbers of Nodes: only these steps. `commands`: only explain and audit, without Pods, at the last size. */
const wanted = process.env['E2E_SCALE'];
const onlyCommands = wanted === 'commands';
const chosen = (): readonly Step[] => {
  if (onlyCommands) return STEPS.slice(-1);
  if (wanted !== undefined) return STEPS.filter(({ nodes }) => wanted.split(',').includes(String(nodes)));
  return isLongForm ? STEPS : [SMALL];
};
/** Three intervals of the metrics. */
const STEADY_MS = 45_000;
const LONGEST_SECONDS = 600;
const SCRAPE_MS = 5_000;
const OVERLOADED = 1_000;
/** Behind the ports of the first replica. */
const METRICS_URL = 'http://127.0.0.1:8088/metrics';
const HEALTH = 'http://127.0.0.1:8087';
const FRESH = /^\S*flow_services\{[^}]*reason="MetricsFresh"[^}]*\} (\d+)/m;
const EXPLAINED = 'team-7/service-7';

const isStored = ({ resource, status }: Write): boolean => resource === 'endpointslices' && status === 200;
/** Slices that were written. */
const written = (writes: readonly Write[]): Set<string> =>
  new Set(writes.filter(isStored).map(({ namespace, name }) => `${namespace}/${name}`));

const fetchText = async (url: string): Promise<string> => (await fetch(url)).text();

for (const step of chosen()) {
  const { nodes, services, policies = true, memoryBytes } = step;
  describe(`cost of ${nodes} Nodes, ${services} Services, ${services * ENDPOINTS_PER_SERVICE} endpoints`, function () {
    this.timeout(1_800_000);
    // No EndpointSlice controller: at its 20 requests a second it would write for hours, and nothing here is about it.
    const bed = useBed({ controllers: ['namespace-controller'] });
    const environment = describeEnvironment();
    const [commands, flow]: [StepCost['commands'][number][], StepCost['flow'][number][]] = [[], []];
    let client: Client;
    const folder = temporaryFolder();
    let world: ScaleWorld;
    let controller: Component;
    let kubeconfig: string;
    let limit: Cgroup | undefined;

    before('the commands as bundles, the definitions, a metrics API, and the cluster', async () => {
      await makeBundle(folder.at('bundle'));
      client = await connectAs(bed(), 'tester');
      kubeconfig = await bed().kubeconfig({ user: 'reader', groups: [mastersGroup] });
      await client.create(NAMESPACES, { metadata: { name: ownNamespace } });
      await installFlowPolicies(client);
      world = createScaleWorld(client, bed().api, step, { pods: !onlyCommands, slices: true });
      await startMetricsApi(bed(), { readings: (namespace) => world.readings(namespace) });
      const sources = [{ name: 'metrics.k8s.io', type: 'ResourceMetrics' }];
      if (memoryBytes !== undefined) limit = createCgroup('scale', memoryBytes);
      const command = [process.execPath, folder.at('bundle/flow-controller.js')] as const;
      const program = limit === undefined ? command : ([...limit.enter, ...command] as const);
      const config = { metricSources: sources, log: { level: 'warn' }, status: { create: policies } };
      ({ controller } = await describeFlowController(bed(), config, undefined, program));
      await world.fill();
    });

    /** After each part: a run that is ended has what it came to until then. */
    const keep = (): ScaleCost => {
      const now = { ...step, environment: environment(), commands, flow };
      const results = { endpointsPerService: ENDPOINTS_PER_SERVICE, steps: [now] };
      keepResults('scale', mergeScaleCost(keptResults('scale') as ScaleCost | undefined, results));
      return results;
    };
    after(() => {
      if (commands.length + flow.length > 0) console.log(`\n${formatScaleCost(keep())}\n`);
    });

    const command = (title: string, ...args: string[]): Program => ({
      title: `kubectl topology ${title}`,
      command: process.execPath,
      args: [folder.at('bundle/kubectl-topology.js'), ...args, '--kubeconfig', kubeconfig],
    });

    const until = <T>(what: string, probe: () => Promise<T> | T, accept: (value: T) => boolean, intervalMs = 500) =>
      waitFor(what, probe, accept, {
        timeoutSeconds: LONGEST_SECONDS,
        intervalMs,
        assert: () => controller.assertRunning(),
      });
    const untilReady = (): Promise<unknown> =>
      until('the flow-controller is ready', async () => (await fetch(`${HEALTH}/readyz`)).ok, Boolean);
    const untilObserved = (): Promise<unknown> =>
      until(
        'the load of every Service is known',
        async () => Number(FRESH.exec(await fetchText(METRICS_URL))?.[1] ?? 0),
        (count) => count >= services,
        // As often as a Prometheus asks: figures of thousands of Services take a while.
        SCRAPE_MS,
      );
    const phase = async (name: string, work: (writes: () => readonly Write[]) => Promise<unknown>): Promise<void> => {
      const measured = { controller, user: FLOW_USER, healthUrl: `${HEALTH}/healthz` };
      flow.push(await measurePhase(name, bed(), measured, work));
      keep();
    };

    it('explains one Service, its DaemonSet settled and during its roll-out', async () => {
      const settled = command('explain', 'explain', EXPLAINED);
      commands.push(await measure(settled, 3));
      await world.rollOut(nodes - 1);
      commands.push(await measure({ ...settled, title: `${settled.title}, kube-proxy rolling` }, 1));
      await world.rollOut(nodes);
      const report = await topologyJson<Explanation>(['explain', EXPLAINED, '--kubeconfig', kubeconfig]);
      expect(report.verdict).to.equal('Effective');
      expect(report.given[0]).to.include({ ready: ENDPOINTS_PER_SERVICE });
      expect(report.used.map(({ node }) => node)).to.have.lengthOf(nodes);
    });

    it('audits all Services, beside kubectl, which reads and prints the same objects', async () => {
      const args = ['get', 'nodes,services,endpointslices', '-A', '-o', 'json'];
      const kubectl = { title: `kubectl ${args.join(' ')}`, command: bed().binaries('kubectl') };
      commands.push(await measure(command('audit -A', 'audit', '-A', '-o', 'json'), 1));
      commands.push(await measure({ ...kubectl, args: [...args, '--kubeconfig', kubeconfig] }, 1));
      const report = await topologyJson<AuditReport>(['audit', '-A', '--kubeconfig', kubeconfig]);
      expect(report.services.length).to.be.at.least(services);
      keep();
    });

    if (onlyCommands) return;

    it('plans all Services', async () => {
      await phase('first start', async () => {
        controller.start();
        await untilReady();
        await untilObserved();
      });
      await phase('steady', () => delay(STEADY_MS));
    });

    it('writes after a restart only slices of Services whose load is another, and a few for noise', async () => {
      await controller.stop();
      await phase('restart, until it is ready', async (writes) => {
        controller.start();
        await untilReady();
        expect(written(writes()).size, 'slices written').to.equal(0);
      });
      await phase('restart, until all load is known', async (writes) => {
        await untilObserved();
        expect(written(writes()).size, 'slices written').to.be.at.most(services / 10);
      });
    });

    it('stores plans for many Services that are overloaded at once', async () => {
      const overloaded = Math.min(OVERLOADED, services);
      // One in ten was overloaded before, so that its plan may stay as it is.
      const expected = Array.from({ length: overloaded }, (_, index) => index).filter((index) => index % 10 !== 0);
      const keys = expected.map((index) => world.sliceOf(index));
      await phase(`${overloaded} overloaded at once`, async (writes) => {
        world.overloaded = overloaded;
        await until(
          'a plan for each',
          () => written(writes()),
          (found) => keys.every((key) => found.has(key)),
        );
      });
      await controller.stop();
    });
  });
}
