// Kills, freezes and cuts off every process at random under churn; at the end everything is as if nothing had happened.
// Alone: it judges time limits and memory while everything breaks.
// Soak: it is a search, for which ten minutes and every seed are better than forty seconds; `faults-*` kill and cut off one process at a time.
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { ZONE_EVACUATIONS } from '../../../pkg/apis/resources.ts';
import { median } from '../../bench/statistics.ts';
import { ZONES } from '../../fixtures/gardener.ts';
import type { Component } from '../bed/component.ts';
import { useBed } from '../bed/index.ts';
import { ofLength, waitFor } from '../bed/machine.ts';
import { type Fault, createRandom, deckOf, seedOf } from '../chaos-faults.ts';
import {
  BY_LOAD,
  BY_WEIGHT,
  CALM,
  createPlanned,
  HOT,
  SHORTEST,
  startChurn,
  startEvacuations,
  startWitnesses,
} from '../chaos-world.ts';
import type { ChurnedShoot, HeapSamples, PlannedShoot } from '../chaos-world.ts';
import { describeProxies } from '../commands.ts';
import { allReturned, defineEvacuations, evacuationNamed, reachesPhase, startSteadyService } from '../evacuations.ts';
import type { SteadyService } from '../evacuations.ts';
import { type Probes, startProbes, untruths } from '../faults-checks.ts';
import { type Installed, createShoot, finishShoot, install } from '../faults-world.ts';
import { followLoad } from '../flow-world.ts';
import { supervise } from '../kubelet.ts';
import { startMetricsApi } from '../metrics-api.ts';
import { isLongForm } from '../results.ts';
import { readAudit, untilQuiet } from '../settings-audit.ts';

const LONG_MS = 600_000;
const seed = seedOf(process.env);
const leaderElection = { leaseDurationSeconds: 6, renewDeadlineSeconds: 4, retryPeriodSeconds: 1 };
/** Wide enough for whatever is written with a back-off: the longest is the informers' 30 seconds. */
const SETTLE_SECONDS = 150;
const QUIET_MS = 10_000;
/** The zone that is evacuated once all is healed. */
const SICK = ZONES[0] ?? '';
/** Looks at a plan, half a second apart, that must all say the same: longer than the loop waits to change its mind. */
const STEADY_LOOKS = 16;
const CARRIES_OWN = /^(\S+): \1$/;
const carriesOwn = (plan: readonly string[]): boolean => plan.every((one) => CARRIES_OWN.test(one));
const helps = (plan: readonly string[]): boolean => plan.some((one) => !CARRIES_OWN.test(one));

describe('chaos', function () {
  this.timeout(isLongForm ? LONG_MS + 600_000 : 300_000);
  let installed: Installed;
  let restarts: ReadonlyMap<string, number>;
  let probes: Probes;
  let heaps: HeapSamples | undefined;
  let steady: SteadyService;
  const bed = useBed();
  const random = createRandom(seed);
  const injected: Pick<Fault, 'kind' | 'target'>[] = [];
  let calm: ChurnedShoot;
  let shoots: ChurnedShoot[];
  let undisturbed: string;
  /** How the calm shoot helps its hot zone, by the planned Service that is under load. */
  let undisturbedHelp: readonly string[];
  let programs: Component[];

  const textOf = async ({ shoot, planned }: ChurnedShoot): Promise<string> => {
    const state = { ...((await shoot.state()) as object), conditions: await planned.conditions() };
    return JSON.stringify(state, undefined, 1).replaceAll(shoot.name, 'shoot');
  };

  /** Waits until the loop has found a plan for this demand that it keeps. */
  const untilPlanned = async (
    planned: PlannedShoot,
    accept: (plan: readonly string[]) => boolean,
  ): Promise<readonly string[]> => {
    let last = '';
    let same = 0;
    const { plan: found } = await waitFor(
      `a lasting plan of ${planned.namespace}`,
      async () => ({ plan: await planned.plan(BY_LOAD), conditions: await planned.conditions() }),
      ({ plan }) => {
        same = plan.join() === last ? same + 1 : 0;
        last = plan.join();
        return same >= STEADY_LOOKS && accept(plan);
      },
      { timeoutSeconds: SETTLE_SECONDS, intervalMs: 500 },
    );
    return found;
  };

  const createChurned = async (name: string, first: number): Promise<ChurnedShoot> => {
    const { client } = installed.world;
    return { shoot: await createShoot(client, name, first), planned: await createPlanned(client, name) };
  };

  before('two replicas of each command, and a shoot that is left alone', async () => {
    console.log(`      E2E_SEED=${seed} plays this again; ${isLongForm ? 'long' : 'short'} form`);
    // Before the flow-controllers look for the first time: the next look is ten minutes later.
    await describeProxies(bed());
    installed = await install(bed(), { leaderElection, flowControllers: 2 });
    await defineEvacuations(installed.world.client);
    steady = await startSteadyService(bed(), ZONES);
    calm = await createChurned('shoot--chaos--calm', 1_000);
    await finishShoot(calm.shoot);
    shoots = [await createChurned('shoot--chaos--one', 2_000), await createChurned('shoot--chaos--two', 3_000)];
    const readings = followLoad(
      installed.world.client,
      [calm, ...shoots].map(({ planned }) => planned.loaded),
    );
    await startMetricsApi(bed(), { readings });
    calm.planned.loaded.demand = HOT;
    undisturbedHelp = await untilPlanned(calm.planned, helps);
    calm.planned.loaded.demand = CALM;
    await untilPlanned(calm.planned, carriesOwn);
    await waitFor(
      'the calm shoot routes by zone and by plan',
      () => textOf(calm),
      (text) =>
        text.split('PreferSameZone').length > 8 &&
        text.split('forZones').length > 52 &&
        text.includes('Effective PlanInForce'),
    );
    await installed.world.quiet();
    undisturbed = await textOf(calm);
    if (isLongForm) heaps = await startWitnesses(bed(), installed.world);
    const { etcd, apiServer, controllerManager } = bed().controlPlane;
    programs = [etcd, apiServer, controllerManager, ...installed.programs.map(({ component }) => component)];
    restarts = supervise(programs);
    probes = startProbes(installed.programs);
  });

  const play = async (faults: Fault[], until: number, signal: AbortSignal): Promise<void> => {
    for (const fault of faults) {
      if (performance.now() > until) return;
      injected.push({ kind: fault.kind, target: fault.target });
      await fault.inject(signal);
      await pause(random.between(200, isLongForm ? 2_000 : 800));
    }
  };

  it('breaks every process in every way while shoots, Services and Pods change and zones are evacuated', async () => {
    const deck = (): Fault[] =>
      deckOf({
        namespace: bed().namespace,
        programs,
        graceful: installed.programs.map(({ component }) => component),
        ports: { 'kube-apiserver': 6443, etcd: 2379, 'webhook 1': 10_250, 'webhook 2': 10_251, 'metrics API': 10_443 },
        random,
        seconds: isLongForm ? [1, 10] : [0.5, 2.5],
      });
    const churn = startChurn(shoots, random);
    const evacuating = startEvacuations(installed.world.client, ZONES, random);
    const { signal } = new AbortController();
    const until = performance.now() + LONG_MS;
    do await play(deck(), until, signal);
    while (isLongForm && performance.now() < until);
    await Promise.all([churn.stop(), evacuating.stop()]);
    const kinds = injected.map(({ kind }) => kind);
    expect([...new Set(kinds)].sort()).to.deep.equal(['end', 'freeze', 'kill', 'partition']);
    expect(churn.changes, 'changes that the API server took').to.be.above(20);
    expect(evacuating.changes, 'evacuations that the API server took').to.be.above(2);
  });

  it('ends evacuations whose time is over, or that were deleted, whatever was dead meanwhile', async () => {
    await bed().ready();
    await allReturned(installed.world.client, { timeoutSeconds: SETTLE_SECONDS });
    await steady.settles(SICK, 'its share again', (there) => there > 0);
  });

  it('ends as if nothing had happened', async () => {
    await bed().ready();
    await Promise.all(shoots.flatMap(({ shoot, planned }) => [finishShoot(shoot), planned.finish()]));
    // A slice that is deleted before the EndpointSlice controller's cache has it makes that controller wait for it, up to a
    // quarter of an hour at a time ("EndpointSlice informer cache is out of date"); one that begins anew waits for nothing.
    await bed().controlPlane.controllerManager.kill();
    for (const shoot of shoots) {
      await waitFor(
        `${shoot.planned.namespace} as an undisturbed one`,
        async () => differences(await textOf(shoot), undisturbed),
        ofLength(0),
        { timeoutSeconds: SETTLE_SECONDS, intervalMs: 250 },
      );
    }
  });

  it('evacuates although its leaders are killed at once, and the evacuation ends by its time', async () => {
    const { client } = installed.world;
    await client.create(ZONE_EVACUATIONS, evacuationNamed('last', { zone: SICK, duration: SHORTEST }));
    await reachesPhase(client, 'last', ['Pending', 'Moving', 'Evacuated']);
    await Promise.all(installed.reconcilers.map(({ component }) => component.kill()));
    await steady.settles(SICK, 'none', (there) => there === 0);
    await allReturned(client, { timeoutSeconds: SETTLE_SECONDS });
    await steady.settles(SICK, 'its share again', (there) => there > 0);
    const { items } = await client.list(ZONE_EVACUATIONS);
    for (const { metadata } of items) await client.delete(ZONE_EVACUATIONS, { name: metadata?.name ?? '' });
  });

  it('never left a Service without usable endpoints: every connection of clients in all zones was answered', () => {
    expect(steady.failures).to.deep.equal([]);
    expect(steady.answered, 'connections').to.be.above(1_000);
  });

  it('writes nothing in circles: after the last change only Leases are renewed', async () => {
    const audit = readAudit(bed().auditLog, ({ resource, status }) => resource !== 'leases' && status < 300);
    await untilQuiet(audit, QUIET_MS, 1_000 * SETTLE_SECONDS);
    for (const shoot of shoots)
      expect(differences(await textOf(shoot), undisturbed), shoot.planned.namespace).to.deep.equal([]);
  });

  it('plans as an undisturbed loop does: the hot zone is helped alike', async () => {
    for (const { planned } of shoots) planned.loaded.demand = HOT;
    for (const { planned } of shoots) await untilPlanned(planned, (plan) => plan.join() === undisturbedHelp.join());
    for (const { planned } of shoots)
      expect(new Set(await planned.plan(BY_WEIGHT)), planned.namespace).to.deep.equal(
        new Set(await calm.planned.plan(BY_WEIGHT)),
      );
  });

  it('got true answers about liveness and readiness all the time', async () => {
    await waitFor(
      'everything ready',
      () => installed.programs.map(({ component }) => lastAnswer(component)),
      (answers) => answers.every((answer) => answer === 'yes'),
    );
    expect(untruths(probes.seen)).to.deep.equal([]);
  });

  const lastAnswer = ({ name }: Component): string | undefined =>
    probes.seen.findLast((one) => one.name === name && one.path === '/readyz')?.answer;

  if (isLongForm)
    it('keeps its memory: the heap after collection in the last quarter is that of the first', () => {
      for (const [name, samples] of heaps ?? []) {
        const quarter = Math.floor(samples.length / 4);
        const [first, last] = [median(samples.slice(0, quarter)), median(samples.slice(-quarter))];
        console.log(`      ${name}: heap ${(first / 2 ** 20).toFixed(2)} MiB, then ${(last / 2 ** 20).toFixed(2)} MiB`);
        expect(quarter, `${name}: samples in a quarter`).to.be.at.least(5);
        expect(last / first, `${name}: last quarter of the heap by the first`).to.be.at.most(1.05);
      }
      expect(heaps?.size).to.equal(3);
    });

  it('started every process again', () =>
    expect([...restarts.keys()].sort()).to.deep.equal(programs.map(({ name }) => name).sort()));
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
