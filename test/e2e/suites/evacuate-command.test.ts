// SPDX-License-Identifier: Apache-2.0
// `kubectl topology evacuate`, `evacuations` and `return` on a real API server with real kube-proxies and both commands: from what is typed to
// what connections do, with rights and without, what a real Prometheus knows meanwhile, and the way back with none of this project's processes alive.
// Needs: prometheus
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { ENDPOINT_SLICES, ZONE_EVACUATIONS } from '../../../pkg/apis/resources.ts';
import type { SurvivalReport } from '../../../pkg/diagnosis/survival/types.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { runTopology } from '../../fixtures/topology-command.ts';
import type { Ran, World } from '../../fixtures/topology-command.ts';
import type { Component } from '../bed/component.ts';
import type { BedNode, BedService } from '../bed/index.ts';
import { mastersGroup } from '../bed/kubeconfig.ts';
import { useBed } from '../bed/mocha.ts';
import { waitFor } from '../bed/wait-for.ts';
import { describeProxies, startWebhook } from '../commands.ts';
import { AS_INSTALLED, defineEvacuations, markedSlices, reachesPhase } from '../evacuations.ts';
import type { StoredEvacuation } from '../evacuations.ts';
import { startReconciler } from '../hints-commands.ts';
import { connectAs } from '../hints-support.ts';
import { startExporter, startPrometheus } from '../prometheus.ts';
import type { Exporter, Prometheus } from '../prometheus.ts';

type ByZone = Readonly<Record<string, number>>;

/** Of a hundred requests of clients, by zone of the server. */
const FAILED: Readonly<Record<string, number>> = { a: 5, b: 1, c: 0 };
const PROMETHEUS = 'http://127.0.0.1:9090';
const ERRORS = {
  name: 'errors',
  unit: 'Ratio',
  query: 'sum by (zone) (client_requests_total{code="500"}) / sum by (zone) (client_requests_total)',
};

describe('the commands that evacuate a zone', function commands() {
  this.timeout(120_000);
  const bed = useBed();
  const nodes: BedNode[] = [];
  let web: BedService;
  let client: Client;
  let webhook: Component;
  let reconciler: Component;
  let operator: string;
  let exporter: Exporter;
  let prometheus: Prometheus;

  const topology = (words: readonly string[], world: World = {}, kubeconfig = operator): Promise<Ran> =>
    runTopology([...words, '--kubeconfig', kubeconfig], { now: () => Date.now(), ...world });
  const run = (line: string, world: World = {}): Promise<Ran> => topology(line.split(' '), world);

  const settles = (node: BedNode, what: string, accept: (byZone: ByZone) => boolean) =>
    waitFor(
      `from ${node.name}: ${what}`,
      () => bed().connect({ node, service: web, count: 60, timeoutMs: 1_000 }),
      ({ total, byZone }) => total === 60 && accept(byZone),
    );
  const leavesA = (byZone: ByZone): boolean => byZone['a'] === undefined;

  before('three zones, one Service, and both commands', async () => {
    client = await connectAs(bed(), 'helper');
    operator = await bed().kubeconfig({ user: 'operator', groups: [mastersGroup] });
    await describeProxies(bed());
    await defineEvacuations(client);
    webhook = await startWebhook(bed());
    exporter = await startExporter(() =>
      Object.entries(FAILED).flatMap(([zone, failed]) =>
        Object.entries({ 200: 100 - failed, 500: failed }).map(([code, value]) => ({
          name: 'client_requests_total',
          labels: { zone, code },
          value,
        })),
      ),
    );
    prometheus = await startPrometheus(bed(), { jobs: [{ name: 'clients', targets: [exporter.target] }] });
    const evacuation = { prometheus: { url: PROMETHEUS }, measurements: [ERRORS], intervalSeconds: 5 };
    reconciler = await startReconciler(bed(), { config: { ...AS_INSTALLED.config, evacuation } });
    for (const zone of ['a', 'b', 'c']) nodes.push(await bed().node({ name: `${zone}1`, zone }));
    for (const node of nodes) for (let count = 0; count < 2; count += 1) await bed().pod({ node, app: 'web' });
    web = await bed().service({ name: 'web' });
    await waitFor(
      'six endpoints',
      () => web.endpoints(),
      ({ length }) => length === 6,
    );
    await settles(nodes[0]!, 'reaches zone a', ({ a = 0 }) => a > 0);
  });
  after('the client', async () => {
    await exporter?.stop();
    await client?.close();
  });

  it('audit --without answers, and forecasts what the others get', async () => {
    const { code, out } = await run('audit --without a -o json');
    const report = JSON.parse(out) as SurvivalReport;
    const found = report.services.find(({ name }) => name === 'web');
    expect([code, report.survives, found?.answer]).to.deep.equal([0, true, 'Survives']);
    expect(found?.load?.after).to.be.closeTo(1.5, 1e-9);
    expect(found?.unmoved).to.deep.equal([]);
  });

  it('a dry run asks the API server, rules of the definition included, and leaves nothing', async () => {
    expect((await run('evacuate a --for 2h --dry-run')).code).to.equal(0);
    const { code, err } = await run('evacuate a --for 8d --dry-run');
    expect([code, err.includes('must be between 1m and 168h')], err).to.deep.equal([2, true]);
    expect((await client.list(ZONE_EVACUATIONS)).items).to.deep.equal([]);
  });

  it('without the right to evacuate it is refused', async () => {
    const viewer = await bed().kubeconfig({ user: 'viewer', groups: [] });
    const { code, err } = await topology(['evacuate', 'a', '--for', '2h'], {}, viewer);
    expect([code, /forbidden|may not/i.test(err)], err).to.deep.equal([2, true]);
    expect((await client.list(ZONE_EVACUATIONS)).items).to.deep.equal([]);
  });

  it('evacuate ends when it is done: then no new connection goes there, and the others get what was forecast', async () => {
    const started = performance.now();
    const ran = run('evacuate a --for 2h --reason test');
    await settles(nodes[0]!, 'leaves zone a', leavesA);
    const last = performance.now() - started;
    const { code, out, err } = await ran;
    expect(code, `${out}${err}`).to.equal(0);
    console.log(
      `      from the command to the last new connection: ${Math.round(last)} ms; to its end: ${Math.round(performance.now() - started)} ms`,
    );
    expect(out).to.contain('kubectl topology return a');
    for (const node of nodes) await settles(node, 'leaves zone a', leavesA);
    const counts = new Map<string, number>();
    for (const node of nodes) {
      const { byZone } = await bed().connect({ node, service: web, count: 600, timeoutMs: 1_000 });
      for (const [zone, count] of Object.entries(byZone)) counts.set(zone, (counts.get(zone) ?? 0) + count);
    }
    const busiest = Math.max(...counts.values()) / 2 / (1_800 / 6);
    console.log(`      busiest zone's endpoints: ${busiest.toFixed(3)} times a fair share, 1.5 was forecast`);
    expect(busiest).to.be.within(1.5 * 0.9, 1.5 * 1.1);
    const list = await run('evacuations');
    expect(list.out).to.match(/^a +a +100 % +Evacuated /m);
  });

  it('condition, evacuations and status say what clients measure, as Prometheus knows it, and that they do not know it', async () => {
    const says = (status: string, message: RegExp) =>
      waitFor(
        `the condition Measured is ${status}`,
        async () =>
          (await client.get<StoredEvacuation>(ZONE_EVACUATIONS, { name: 'a' })).status?.conditions?.find(
            ({ type }) => type === 'Measured',
          ),
        (found) => found?.status === status && message.test(found.message),
        { timeoutSeconds: 30 },
      );
    await says('True', /^errors: 5 % in a, at most 1 % elsewhere \(b\)$/);
    for (const line of ['evacuations a', 'status --no-probe'])
      expect((await run(line)).out.replaceAll(/\s+/g, ' '), line).to.contain('measured: errors: 5 % in a, at most 1 %');
    await prometheus.stop();
    await says('Unknown', /^errors: no answer: ECONNREFUSED$/);
  });

  it('a second operator is refused, and another zone is possible while one is left', async () => {
    const second = await run('evacuate a --for 1h --force');
    expect([second.code, second.err.includes('a is evacuated already (test)')], second.err).to.deep.equal([2, true]);
    const last = await run('evacuate b --for 1h');
    expect([last.code, last.out.includes('Overloaded')], last.out).to.deep.equal([1, true]);
  });

  it('return --percent brings a share back, and return all of it', async () => {
    const few = await run('return a --percent 25');
    expect(
      [few.code, few.out.includes('0 of 2 endpoints in a get new connections; each Service')],
      few.out,
    ).to.deep.equal([0, true]);
    const half = await run('return a --percent 25 --round up');
    expect([half.code, half.out.includes('1 of 2 endpoints in a get new connections')], half.out).to.deep.equal([
      0,
      true,
    ]);
    const less = await run('return a --percent 10');
    expect([less.code, less.err.includes('would evacuate more')], less.err).to.deep.equal([2, true]);
    await settles(nodes[0]!, 'reaches one endpoint of zone a', ({ a = 0 }) => a > 0);
    const ran = await run('return a');
    expect([ran.code, ran.out], ran.err).to.deep.equal([0, 'a has returned: no slice shows an evacuation of it.\n']);
    expect(await markedSlices(client)).to.deep.equal([]);
    await settles(nodes[1]!, 'reaches zone a', ({ a = 0 }) => a > 0);
  });

  it('Ctrl-C leaves it running and says so; it is done all the same', async () => {
    const away = new AbortController();
    const { code, err } = await run('evacuate a --for 2h', { signal: away.signal, onErr: () => away.abort() });
    expect([code, err.includes('not finished yet: ZoneEvacuation a was made')], err).to.deep.equal([1, true]);
    await reachesPhase(client, 'a', ['Evacuated']);
    await settles(nodes[0]!, 'leaves zone a', leavesA);
  });

  it('return --direct needs the API server alone: both commands are dead', async () => {
    await Promise.all([webhook.kill(), reconciler.kill()]);
    const started = performance.now();
    const { code, out, err } = await run('return a --direct');
    expect([code, out], err).to.deep.equal([0, 'a has returned: no slice shows an evacuation of it.\n']);
    await settles(nodes[0]!, 'reaches zone a', ({ a = 0 }) => a > 0);
    console.log(
      `      with everything of ours dead, connections return ${Math.round(performance.now() - started)} ms after the command`,
    );
    expect(await markedSlices(client)).to.deep.equal([]);
    expect(JSON.stringify(await client.list(ENDPOINT_SLICES))).not.to.contain('evacuated.topology');
  });
});
