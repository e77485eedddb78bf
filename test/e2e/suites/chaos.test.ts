// SPDX-License-Identifier: Apache-2.0
// Kills, freezes and cuts off every process at random under churn; at the end everything is as if nothing had happened.
// Alone: it judges time limits and memory while everything breaks.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import type { Component } from '../bed/component.ts';
import { useBed } from '../bed/mocha.ts';
import { waitFor } from '../bed/wait-for.ts';
import { RECONCILER } from '../chart.ts';
import { startChurn } from '../chaos-churn.ts';
import { deckOf } from '../chaos-faults.ts';
import type { Fault } from '../chaos-faults.ts';
import { createRandom, seedOf } from '../chaos-random.ts';
import { median, startHeapWatch } from '../chaos-heap.ts';
import type { HeapWatch } from '../chaos-heap.ts';
import { isLongForm } from '../day-plan.ts';
import { auditSince, auditSize, countByKind, lastingWrites } from '../faults-audit.ts';
import { startProbes, untruths } from '../faults-probes.ts';
import type { Probes } from '../faults-probes.ts';
import { createShoot, finishShoot, install, webhookReplica } from '../faults-world.ts';
import type { Installed, ShootHandle } from '../faults-world.ts';
import type { AuditEvent } from '../settings-audit.ts';
import { COMMAND_USERS } from '../settings-world.ts';
import { keepResults } from '../results.ts';
import { supervise } from '../supervisor.ts';
import type { Supervisor } from '../supervisor.ts';

const long = isLongForm(process.env);
const LONG_MS = 600_000;
const seed = seedOf(process.env);
const leaderElection = { leaseDurationSeconds: 6, renewDeadlineSeconds: 4, retryPeriodSeconds: 1 };
/** Wide enough for whatever is written with a back-off: the longest is the informers' 30 seconds. */
const SETTLE_SECONDS = 150;
const QUIET_MS = 10_000;

describe('chaos', function () {
  this.timeout(long ? LONG_MS + 600_000 : 300_000);
  let installed: Installed;
  let supervisor: Supervisor;
  let probes: Probes;
  let heaps: HeapWatch | undefined;
  // Registered before the bed's own, so that it runs before the bed is gone.
  after(async () => {
    await heaps?.stop();
    await probes?.stop();
    await supervisor?.stop();
    await installed?.stop();
  });
  const bed = useBed();
  const random = createRandom(seed);
  const injected: Pick<Fault, 'kind' | 'target'>[] = [];
  let shoots: ShootHandle[];
  let undisturbed: string;
  let programs: Component[];
  let convergedSeconds = 0;
  let changes = 0;

  const textOf = async (shoot: ShootHandle): Promise<string> =>
    JSON.stringify(await shoot.state(), undefined, 1).replaceAll(shoot.name, 'shoot');

  /** Processes that are never ended, so that their memory can be followed. */
  const startWitnesses = async (): Promise<HeapWatch> => {
    const preload = join(bed().directory, 'collect.mjs');
    writeFileSync(preload, `process.on('SIGUSR2', () => globalThis.gc());\n`);
    const environment = { NODE_OPTIONS: `--expose-gc --import=${preload}` };
    const { world } = installed;
    const reconciler = await world.startReconciler({
      name: `${RECONCILER}-witness`,
      port: 18_091,
      environment,
      config: {
        modes: { seed: { gardener: {}, extensionServices: true } },
        // It stays a candidate, because it asks so seldom.
        leaderElection: { leaseDurationSeconds: 3_600, renewDeadlineSeconds: 3_000, retryPeriodSeconds: 2_400 },
      },
    });
    const webhook = await webhookReplica(world, 5, environment);
    webhook.component.start();
    return startHeapWatch([
      { component: reconciler, metricsPort: 18_092 },
      { component: webhook.component, metricsPort: webhook.healthPort + 1 },
    ]);
  };

  before('two replicas of each command, and a shoot that is left alone', async () => {
    console.log(`      E2E_SEED=${seed} plays this again; ${long ? 'long' : 'short'} form`);
    installed = await install(bed(), { leaderElection });
    const { client } = installed.world;
    const calm = await createShoot(client, 'shoot--chaos--calm', 1_000);
    await finishShoot(calm);
    shoots = [
      await createShoot(client, 'shoot--chaos--one', 2_000),
      await createShoot(client, 'shoot--chaos--two', 3_000),
    ];
    await waitFor(
      'the calm shoot routes by zone',
      () => textOf(calm),
      (text) => text.split('PreferSameZone').length > 8 && text.split('forZones').length > 40,
    );
    await installed.world.quiet();
    undisturbed = await textOf(calm);
    if (long) heaps = await startWitnesses();
    const { etcd, apiServer, controllerManager } = bed().controlPlane;
    programs = [etcd, apiServer, controllerManager, ...installed.programs.map(({ component }) => component)];
    supervisor = supervise(programs);
    probes = startProbes(installed.programs);
  });

  const play = async (faults: Fault[], until: number, signal: AbortSignal): Promise<void> => {
    for (const fault of faults) {
      if (performance.now() > until) return;
      injected.push({ kind: fault.kind, target: fault.target });
      await fault.inject(signal);
      await pause(random.between(200, long ? 2_000 : 800));
    }
  };

  it('breaks every process in every way while shoots, Services and Pods change', async () => {
    const deck = (): Fault[] =>
      deckOf({
        namespace: bed().namespace,
        programs,
        graceful: installed.programs.map(({ component }) => component),
        ports: { 'kube-apiserver': 6443, etcd: 2379, 'webhook 1': 10_250, 'webhook 2': 10_251 },
        random,
        seconds: long ? [1, 10] : [0.5, 2.5],
      });
    const churn = startChurn(shoots, random);
    const { signal } = new AbortController();
    const until = performance.now() + LONG_MS;
    do await play(deck(), until, signal);
    while (long && performance.now() < until);
    await churn.stop();
    ({ changes } = churn);
    const kinds = injected.map(({ kind }) => kind);
    expect([...new Set(kinds)].sort()).to.deep.equal(['end', 'freeze', 'kill', 'partition']);
    expect(changes, 'changes that the API server took').to.be.above(20);
  });

  it('ends as if nothing had happened', async () => {
    const healed = performance.now();
    await bed().ready();
    await Promise.all(shoots.map(finishShoot));
    for (const shoot of shoots) {
      await waitFor(
        `${shoot.name} as an undisturbed one`,
        async () => differences(await textOf(shoot), undisturbed),
        ({ length }) => length === 0,
        { timeoutSeconds: SETTLE_SECONDS, intervalMs: 250 },
      );
    }
    convergedSeconds = (performance.now() - healed) / 1_000;
  });

  it('writes nothing in circles: after the last change only Leases are renewed', async () => {
    const file = bed().auditLog;
    let mark = auditSize(file);
    let since = performance.now();
    await waitFor(
      `${QUIET_MS} ms without a write`,
      () => {
        const writes = lastingWrites(auditSince(file, mark));
        if (writes.length > 0) {
          mark = auditSize(file);
          since = performance.now();
        }
        return countByKind(writes);
      },
      () => performance.now() - since > QUIET_MS,
      { timeoutSeconds: SETTLE_SECONDS, intervalMs: 500 },
    );
    for (const shoot of shoots) expect(differences(await textOf(shoot), undisturbed), shoot.name).to.deep.equal([]);
  });

  it('was told the truth about liveness and readiness all the time', async () => {
    await waitFor(
      'everything ready',
      () => installed.programs.map(({ component }) => lastAnswer(component)),
      (answers) => answers.every((answer) => answer === 'yes'),
    );
    expect(untruths(probes.seen)).to.deep.equal([]);
  });

  const lastAnswer = ({ name }: Component): string | undefined =>
    probes.seen.findLast((one) => one.name === name && one.path === '/readyz')?.answer;

  if (long) {
    it('keeps its memory: the heap after collection in the last quarter is that of the first', () => {
      for (const [name, samples] of heaps?.samples ?? []) {
        const quarter = Math.floor(samples.length / 4);
        const [first, last] = [median(samples.slice(0, quarter)), median(samples.slice(-quarter))];
        console.log(`      ${name}: heap ${(first / 2 ** 20).toFixed(2)} MiB, then ${(last / 2 ** 20).toFixed(2)} MiB`);
        expect(quarter, `${name}: samples in a quarter`).to.be.at.least(5);
        expect(last / first, `${name}: last quarter of the heap by the first`).to.be.at.most(1.05);
      }
      expect(heaps?.samples.size).to.equal(2);
    });
  }

  it('is told here', () => {
    const faults: Record<string, number> = {};
    for (const { kind } of injected) faults[kind] = (faults[kind] ?? 0) + 1;
    const own = ({ user }: AuditEvent): boolean => COMMAND_USERS.includes(user.username);
    const writes = countByKind(lastingWrites(auditSince(bed().auditLog)).filter(own));
    const restarts = Object.fromEntries(supervisor.restarts);
    const results = {
      seed,
      long,
      faults,
      restarts,
      changes,
      convergedSeconds: Number(convergedSeconds.toFixed(1)),
      writes,
    };
    console.log(JSON.stringify(results, undefined, 2));
    keepResults('chaos', results);
    expect(Object.keys(restarts).sort(), 'started again').to.deep.equal(programs.map(({ name }) => name).sort());
  });
});

/** Lines that only one of the two has, marked with whose they are. */
const differences = (found: string, wanted: string): string[] => {
  const [left, right] = [found.split('\n'), wanted.split('\n')];
  return [
    ...left.filter((line) => !right.includes(line)).map((line) => `+${line}`),
    ...right.filter((line) => !left.includes(line)).map((line) => `-${line}`),
    ...(left.length === right.length ? [] : [`${left.length} lines instead of ${right.length}`]),
  ];
};
