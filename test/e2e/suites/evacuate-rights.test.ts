// Who may evacuate, what two operators at once come to, a restart of everything in between, on real programs.
//   E2E_PROXIES=1.34,1.30    versions of kube-proxy, spread over the nodes; `make soak` takes every version
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { parse } from 'yaml';
import { ENDPOINT_SLICES, ZONE_EVACUATIONS } from '../../../pkg/apis/resources.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { type Ran, runTopology } from '../../fixtures/topology-command.ts';
import { yamlBlocks } from '../../support/docs/markdown.ts';
import { type ClusterRole, grant, mastersGroup } from '../bed/access.ts';
import type { Component } from '../bed/component.ts';
import { type BedNode, type BedService, useBed } from '../bed/index.ts';
import { ofLength, waitFor } from '../bed/machine.ts';
import { documents, INJECTED, openHelm } from '../chart.ts';
import { describeProxies, restartWebhook, startWebhook } from '../commands.ts';
import { AS_INSTALLED, defineEvacuations, markedSlices } from '../evacuations.ts';
import { connectAs, describeReconciler } from '../hints-support.ts';
import { proxyVersions } from '../model-cluster.ts';
import type { ZoneEvacuation } from '../../../pkg/apis/zone-evacuation.ts';

const ZONES = ['eu-1a', 'eu-1b', 'eu-1c'] as const;
const [ZONE] = ZONES;
const PAGE = 'docs/operations/evacuate.md';

describe('evacuations by several people, on several kube-proxies', function suite() {
  this.timeout(240_000);
  let client: Client;
  const bed = useBed();
  const nodes: BedNode[] = [];
  let web: BedService;
  let webhook: Component;
  let reconciler: Component;
  let reconcilerReady: () => Promise<void>;
  let operator: string;

  const topology = (...words: string[]): Promise<Ran> =>
    runTopology([...words, '--kubeconfig', operator], { now: () => Date.now() });
  const evacuations = async (): Promise<ZoneEvacuation[]> =>
    (await client.list<ZoneEvacuation>(ZONE_EVACUATIONS)).items;
  const settles = (node: BedNode, what: string, accept: (there: number) => boolean) =>
    waitFor(
      `from ${node.name}: ${what}`,
      () => bed().connect({ node, service: web, count: 60, timeoutMs: 1_000 }),
      ({ total, byZone }) => total === 60 && accept(byZone[ZONE] ?? 0),
    );
  const returnAll = async (): Promise<void> => {
    for (const { spec } of await evacuations()) await topology('return', spec.zone);
    await waitFor('no slice is marked', () => markedSlices(client), ofLength(0));
  };

  before('three zones with a node for each kube-proxy, and both commands', async () => {
    client = await connectAs(bed(), 'helper');
    operator = await bed().kubeconfig({ user: 'operator', groups: [mastersGroup] });
    await describeProxies(bed());
    await defineEvacuations(client);
    webhook = await startWebhook(bed());
    ({ reconciler, ready: reconcilerReady } = await describeReconciler(bed(), AS_INSTALLED));
    reconciler.start();
    await reconcilerReady();
    const versions = proxyVersions(process.env);
    for (const [index, zone] of ZONES.entries()) {
      nodes.push(await bed().node({ name: `${zone}-0`, zone }));
      const proxyVersion = versions[index % versions.length] ?? '';
      nodes.push(await bed().node({ name: `${zone}-${proxyVersion.replace('.', '-')}`, zone, proxyVersion }));
    }
    // A version may have more nodes, so that each has one.
    for (const proxyVersion of versions.slice(ZONES.length))
      nodes.push(await bed().node({ name: `more-${proxyVersion.replace('.', '-')}`, zone: ZONE, proxyVersion }));
    for (const node of nodes.slice(0, 6)) await bed().pod({ node, app: 'web' });
    // Proxies up to 1.32 follow hints where the annotation is.
    web = await bed().service({ name: 'web', annotations: { 'service.kubernetes.io/topology-mode': 'Auto' } });
    for (const node of nodes) await settles(node, 'reaches the Service', () => true);
  });

  it("gives the right to evacuate and the right to read evacuations apart, by the chart's roles", async () => {
    const helm = await openHelm();
    const rendered = documents(await helm.template(INJECTED.plain)).filter(
      ({ kind, metadata }) => kind === 'ClusterRole' && /:(?:evacuate|read-evacuations)$/.test(metadata?.name ?? ''),
    );
    expect(rendered).to.have.lengthOf(2);
    for (const role of rendered) {
      const { name = '' } = role.metadata ?? {};
      const user = name.endsWith(':evacuate') ? 'evacuator' : 'reader';
      await grant(bed().api, role, { kind: 'User', name: user });
    }
    const wish = { metadata: { name: 'tried' }, spec: { zone: ZONE, duration: '1h' } };
    const may = async (user: string): Promise<string[]> => {
      const as = await connectAs(bed(), user, []);
      const ways: [string, () => Promise<unknown>][] = [
        ['list', () => as.list(ZONE_EVACUATIONS)],
        ['create', () => as.create(ZONE_EVACUATIONS, wish, { dryRun: true })],
        ['status', () => as.patch(ZONE_EVACUATIONS, { name: 'x' }, 'merge', {}, { subresource: 'status' })],
        ['slices', () => as.patch(ENDPOINT_SLICES, { namespace: 'default', name: 'x' }, 'merge', {}, {})],
      ];
      const found: string[] = [];
      for (const [name, way] of ways) {
        const answer = await way().catch(String);
        if (!/forbidden/i.test(String(answer))) found.push(name);
      }
      await as.close();
      return found;
    };
    await waitFor(
      'what each may',
      async () => [await may('evacuator'), await may('reader'), await may('stranger')],
      (found) => JSON.stringify(found) === JSON.stringify([['list', 'create'], ['list'], []]),
    );
  });

  it('lets who has the right to evacuate and the rights of `status` do both', async () => {
    const role = yamlBlocks('docs/usage/status.md').find((block) => block.includes('kind: ClusterRole')) ?? '';
    await grant(bed().api, parse(role) as ClusterRole, { kind: 'User', name: 'evacuator' });
    const access = ['--kubeconfig', await bed().kubeconfig({ user: 'evacuator' })];
    const onCall = (...words: string[]): Promise<Ran> => runTopology([...words, ...access], { now: () => Date.now() });
    const allowed = await waitFor(
      'the check may read what it needs',
      () => onCall('evacuate', ZONE, '--for', '1h'),
      ({ err }) => !/forbidden/.test(err),
    );
    expect(allowed.code, allowed.out + allowed.err).to.equal(0);
    const back = await onCall('return', ZONE);
    expect(back.code, back.out + back.err).to.equal(0);
  });

  it("takes the object of the page's alert from an account that may do nothing else, and moves", async () => {
    const text = yamlBlocks(PAGE).find((block) => block.includes('kind: ZoneEvacuation')) ?? '';
    const receiver = await connectAs(bed(), 'evacuator', []);
    await receiver.create(ZONE_EVACUATIONS, parse(text) as ZoneEvacuation);
    await receiver.close();
    await waitFor('what the alert made is done', evacuations, ([one]) => one?.status?.phase === 'Evacuated');
    await returnAll();
  });

  it("moves every kube-proxy there is, although all of this project's processes are killed right after the object was created", async () => {
    const ran = topology('evacuate', ZONE, '--for', '1h', '--no-wait');
    expect((await ran).code).to.equal(0);
    await Promise.all([webhook.kill(), reconciler.kill()]);
    await restartWebhook(webhook);
    reconciler.start();
    await reconcilerReady();
    for (const node of nodes) await settles(node, `leaves ${ZONE}`, (there) => there === 0);
    await returnAll();
    // Routed by zone, clients elsewhere stay at home.
    for (const node of nodes.filter(({ zone }) => zone === ZONE))
      await settles(node, `reaches ${ZONE}`, (there) => there > 0);
  });

  it('takes one of two operators who evacuate the same zone at once, and says to the other that it is evacuated', async () => {
    const both = await Promise.all(
      ['one', 'two'].map((reason) => topology('evacuate', ZONE, '--for', '1h', '--reason', reason)),
    );
    expect(
      both.map(({ code }) => code).sort((left, right) => left - right),
      both.map(({ err }) => err).join(),
    ).to.deep.equal([0, 2]);
    expect(both.find(({ code }) => code === 2)?.err).to.contain(`${ZONE} is evacuated already`);
    await returnAll();
  });

  it('lets at most one of two operators go on who evacuate two zones at once that are too much together', async () => {
    const both = await Promise.all(ZONES.slice(0, 2).map((zone) => topology('evacuate', zone, '--for', '1h')));
    const said = both.map(({ out, err }) => `${out}${err}`).join();
    expect(both.filter(({ code }) => code === 0).length, said).to.be.at.most(1);
    expect((await evacuations()).length, said).to.be.at.most(1);
    for (const { code, err } of both) if (code !== 0) expect(err).to.match(/withdrawn|refused, nothing was written/);
    for (const node of nodes) await settles(node, 'every connection is answered', () => true);
    await returnAll();
  });
});
