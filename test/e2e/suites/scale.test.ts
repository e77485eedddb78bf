// SPDX-License-Identifier: Apache-2.0
// What the commands cost near the limits of Kubernetes, on a real API server, in steps of size. Alone: it measures time and CPU.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { makeBundle } from '../../../hack/bundle.ts';
import type { AuditReport } from '../../../pkg/diagnosis/audit/types.ts';
import type { Explanation } from '../../../pkg/diagnosis/explain/types.ts';
import { NAMESPACES } from '../../../pkg/apis/resources.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { describeEnvironment } from '../../bench/environment.ts';
import { measure } from '../../bench/kubectl-topology/measure.ts';
import type { Program } from '../../bench/kubectl-topology/measure.ts';
import { parseCpuSeconds } from '../../bench/processes.ts';
import { topologyJson } from '../../fixtures/topology-command.ts';
import { mastersGroup } from '../bed/kubeconfig.ts';
import type { Component } from '../bed/component.ts';
import { useBed } from '../bed/mocha.ts';
import { waitFor } from '../bed/wait-for.ts';
import { ownNamespace } from '../commands.ts';
import { describeFlowController, FLOW_USER, installFlowPolicies } from '../flow-world.ts';
import { readAudit } from '../hints-audit.ts';
import type { Write } from '../hints-audit.ts';
import { connectAs } from '../hints-support.ts';
import { memoryOf } from '../memory.ts';
import { startMetricsApi } from '../metrics-api/index.ts';
import { keepResults } from '../results.ts';
import { formatScaleCost } from '../scale-figures.ts';
import type { FlowPhase, ScaleCost, StepCost } from '../scale-figures.ts';
import { createScaleWorld, ENDPOINTS_PER_SERVICE } from '../scale-world.ts';
import type { ScaleWorld, Step } from '../scale-world.ts';

const long = process.env['E2E_SOAK'] === '1';
/** `E2E_SCALE=commands`: only explain and audit, without Pods, at the last size. */
const onlyCommands = process.env['E2E_SCALE'] === 'commands';
const STEPS: readonly Step[] = long
  ? [
      { nodes: 500, services: 1_000 },
      { nodes: 2_000, services: 4_000 },
      { nodes: 5_000, services: 10_000 },
    ]
  : [{ nodes: 40, services: 60 }];
/** Two intervals of the metrics. */
const STEADY_MS = 30_000;
const LONGEST_SECONDS = 900;
const SCRAPE_MS = 5_000;
/** Behind the health port of the first replica. */
const METRICS_URL = 'http://127.0.0.1:8088/metrics';
const FRESH = /^\S*flow_services\{[^}]*reason="MetricsFresh"[^}]*\} (\d+)/m;
const EXPLAINED = 'team-7/service-7';

const isStored = ({ resource, status }: Write): boolean => resource === 'endpointslices' && status === 200;

describe('cost near the limits of Kubernetes', function () {
  this.timeout(1_800_000);
  let client: Client;
  let folder: string;
  after(async () => {
    await client?.close();
    if (folder !== undefined) rmSync(folder, { recursive: true });
  });
  // No EndpointSlice controller: at its 20 requests a second it would write for hours, and nothing here is about it.
  const bed = useBed({ controllers: ['namespace-controller'] });
  const environment = describeEnvironment();
  const steps: StepCost[] = [];
  let world: ScaleWorld;
  let controller: Component;
  let ready: () => Promise<void>;
  let kubeconfig: string;

  before('the commands as a bundle, the definitions and a metrics API', async () => {
    folder = mkdtempSync(join(tmpdir(), 'scale-'));
    await makeBundle(join(folder, 'bundle'));
    client = await connectAs(bed(), 'tester');
    kubeconfig = await bed().kubeconfig({ user: 'reader', groups: [mastersGroup] });
    await client.create(NAMESPACES, { metadata: { name: ownNamespace } });
    await installFlowPolicies(client);
    world = createScaleWorld(client, bed().api, !onlyCommands);
    await startMetricsApi(bed(), { readings: (namespace) => world.readings(namespace) });
    const sources = [{ name: 'metrics.k8s.io', type: 'ResourceMetrics' }];
    ({ controller, ready } = await describeFlowController(bed(), { metricSources: sources, log: { level: 'warn' } }));
  });

  /** After each part: a run that is ended has what it came to until then. */
  const keep = (): ScaleCost => {
    const results = { environment: environment(), endpointsPerService: ENDPOINTS_PER_SERVICE, steps };
    keepResults('scale', results);
    return results;
  };

  after(() => {
    if (steps.length > 0) console.log(`\n${formatScaleCost(keep())}\n`);
  });

  const command = (title: string, ...args: string[]): Program => ({
    title: `kubectl topology ${title}`,
    command: process.execPath,
    args: [join(folder, 'bundle/kubectl-topology.js'), ...args, '--kubeconfig', kubeconfig],
  });

  const observed = async (): Promise<number> => {
    const text = await fetch(METRICS_URL).then((answer) => answer.text());
    return Number(FRESH.exec(text)?.[1] ?? 0);
  };

  const untilObserved = (services: number): Promise<unknown> =>
    waitFor('the load of every Service is known', observed, (count) => count >= services, {
      timeoutSeconds: LONGEST_SECONDS,
      // As often as a Prometheus asks: figures of thousands of Services take a while.
      intervalMs: SCRAPE_MS,
      assert: () => controller.assertRunning(),
    });

  /** What the flow-controller took and wrote while `work` ran. */
  const phase = async (name: string, work: (writes: () => Write[]) => Promise<unknown>): Promise<FlowPhase> => {
    const cpuOf = (): number =>
      controller.pid === undefined ? 0 : parseCpuSeconds(readFileSync(`/proc/${controller.pid}/stat`, 'utf8'));
    const audit = readAudit(bed().auditLog, ({ user, resource }) => user === FLOW_USER && resource !== 'leases');
    const writes: Write[] = [];
    const all = (): Write[] => {
      writes.push(...audit.next());
      return writes;
    };
    const [from, cpu] = [performance.now(), cpuOf()];
    await work(all);
    const seconds = (performance.now() - from) / 1_000;
    const counted = Map.groupBy(all(), ({ verb, resource }) => `${verb} ${resource}`);
    return {
      name,
      seconds,
      cpuSeconds: cpuOf() - cpu,
      peakBytes: memoryOf(controller).peak,
      writes: Object.fromEntries([...counted].map(([kind, own]) => [kind, own.length])),
    };
  };

  const start = async (): Promise<void> => {
    controller.start();
    await ready();
  };

  for (const step of onlyCommands ? STEPS.slice(-1) : STEPS) {
    const { nodes, services } = step;
    const overloaded = services / 10;
    const isLargest = step === STEPS.at(-1);
    describe(`${nodes} Nodes, ${services} Services, ${services * ENDPOINTS_PER_SERVICE} endpoints`, () => {
      const cost: StepCost = { ...step, writtenSeconds: 0, commands: [], flow: [] };

      before('written', async () => {
        const from = performance.now();
        await world.grow(step);
        steps.push({ ...cost, writtenSeconds: (performance.now() - from) / 1_000 });
      });
      const add = (part: Partial<Pick<StepCost, 'commands' | 'flow'>>): void => {
        const last = steps.pop() ?? cost;
        const commands = [...last.commands, ...(part.commands ?? [])];
        steps.push({ ...last, commands, flow: [...last.flow, ...(part.flow ?? [])] });
        keep();
      };

      it('explains one Service, its DaemonSet settled and during its roll-out', async () => {
        const settled = command('explain', 'explain', EXPLAINED);
        add({ commands: await measure([settled], 3) });
        await world.rollOut(nodes - 1);
        add({ commands: await measure([{ ...settled, title: `${settled.title}, kube-proxy rolling` }], 1) });
        await world.rollOut(nodes);
        const report = await topologyJson<Explanation>(['explain', EXPLAINED, '--kubeconfig', kubeconfig]);
        expect(report.verdict).to.equal('Effective');
        expect(report.given[0]).to.include({ ready: ENDPOINTS_PER_SERVICE });
        expect(report.used.map(({ node }) => node)).to.have.lengthOf(nodes);
      });

      it('audits all Services', async () => {
        add({ commands: await measure([command('audit -A', 'audit', '-A', '-o', 'json')], 1) });
        const report = await topologyJson<AuditReport>(['audit', '-A', '--kubeconfig', kubeconfig]);
        expect(report.services.length).to.be.at.least(services);
      });

      if (onlyCommands) return;

      it('plans all Services', async () => {
        const first = await phase('first start', async () => {
          await start();
          await untilObserved(services);
        });
        add({ flow: [first] });
        add({ flow: [await phase('steady', () => delay(STEADY_MS))] });
        if (!isLargest) await controller.stop();
      });

      if (!isLargest) return;

      const written = (writes: readonly Write[]): number =>
        new Set(writes.filter(isStored).map(({ namespace, name }) => `${namespace}/${name}`)).size;

      it(`stores plans for ${overloaded} Services that are overloaded at once`, async () => {
        const found = await phase(`${overloaded} overloaded`, async (writes) => {
          world.overloaded = overloaded;
          await waitFor(
            'a plan for each',
            () => written(writes()),
            (count) => count >= overloaded,
            {
              timeoutSeconds: LONGEST_SECONDS,
              intervalMs: 500,
              assert: () => controller.assertRunning(),
            },
          );
        });
        add({ flow: [found] });
      });

      it('writes after a restart only slices of Services that are overloaded, and a few for noise', async () => {
        await controller.stop();
        const again = await phase('restart', async (writes) => {
          await start();
          await untilObserved(services);
          // The load does not follow the hints here, so that those that are overloaded may be planned anew.
          expect(written(writes()), 'slices written').to.be.at.most(2 * overloaded);
        });
        add({ flow: [again] });
        await controller.stop();
      });
    });
  }
});
