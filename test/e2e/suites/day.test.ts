// SPDX-License-Identifier: Apache-2.0
// A day in minutes: Pods come and go, labels change, leaders die, the version moves; in the end all is right and nothing grew.
// Alone: it fills the machine and watches memory.
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import type { Lease } from '../../../pkg/apis/core.ts';
import { LEASES, NAMESPACES } from '../../../pkg/apis/resources.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { describeEnvironment } from '../../bench/environment.ts';
import { NODE_FLAGS } from '../../bench/node-flags.ts';
import { formatMegabytes, formatNumber } from '../../bench/statistics.ts';
import type { Component } from '../bed/component.ts';
import { useBed } from '../bed/mocha.ts';
import { waitFor } from '../bed/wait-for.ts';
import { createNodes } from '../churn-objects.ts';
import { ownNamespace, startWebhook } from '../commands.ts';
import { isLongForm, planOf, trendsOf } from '../day-plan.ts';
import type { Sample } from '../day-plan.ts';
import { createDayWorld, dayNamespaces } from '../day-world.ts';
import type { DayWorld } from '../day-world.ts';
import { readAudit, untilQuiet } from '../hints-audit.ts';
import type { AuditReader } from '../hints-audit.ts';
import { RECONCILER_USER, describeReconciler } from '../hints-commands.ts';
import { connectAs, untilAdmission } from '../hints-support.ts';
import { memoryOf, readMemoryLimits } from '../memory.ts';
import { keepResults } from '../results.ts';

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

describe('a compressed day', () => {
  let client: Client;
  // Registered before the bed's own, so that it runs before the bed is gone.
  after(() => client?.close());
  // With the usual 20 requests a second, the controllers would spend the day waiting for themselves.
  const bed = useBed({ controllerManagerFlags: ['--kube-api-qps=300', '--kube-api-burst=600'] });
  const environment = describeEnvironment();
  const samples: Sample[] = [];
  let replicas: Awaited<ReturnType<typeof describeReconciler>>[];
  let webhook: Component;
  let world: DayWorld;
  let audit: AuditReader;
  /** Index of the replica that leads. */
  let leading = 0;

  const holder = async (): Promise<string> => {
    const { items } = await client.list<Lease>(LEASES, { namespace: ownNamespace });
    const lease = items.find(({ metadata }) => metadata?.name?.startsWith('settings-reconciler'));
    return lease?.spec?.holderIdentity ?? '';
  };

  /** Ends the leader by `end`, waits until the other leads, and starts it again as the second. */
  const changeLeader = async (end: (leader: Component) => Promise<void>): Promise<void> => {
    const leader = replicas[leading]!;
    const old = await holder();
    await end(leader.reconciler);
    await waitFor('another leader', holder, (name) => name !== '' && name !== old);
    leader.reconciler.start();
    await leader.ready();
    leading = 1 - leading;
  };

  const upgrade = async (): Promise<void> => {
    for (const { configure } of replicas) configure({ kubernetesVersion: { override: versions.second.override } });
    const standby = replicas[1 - leading]!;
    await standby.reconciler.stop();
    standby.reconciler.start();
    await standby.ready();
    await changeLeader((leader) => leader.stop());
  };

  const sample = (hour: number): void => {
    for (const program of [webhook, ...replicas.map(({ reconciler }) => reconciler)]) {
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

  before(`${plan.nodes} Nodes, ${plan.services} Services, their Pods, two replicas`, async function () {
    this.timeout(minutes(10));
    client = await connectAs(bed(), 'tester');
    const perZone = Math.round(plan.nodes / zones.length);
    const nodes = await createNodes(client, zones, perZone);
    for (const name of dayNamespaces(plan)) await client.create(NAMESPACES, { metadata: { name } });
    webhook = await startWebhook(bed(), { nodeFlags: NODE_FLAGS });
    await untilAdmission(client, 'day-0', true);
    const config = {
      kubernetesVersion: { override: versions.first.override },
      leaderElection: { leaseDurationSeconds: 4, renewDeadlineSeconds: 3, retryPeriodSeconds: 1 },
    };
    replicas = await Promise.all([0, 1].map((replica) => describeReconciler(bed(), { config, replica })));
    for (const { reconciler, ready } of replicas) {
      reconciler.start();
      await ready();
      await waitFor('a leader', holder, (name) => name !== '');
    }
    world = createDayWorld(client, plan, nodes);
    await world.create();
    await untilRight(versions.first.trafficDistribution);
    audit = readAudit(bed().auditLog);
  });

  it(`passes ${plan.hours} hours of change`, async function () {
    this.timeout(minutes(longForm ? 120 : 5));
    for (let hour = 0; hour < plan.hours; hour += 1) {
      const living = world.live(hour);
      // In the middle of the work, not after it.
      if (plan.leaderChanges.includes(hour)) await changeLeader((leader) => leader.kill());
      if (plan.upgrade === hour) await upgrade();
      await living;
      await untilQuiet(audit, quietMs, minutes(5));
      sample(hour);
    }
    for (const program of [webhook, ...replicas.map(({ reconciler }) => reconciler)]) program.assertRunning();
  });

  it('ends with every Service in its settings, its Pods and its hints, as the new version has it', async function () {
    this.timeout(minutes(12));
    await untilRight(versions.second.trafficDistribution);
  });

  it('is quiet when nothing changes any more', async () => {
    await untilQuiet(audit, quietMs);
    const all = readAudit(bed().auditLog, ({ user, resource }) => user === RECONCILER_USER && resource !== 'leases');
    expect(await untilQuiet(all, 5_000)).to.deep.equal([]);
    expect(audit.next()).to.deep.equal([]);
  });

  it('leaves the memory of every process flat', () => {
    const limits = readMemoryLimits();
    const trends = trendsOf(samples, plan.hours / 2);
    // All three lived through the whole second half.
    expect(new Set(trends.map(({ samples: count }) => count))).to.deep.equal(new Set([plan.hours / 2]));
    expect(trends.map(({ process }) => process)).to.have.lengthOf(3);
    for (const { process, samples: count, firstBytes, lastBytes, bytesPerHour } of trends) {
      const growth = `${formatNumber(bytesPerHour / 2 ** 20, 2)} MB an hour`;
      console.log(
        `${process}: ${formatMegabytes(firstBytes)}, ${count} hours later ${formatMegabytes(lastBytes)}, ${growth}`,
      );
      expect(lastBytes, `${process}: resident, and the chart's limit`).to.be.below(
        process === webhook.name ? limits.webhook : limits.reconciler,
      );
      // A heap takes longer than the short form to find its size.
      if (longForm) expect((bytesPerHour * plan.hours) / 2 / firstBytes, `${process}: growth`).to.be.below(0.05);
    }
    keepResults('day', { environment: environment(), plan, longForm, trends, samples });
  });
});
