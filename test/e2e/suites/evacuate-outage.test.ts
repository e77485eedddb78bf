// A zone that holds replicas of ours, the leader and an API server among them, is cut off while it is being evacuated; then evacuations whose
// Minutes: 3
// settings-reconcilers are dead, and with every process of ours dead.
// Last, hints are switched off in the whole cluster, with every process alive and dead.
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import type { MutatingWebhookConfiguration } from '../../../pkg/apis/admission.ts';
import type { EndpointSlice } from '../../../pkg/apis/core.ts';
import { COMMANDS, GROUP, LABEL_STRATEGY } from '../../../pkg/apis/names.ts';
import {
  ENDPOINT_SLICES,
  MUTATING_WEBHOOK_CONFIGURATIONS,
  NAMESPACES,
  SERVICES,
  ZONE_EVACUATIONS,
} from '../../../pkg/apis/resources.ts';
import { releaseOperations } from '../../../pkg/evacuation/admit.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { service as serviceFixture } from '../../fixtures/core.ts';
import { type Ran, runTopology } from '../../fixtures/topology-command.ts';
import { mastersGroup } from '../bed/access.ts';
import type { Component } from '../bed/component.ts';
import { type BedNode, type BedPod, type BedService, useBed } from '../bed/index.ts';
import { atLeast, is, waitFor } from '../bed/machine.ts';
import {
  auditLogOn,
  cutOff,
  leaderOf,
  publishWebhooks,
  republishWebhooks,
  startApiServerOn,
  startReplica,
} from '../chaos-faults.ts';
import { describeProxies } from '../commands.ts';
import { allReturned, defineEvacuations, evacuationNamed, isMarked, reachesPhase } from '../evacuations.ts';
import { installFlowPolicies } from '../flow-world.ts';
import { connectAs, each, RECONCILER_USER } from '../hints-support.ts';
import { type Write, readAudit, untilQuiet } from '../settings-audit.ts';

const { endpointSliceWebhook: WEBHOOK, settingsReconciler: RECONCILER, flowController: FLOW } = COMMANDS;
const ZONES = ['a', 'b', 'c'];
const SHOP = 'shop';
const PODS_PER_ZONE = 2;
/** Enough that the leader is in the middle of them when it is stopped. */
const QUIET_SERVICES = 60;
const seconds = (since: number): string => `${((performance.now() - since) / 1_000).toFixed(1)} s`;
const say = (text: string): void => console.log(`      ${text}`);

describe("evacuations with a zone cut off, and with this project's processes dead", function () {
  this.timeout(420_000);
  let client: Client;
  const bed = useBed();
  const nodes: BedNode[] = [];
  const pods: BedPod[] = [];
  /** By zone: webhook, settings-reconciler and flow-controller. */
  const replicas = new Map<string, Component[]>();
  let web: BedService;
  let operator: string;
  let untouched: Map<string, string>;

  const topology = (...words: string[]): Promise<Ran> =>
    runTopology([...words, '--kubeconfig', operator], { now: () => Date.now() });
  const shopSlices = async (): Promise<EndpointSlice[]> =>
    (await client.list<EndpointSlice>(ENDPOINT_SLICES, { namespace: SHOP })).items;
  /** What an evacuation could have changed, by slice. */
  const contents = async (): Promise<Map<string, string>> =>
    new Map((await shopSlices()).map((one) => [one.metadata?.name ?? '', contentOf(one)]));
  const asBefore = async (): Promise<void> => {
    await allReturned(client, { timeoutSeconds: 180 });
    const now = await contents();
    for (const [key, text] of untouched) expect(now.get(key), key).to.equal(text);
  };
  /** Connections that one zone's clients begin are all answered, and so many of them in zone a. */
  const settles = async (zones: readonly string[], what: string, accept: (there: number) => boolean): Promise<void> => {
    for (const node of nodes.filter(({ zone = '' }) => zones.includes(zone)))
      await waitFor(
        `from ${node.name}: ${what}`,
        () => bed().connect({ node, service: web, count: 60, parallel: 30, timeoutMs: 500 }),
        ({ total, byZone }) => total === 60 && accept(byZone['a'] ?? 0),
        { timeoutSeconds: 240 },
      );
  };
  const marked = async (): Promise<number> => (await shopSlices()).filter(isMarked).length;

  before(
    'three zones, two of them with a replica of each command, and an API server of its own in zone a',
    async () => {
      client = await connectAs(bed(), 'helper');
      operator = await bed().kubeconfig({ user: 'operator', groups: [mastersGroup] });
      await describeProxies(bed());
      await defineEvacuations(client);
      await installFlowPolicies(client);
      await client.create(NAMESPACES, { metadata: { name: SHOP } });
      for (const zone of ZONES) nodes.push(await bed().node({ name: `${zone}1`, zone }));
      for (const node of nodes)
        for (let count = 0; count < PODS_PER_ZONE; count += 1)
          pods.push(await bed().pod({ node, app: 'web', namespace: SHOP }));
      web = await bed().service({ name: 'web', namespace: SHOP });
      const others = Array.from({ length: QUIET_SERVICES }, (_, index) => `quiet-${index}`);
      const spec = { clusterIP: 'None', selector: { app: 'web' }, ports: [{ name: 'main', port: 80 }] };
      await each(others, 8, (name) =>
        client.create(SERVICES, serviceFixture({ metadata: { name, namespace: SHOP }, spec })),
      );
      await waitFor(
        'all endpoints published',
        async () => (await shopSlices()).flatMap(({ endpoints }) => endpoints ?? []).length,
        is((QUIET_SERVICES + 1) * pods.length),
      );
      const [a, b] = nodes as [BedNode, BedNode];
      // What API servers call admission through, before the zone is cut off.
      await publishWebhooks(client, [a]);
      await startApiServerOn(bed(), a);
      // Those of zone a first: they lead.
      for (const node of [a, b]) {
        const started: Component[] = [];
        for (const command of [WEBHOOK, RECONCILER, FLOW] as const)
          started.push(await startReplica(bed(), command, { node, ownApiServer: node === a }));
        replicas.set(node.zone ?? '', started);
        for (const command of [RECONCILER, FLOW] as const)
          await waitFor(
            `a leader of ${command}`,
            () => leaderOf(client, command),
            (holder) => holder !== '',
          );
      }
      await settles(ZONES, 'all answered', () => true);
      untouched = await contents();
    },
  );

  it('goes on where the leader stopped that is cut off with its zone, while admission times out, and returns', async () => {
    const [a, b] = nodes as [BedNode, BedNode];
    const [, leader] = replicas.get('a') as [Component, Component];
    const first = await leaderOf(client, RECONCILER);
    const began = performance.now();
    await client.create(ZONE_EVACUATIONS, evacuationNamed('a'));
    // A frozen leader writes nothing more while the zone is being cut off.
    await waitFor('the first slices are written', marked, atLeast(1), { intervalMs: 1 });
    leader.signal('SIGSTOP');
    // The API server that is left has its connection to the webhook in the zone that is about to be cut off.
    const written = (await shopSlices()).find(isMarked);
    const ref = { namespace: SHOP, name: written?.metadata?.name ?? '' };
    await client.patch(ENDPOINT_SLICES, ref, 'merge', { metadata: { labels: { tried: 'yes' } } }, { dryRun: true });
    const outage = await cutOff(a);
    leader.signal('SIGCONT');
    const cut = performance.now();
    await republishWebhooks(client, [a, b]);
    const done = await marked();
    say(
      `zone a is cut off ${seconds(began)} after the evacuation began: ${done} of ${QUIET_SERVICES + 1} slices written`,
    );
    expect(done, 'slices that were written before').to.be.within(1, QUIET_SERVICES);

    // The controller writes slices meanwhile, half of them past admission, or all.
    const pod = pods.find(({ node }) => node.zone === 'b');
    await pod?.setReady(false);
    await waitFor(
      'another leader',
      () => leaderOf(client, RECONCILER),
      (holder) => holder !== '' && holder !== first,
      { timeoutSeconds: 120 },
    );
    say(`another settings-reconciler leads ${seconds(cut)} after the cut`);
    await settles(['b', 'c'], 'no connection to zone a, and none unanswered', (there) => there === 0);
    say(`clients of the other zones reach endpoints only that answer ${seconds(cut)} after the cut`);
    await waitFor('every slice is written', marked, is(QUIET_SERVICES + 1), { timeoutSeconds: 240 });
    await reachesPhase(client, 'a', ['Evacuated'], { timeoutSeconds: 240 });
    const passed = readFileSync(bed().auditLog, 'utf8')
      .split('\n')
      .filter((line) => line.includes('failed-open')).length;
    say(
      `the evacuation is complete ${seconds(cut)} after the cut; ${passed} writes passed admission that did not answer`,
    );
    expect(passed, 'writes past admission').to.be.above(0);
    await pod?.setReady(true);
    await waitFor(
      'every slice is as its mark says, with all endpoints ready',
      shopSlices,
      (all) => all.every((one) => isMarked(one) && (one.endpoints ?? []).every(isPlaced)),
      { timeoutSeconds: 240 },
    );
    const { code, out, err } = await topology('evacuations', 'a');
    expect(code, `${out}${err}`).to.equal(0);

    // The EndpointSlice controller still answers what was written before.
    const isOurs = ({ user, resource }: Write): boolean => user === RECONCILER_USER && resource === 'endpointslices';
    const audits = [bed().auditLog, auditLogOn(bed(), a)].map((file) => readAudit(file, isOurs));
    await outage.heal();
    await settles(ZONES, 'no connection to zone a', (there) => there === 0);
    for (const audit of audits)
      expect(await untilQuiet(audit, 10_000), 'what settings-reconcilers wrote since the zone is back').to.deep.equal(
        [],
      );
    expect((await topology('return', 'a')).code).to.equal(0);
    await asBefore();
    await settles(ZONES, 'zone a again', (there) => there > 0);
  });

  it("returns directly with all of this project's processes dead, by the API server alone", async () => {
    const { code, out, err } = await topology('evacuate', 'a', '--for', '1h');
    expect(code, `${out}${err}`).to.equal(0);
    await settles(ZONES, 'no connection to zone a', (there) => there === 0);
    await Promise.all([...replicas.values()].flat().map((replica) => replica.kill()));
    const started = performance.now();
    const back = await topology('return', 'a', '--direct');
    expect([back.code, back.out], back.err).to.deep.equal([0, 'a has returned: no slice shows an evacuation of it.\n']);
    await settles(ZONES, 'zone a again', (there) => there > 0);
    say(`connections of all zones return ${seconds(started)} after the command`);
    const now = await contents();
    for (const [key, text] of untouched) expect(now.get(key), key).to.equal(text);
  });

  it('switches hints off: with every process alive nothing comes back, and with all dead a webhook that must not fail keeps nothing', async () => {
    const all = [...replicas.values()].flat();
    for (const replica of all) if (replica.pid === undefined) replica.start();
    const hinted = async (): Promise<number> =>
      (await shopSlices()).filter((one) => releaseOperations(one).length > 0).length;
    const labels = { [LABEL_STRATEGY]: 'same-zone' };
    await client.patch(SERVICES, { namespace: SHOP, name: 'web' }, 'merge', { metadata: { labels } });
    await waitFor('same-zone hints', hinted, atLeast(1));
    await client.create(ZONE_EVACUATIONS, evacuationNamed('a'));
    await reachesPhase(client, 'a', ['Evacuated']);

    const off = async (what: string): Promise<void> => {
      const began = performance.now();
      const { code, out, err } = await topology('off');
      say(`${what}: off in ${seconds(began)}; ${out.split('\n')[0]}`);
      expect([code, await hinted()], `${out}${err}`).to.deep.equal([0, 0]);
      await settles(ZONES, 'zone a again', (there) => there > 0);
      say(`${what}: clients of all zones reach all zones ${seconds(began)} after the command`);
    };
    await off('every process alive');
    await reachesPhase(client, 'a', ['Refused']);
    const pod = pods.find(({ node }) => node.zone === 'b');
    for (const ready of [false, true]) {
      await pod?.setReady(ready);
      const isSeen = ({ endpoints }: EndpointSlice): boolean =>
        (endpoints ?? []).every(({ conditions }) => conditions?.ready === true) === ready;
      await waitFor('the controller has written all slices', shopSlices, (slices) => slices.every(isSeen), {
        timeoutSeconds: 120,
      });
    }
    expect(await hinted(), 'after the controller wrote every slice twice').to.equal(0);

    const back = performance.now();
    expect((await topology('on')).code).to.equal(0);
    await waitFor('everything is back', marked, is(QUIET_SERVICES + 1), { timeoutSeconds: 120 });
    await reachesPhase(client, 'a', ['Evacuated']);
    say(`everything is back ${seconds(back)} after on`);

    for (const one of (await client.list<MutatingWebhookConfiguration>(MUTATING_WEBHOOK_CONFIGURATIONS)).items)
      await client.update(MUTATING_WEBHOOK_CONFIGURATIONS, {
        ...one,
        webhooks: (one.webhooks ?? []).map((entry) => ({ ...entry, failurePolicy: 'Fail' as const })),
      });
    await Promise.all(all.map((replica) => replica.kill()));
    const labelled = (await shopSlices()).find(({ metadata }) => metadata?.labels?.[LABEL_STRATEGY] !== undefined);
    const ref = { namespace: SHOP, name: labelled?.metadata?.name ?? '' };
    const refused = await client
      .patch(ENDPOINT_SLICES, ref, 'merge', { metadata: { labels: { tried: 'again' } } }, { dryRun: true })
      .then(() => 'written')
      .catch((error: Error) => error.message);
    expect(refused).to.contain('failed calling webhook');
    await off('every process dead, failurePolicy Fail');
    for (const replica of all) replica.start();
    await reachesPhase(client, 'a', ['Refused'], { timeoutSeconds: 120 });
    expect(await hinted(), 'after all have started').to.equal(0);
  });
});

/** Of the annotations only ours: the controller's say when it wrote. */
const contentOf = ({ metadata, endpoints = [] }: EndpointSlice): string => {
  const annotations = Object.entries(metadata?.annotations ?? {}).filter(([key]) => key.includes(GROUP));
  return JSON.stringify([metadata?.labels, annotations, endpoints]);
};

/** Zone a serves no one, the others serve. */
const isPlaced = ({ zone, conditions, hints }: NonNullable<EndpointSlice['endpoints']>[number]): boolean => {
  const served = (hints?.forZones ?? []).map(({ name }) => name);
  return (
    conditions?.ready === true && served.length > 0 && ZONES.some((one) => served.includes(one)) === (zone !== 'a')
  );
};
