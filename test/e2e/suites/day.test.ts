// A day in minutes: Pods come and go, labels change, zones are evacuated, leaders die, the version moves; in the end all is right and nothing grew.
// Alone: it fills the machine and watches memory.
// Soak: minutes in which nothing else runs, and little that `chaos`, `settings-upgrade` and `evacuate` do not show.
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { COMMANDS } from '../../../pkg/apis/names.ts';
import { NAMESPACES, ZONE_EVACUATIONS } from '../../../pkg/apis/resources.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { NODE_FLAGS } from '../../bench/node-flags.ts';
import { formatMegabytes, formatNumber } from '../../bench/statistics.ts';
import type { Component } from '../bed/component.ts';
import { useBed } from '../bed/mocha.ts';
import { waitFor } from '../bed/wait-for.ts';
import { createNodes } from '../churn-objects.ts';
import { SHORTEST } from '../chaos-evacuations.ts';
import { describeProxies, startWebhook } from '../commands.ts';
import { MAX_GROWTH, growthOf, isLongForm, planOf, trendsOf } from '../day-plan.ts';
import type { DayPlan, Sample } from '../day-plan.ts';
import { createPair } from '../day-pair.ts';
import type { Pair, Replica } from '../day-pair.ts';
import { createDayWorld, dayNamespaces } from '../day-world.ts';
import type { DayWorld } from '../day-world.ts';
import { allReturned, defineEvacuations, evacuationNamed, reachesPhase } from '../evacuations.ts';
import { FLOW_USER, describeFlowController, installFlowPolicies } from '../flow-world.ts';
import { readAudit, untilQuiet } from '../hints-audit.ts';
import type { AuditReader } from '../hints-audit.ts';
import { RECONCILER_USER, describeReconciler } from '../hints-commands.ts';
import { connectAs, untilAdmission } from '../hints-support.ts';
import { startMetricsApi } from '../metrics-api/index.ts';
import type { MetricsApi } from '../metrics-api/index.ts';
import { memoryOf, readMemoryLimits } from '../memory.ts';
import { startSteadyService } from '../steady-service.ts';
import type { SteadyService } from '../steady-service.ts';

type DayEvacuation = DayPlan['evacuations'][number];

const longForm = isLongForm(process.env);
const plan = planOf(longForm);
const zones = ['a', 'b', 'c'];
/** What the settings reconciler takes for the API server's version, and what it sets then. */
const versions = {
  first: { override: '1.33.0', trafficDistribution: 'PreferClose' },
  second: { override: '1.36.0', trafficDistribution: 'PreferSameZone' },
} as const;
const minutes = (count: number): number => count * 60_000;
/** Every sync takes a moment; a quiet second and a half is the end of an hour's work. */
const quietMs = 1_500;
/**
 * The loop reads every ten seconds, and gives up what it does not need any more ten seconds later; the EndpointSlice controller
 * tries again up to 32 seconds after a conflict.
 */
const settledMs = 45_000;
/** What processes say rather than do. */
const SAYING = new Set(['leases', 'events', 'flowpolicies']);

describe('a compressed day', () => {
  let client: Client;
  let metricsApi: MetricsApi | undefined;
  // Registered before the bed's own, so that it runs before the bed is gone.
  after(async () => {
    await steady?.stop();
    await metricsApi?.stop();
    await client?.close();
  });
  // With the usual 20 requests a second, the controllers would spend the day waiting for themselves.
  const bed = useBed({ controllerManagerFlags: ['--kube-api-qps=300', '--kube-api-burst=600'] });
  const samples: Sample[] = [];
  let webhook: Component;
  let reconcilers: Pair;
  let flowControllers: Pair;
  let configure: (more: object) => void;
  let world: DayWorld;
  let audit: AuditReader;
  let steady: SteadyService | undefined;

  const programs = (): Component[] => [webhook, ...reconcilers.components, ...flowControllers.components];

  const upgrade = async (): Promise<void> => {
    configure({ kubernetesVersion: { override: versions.second.override } });
    for (const pair of [reconcilers, flowControllers]) await pair.roll();
  };

  const nameOf = ({ zone, from }: DayEvacuation): string => `${zone}-${from}`;
  const evacuate = async (hour: number): Promise<void> => {
    for (const one of plan.evacuations.filter(({ from }) => from === hour)) {
      const duration = one.to === undefined ? SHORTEST : '1h';
      await client.create(ZONE_EVACUATIONS, evacuationNamed(nameOf(one), { zone: one.zone, duration }));
    }
  };
  /** No client reaches the zone before; all do afterwards. */
  const comeBack = async (hour: number): Promise<void> => {
    for (const one of plan.evacuations.filter(({ to }) => to === hour)) {
      await reachesPhase(client, nameOf(one), ['Evacuated'], { timeoutSeconds: 300 });
      await steady?.settles(one.zone, 'none', (there) => there === 0);
      await client.delete(ZONE_EVACUATIONS, { name: nameOf(one) });
    }
  };

  const sample = (hour: number): void => {
    for (const program of programs()) {
      const { name, pid = 0 } = program;
      samples.push({ process: name, pid, hour, residentBytes: memoryOf(program).resident });
    }
  };

  const untilRight = (trafficDistribution: string): Promise<unknown> =>
    waitFor(
      'every Service has its settings, its Pods and its hints',
      () => world.differences(trafficDistribution),
      ({ length }) => length === 0,
      { timeoutSeconds: longForm ? 600 : 120, intervalMs: 500 },
    );

  before(
    `${plan.nodes} Nodes, ${plan.services} Services, their Pods, two replicas of each controller`,
    async function () {
      this.timeout(minutes(10));
      client = await connectAs(bed(), 'tester');
      const perZone = Math.round(plan.nodes / zones.length);
      const nodes = await createNodes(client, zones, perZone);
      for (const name of dayNamespaces(plan)) await client.create(NAMESPACES, { metadata: { name } });
      await defineEvacuations(client);
      webhook = await startWebhook(bed(), { nodeFlags: NODE_FLAGS });
      await untilAdmission(client, 'day-0', true);
      // Longer than the command's own times: nobody may lose its Lease because the machine is busy.
      const leaderElection = { leaseDurationSeconds: 40, renewDeadlineSeconds: 35, retryPeriodSeconds: 2 };
      const config = { kubernetesVersion: { override: versions.first.override }, leaderElection };
      const [one, two] = [
        await describeReconciler(bed(), { config, replica: 0 }),
        await describeReconciler(bed(), { config, replica: 1 }),
      ];
      configure = (more) => [one, two].forEach((replica) => replica.configure(more));
      reconcilers = createPair(client, COMMANDS.settingsReconciler, [
        { component: one.reconciler, ready: one.ready },
        { component: two.reconciler, ready: two.ready },
      ]);
      await installFlowPolicies(client);
      await describeProxies(bed());
      const planner = async (replica: number): Promise<Replica> => {
        const { controller: component, ready } = await describeFlowController(
          bed(),
          { leaderElection },
          undefined,
          replica,
        );
        return { component, ready };
      };
      flowControllers = createPair(client, COMMANDS.flowController, [await planner(0), await planner(1)]);
      for (const pair of [reconcilers, flowControllers]) await pair.start();
      world = createDayWorld(client, plan, nodes);
      metricsApi = await startMetricsApi(bed(), { readings: () => world.readings() });
      await world.create();
      steady = await startSteadyService(bed(), zones);
      await untilRight(versions.first.trafficDistribution);
      audit = readAudit(bed().auditLog);
    },
  );

  it(`passes ${plan.hours} hours of change`, async function () {
    this.timeout(minutes(longForm ? 120 : 6));
    for (let hour = 0; hour < plan.hours; hour += 1) {
      const living = world.live(hour);
      await evacuate(hour);
      // In the middle of the work, not after it.
      if (plan.leaderChanges.includes(hour)) {
        const pairs = [reconcilers, flowControllers];
        await Promise.all(pairs.map((pair) => pair.changeLeader((leader) => leader.kill())));
      }
      if (plan.upgrade === hour) await upgrade();
      await living;
      await untilQuiet(audit, quietMs, minutes(5));
      await comeBack(hour);
      sample(hour);
    }
    for (const program of programs()) program.assertRunning();
  });

  it('ends with every Service in its settings, its Pods and its hints, as the new version has it', async function () {
    this.timeout(minutes(12));
    await allReturned(client, { timeoutSeconds: 180 });
    await untilRight(versions.second.trafficDistribution);
    for (const zone of zones) await steady?.settles(zone, 'its share again', (there) => there > 0);
  });

  it('never left a Service without usable endpoints: every connection of clients in all zones was answered', () => {
    expect(steady?.failures).to.deep.equal([]);
    expect(steady?.answered, 'connections').to.be.above(1_000);
  });

  it('is quiet when nothing changes any more', async function () {
    this.timeout(minutes(6));
    await untilQuiet(audit, settledMs, minutes(5));
    const own = new Set([RECONCILER_USER, FLOW_USER]);
    const all = readAudit(bed().auditLog, ({ user, resource }) => own.has(user) && !SAYING.has(resource));
    expect(await untilQuiet(all, 5_000)).to.deep.equal([]);
    expect(audit.next()).to.deep.equal([]);
  });

  it('leaves the memory of every process flat', () => {
    const limits = readMemoryLimits();
    const trends = trendsOf(samples, plan.hours / 2);
    // All of them lived through the whole second half.
    expect(new Set(trends.map(({ samples: count }) => count))).to.deep.equal(new Set([plan.hours / 2]));
    expect(trends.map(({ process }) => process)).to.have.lengthOf(programs().length);
    console.log(`may grow by ${100 * MAX_GROWTH} % in ${plan.hours / 2} hours${longForm ? '' : ' in the long form'}:`);
    for (const trend of trends) {
      const { process, samples: count, firstBytes, lastBytes, bytesPerHour } = trend;
      const slope = `${formatNumber(bytesPerHour / 2 ** 20, 2)} MB an hour (${formatNumber(100 * growthOf(trend), 2)} %)`;
      console.log(
        `${process}: ${formatMegabytes(firstBytes)}, ${count} hours later ${formatMegabytes(lastBytes)}, ${slope}`,
      );
      const limit =
        process === webhook.name
          ? limits.webhook
          : process.startsWith(COMMANDS.flowController)
            ? limits.flowController
            : limits.reconciler;
      expect(lastBytes, `${process}: resident, and the chart's limit`).to.be.below(limit);
      // A heap takes longer than the short form to find its size.
      if (longForm) expect(growthOf(trend), `${process}: growth`).to.be.below(MAX_GROWTH);
    }
  });
});
