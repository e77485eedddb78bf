// Shows on real kube-proxies that an evacuated zone gets no new connections, however Services ask, and that all of it is taken back.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import type { EndpointSlice } from '../../../pkg/apis/core.ts';
import { ANNOTATION_TOPOLOGY_MODE, GROUP, LABEL_STRATEGY, NOWHERE } from '../../../pkg/apis/names.ts';
import { ENDPOINT_SLICES, FLOW_POLICIES, ZONE_EVACUATIONS } from '../../../pkg/apis/resources.ts';
import type { ZoneEvacuation, ZoneEvacuationSpec } from '../../../pkg/apis/zone-evacuation.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { rejection } from '../../fixtures/eventually.ts';
import { mastersGroup } from '../bed/access.ts';
import type { Component } from '../bed/component.ts';
import { type BedNode, type BedPod, type BedService, useBed } from '../bed/index.ts';
import { ofLength, waitFor } from '../bed/machine.ts';
import { restartWebhook, startWebhook } from '../commands.ts';
import { allReturned, AS_INSTALLED, defineEvacuations, evacuationNamed, reachesPhase } from '../evacuations.ts';
import { describeFlowController, installFlowPolicies, policyOf, QUICK } from '../flow-world.ts';
import { connectAs, describeReconciler, serviceSelector, slicesOf } from '../hints-support.ts';
import { type PodReading, startMetricsApi } from '../metrics-api.ts';

const SHOP = 'shop';
const ANNOTATED = { [ANNOTATION_TOPOLOGY_MODE]: 'Auto' };
const asking = (strategy: string): Record<string, string> => ({ [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/${strategy}` });
/** Services whose hints the flow-controller plans, and all whose hints someone gives them for sure; `auto` is the EndpointSlice controller's to judge. */
const PLANNED: ReadonlySet<string> = new Set(['weights', 'load']);
const HINTED: ReadonlySet<string> = new Set(['field', 'label', 'node', ...PLANNED]);

const hintsIn = (slices: readonly EndpointSlice[]): string[] =>
  slices.flatMap(({ endpoints }) =>
    (endpoints ?? []).map(({ zone, hints }) => `${zone}: ${(hints?.forZones ?? []).map(({ name }) => name).join('+')}`),
  );
describe('evacuating a zone', () => {
  const bed = useBed();
  const nodes: BedNode[] = [];
  const services: BedService[] = [];
  let old: BedNode;
  let client: Client;
  let webhook: Component;
  let reconciler: Component;
  let reconcilerReady: () => Promise<void>;
  let untouched: Map<string, string[]>;

  const evacuate = (name: string, spec: Partial<ZoneEvacuationSpec>): Promise<ZoneEvacuation> =>
    client.create(ZONE_EVACUATIONS, evacuationNamed(name, spec));
  const reaches = (name: string, ...phases: string[]): Promise<ZoneEvacuation> => reachesPhase(client, name, phases);
  const end = (name: string): Promise<void> => client.delete(ZONE_EVACUATIONS, { name });
  const slices = (service: BedService): Promise<EndpointSlice[]> =>
    slicesOf(client, service.namespace, serviceSelector(service.name));

  /** Connections from a node by zone; waits until one run of 60 is as wanted. */
  const settles = (
    node: BedNode,
    service: BedService,
    what: string,
    accept: (byZone: Readonly<Record<string, number>>) => boolean,
    family: 'IPv4' | 'IPv6' = 'IPv4',
  ) =>
    waitFor(
      `${service.namespace}/${service.name} from ${node.name} (${family}): ${what}`,
      () => bed().connect({ node, service, count: 60, timeoutMs: 1_000, family }),
      ({ total, byZone }) => total === 60 && accept(byZone),
    );
  const leavesA = (byZone: Readonly<Record<string, number>>): boolean => byZone['a'] === undefined;

  const returned = async (): Promise<void> => {
    await allReturned(client);
    for (const service of services) {
      const key = `${service.namespace}/${service.name}`;
      await waitFor(
        `${key} has the hints of before`,
        async () => hintsIn(await slices(service)).sort(),
        // A plan is made anew where Pods came and went meanwhile.
        (hints) =>
          PLANNED.has(service.name)
            ? hints.every((text) => !text.endsWith(': '))
            : JSON.stringify(hints) === JSON.stringify(untouched.get(key)),
      );
    }
  };

  before('three zones, Services that ask in every way, and both commands', async () => {
    await bed().api.create('/api/v1/namespaces', { metadata: { name: SHOP } });
    client = await connectAs(bed(), 'operator');
    await defineEvacuations(client);
    webhook = await startWebhook(bed());
    await installFlowPolicies(client);
    const planner = await describeFlowController(bed());
    planner.controller.start();
    await planner.ready();
    ({ reconciler, ready: reconcilerReady } = await describeReconciler(bed(), AS_INSTALLED));
    reconciler.start();
    await reconcilerReady();
    for (const zone of ['a', 'b', 'c']) {
      for (const number of [1, 2]) nodes.push(await bed().node({ name: `${zone}${number}`, zone }));
    }
    old = await bed().node({ name: 'a-old', zone: 'a', proxyVersion: '1.30' });
    const pods: BedPod[] = [];
    /** No Pod has too much to do: each serves its own zone. */
    const readings = (): PodReading[] =>
      pods
        .filter(({ namespace }) => namespace === SHOP)
        .map(({ name }) => ({
          namespace: SHOP,
          pod: name,
          labels: { app: 'web' },
          cores: 0.3,
          sampledAt: Date.now() / 1_000,
          window: 1,
        }));
    await startMetricsApi(bed(), { readings });
    await client.create(FLOW_POLICIES, policyOf(SHOP, 'load', QUICK));
    for (const node of nodes) pods.push(await bed().pod({ node, app: 'web', namespace: SHOP }));
    for (const node of nodes) pods.push(await bed().pod({ node, app: 'dns', namespace: 'kube-system' }));
    const common = { namespace: SHOP, app: 'web', ipFamilyPolicy: 'RequireDualStack' as const };
    services.push(
      await bed().service({ ...common, name: 'plain' }),
      await bed().service({ ...common, name: 'field', trafficDistribution: 'PreferClose' }),
      await bed().service({ ...common, name: 'label', labels: { [LABEL_STRATEGY]: 'same-zone' } }),
      await bed().service({ ...common, name: 'auto', annotations: ANNOTATED }),
      await bed().service({ name: 'dns', namespace: 'kube-system', ipFamilyPolicy: 'RequireDualStack' }),
      await bed().service({ ...common, name: 'node', trafficDistribution: 'PreferSameNode' }),
      await bed().service({ ...common, name: 'weights', annotations: asking('proportional') }),
      await bed().service({ ...common, name: 'load', annotations: asking('load-aware') }),
    );
    for (const service of services)
      await waitFor(`${service.name} has 12 endpoints`, () => service.endpoints(), ofLength(12));
    for (const service of services)
      await settles(nodes[0]!, service, 'reaches zone a', (byZone) => (byZone['a'] ?? 0) > 0);
    for (const service of services.filter(({ name }) => HINTED.has(name)))
      await waitFor(
        `every endpoint of ${service.name} has hints`,
        async () => hintsIn(await slices(service)),
        (hints) => hints.every((text) => !text.endsWith(': ')),
      );
    untouched = new Map();
    for (const service of services)
      untouched.set(`${service.namespace}/${service.name}`, hintsIn(await slices(service)).sort());
  });

  const wrong: { name: string; spec: Partial<Record<keyof ZoneEvacuationSpec, unknown>> }[] = [
    { name: 'without duration', spec: { duration: undefined } },
    { name: 'for more than seven days', spec: { duration: '169h' } },
    { name: 'for less than a minute', spec: { duration: '30s' } },
    { name: 'of 0 percent', spec: { percent: 0 } },
    { name: 'of a zone that no label could be', spec: { zone: 'a b' } },
    { name: 'with In and no values', spec: { serviceSelector: { matchExpressions: [{ key: 'x', operator: 'In' }] } } },
  ];
  for (const { name, spec } of wrong) {
    it(`is refused by the API server ${name}`, async () => {
      const refusal = await rejection(evacuate('wrong', spec as Partial<ZoneEvacuationSpec>));
      expect(String(refusal)).to.match(/422|Invalid/);
    });
  }

  it('sends no new connection there, from anywhere, in any family', async function () {
    this.timeout(120_000);
    const started = performance.now();
    await evacuate('a', { reason: 'a test' });
    const [client1] = nodes;
    const service = services[0]!;
    await settles(client1!, service, 'leaves zone a', leavesA);
    const first = performance.now() - started;
    for (const one of services) {
      for (const node of nodes)
        for (const family of ['IPv4', 'IPv6'] as const) await settles(node, one, 'leaves zone a', leavesA, family);
    }
    const status = await reaches('a', 'Evacuated');
    console.log(`      no new connection of one Service ${Math.round(first)} ms after the object was made`);
    expect(status.status?.services).to.include({ pending: 0 });
    expect(status.status?.services?.moved).to.be.at.least(services.length);
  });

  it('shows its columns to kubectl, has Events on it and on Services, and takes no other zone', async () => {
    const kubeconfig = await bed().kubeconfig({ user: 'admin', groups: [mastersGroup] });
    const kubectl = async (...words: string[]): Promise<string> =>
      (await promisify(execFile)(bed().binaries('kubectl'), ['--kubeconfig', kubeconfig, ...words])).stdout;
    const [titles = '', row = ''] = (await kubectl('get', 'zoneevacuations')).split('\n');
    expect(titles.split(/ +/)).to.include.members(['NAME', 'ZONE', 'PHASE', 'MOVED', 'PENDING', 'LEFT', 'EXPIRES']);
    expect(row).to.match(/^a +a +100 +Evacuated +\d+ +0 +\d+ +\S+Z +a test *$/);
    await waitFor(
      'Events on the evacuation and on a Service',
      () =>
        kubectl('get', 'events', '-A', '-o', 'custom-columns=O:.involvedObject.kind,N:.involvedObject.name,R:.reason'),
      (events) => /ZoneEvacuation +a +ZoneEvacuated/.test(events) && /Service +plain +EvacuatedFromZone/.test(events),
    );
    const refusal = await client.patch(ZONE_EVACUATIONS, { name: 'a' }, 'merge', { spec: { zone: 'b' } }).catch(String);
    expect(refusal).to.contain('cannot be changed: create another ZoneEvacuation');
  });

  it('keeps clients elsewhere at home, and those of the zone spread over the others', async () => {
    const [inA, , inB] = nodes;
    const field = services[1]!;
    const { byZone: fromA } = await settles(inA!, field, 'b and c', ({ b = 0, c = 0 }) => b > 10 && c > 10);
    expect(fromA).not.to.have.property('a');
    await settles(inB!, field, 'stays in b', ({ b = 0 }) => b === 60);
  });

  it('is followed by kube-proxy 1.30 where the Service has the annotation', async () => {
    await settles(old, services[3]!, 'leaves zone a', leavesA);
  });

  it('is kept when the EndpointSlice controller writes, and new Pods there begin evacuated', async function () {
    this.timeout(120_000);
    const pod = await bed().pod({ node: nodes[0]!, app: 'web', namespace: SHOP, name: 'late' });
    const service = services[0]!;
    await waitFor('14 endpoints', () => service.endpoints(), ofLength(14));
    const states = await Promise.all(Array.from({ length: 20 }, () => slices(service)));
    for (const state of states)
      for (const text of hintsIn(state)) if (text.startsWith('a:')) expect(text).to.equal(`a: ${NOWHERE}`);
    for (const node of nodes) {
      const { byZone } = await bed().connect({ node, service, count: 60, timeoutMs: 1_000 });
      expect(byZone, node.name).not.to.have.property('a');
    }
    await pod.remove();
    await waitFor('12 endpoints', () => service.endpoints(), ofLength(12));
  });

  it('goes on after both commands were killed, and is repaired where a write was missed meanwhile', async function () {
    this.timeout(120_000);
    await Promise.all([webhook.kill(), reconciler.kill()]);
    // As the EndpointSlice controller writes while nobody keeps the hints.
    const [slice] = await slices(services[0]!);
    const bare = (slice!.endpoints ?? []).map(({ hints: _hints, ...endpoint }) => endpoint);
    const ref = { namespace: SHOP, name: slice!.metadata!.name! };
    await client.patch(ENDPOINT_SLICES, ref, 'merge', { endpoints: bare });
    const family = slice!.addressType === 'IPv6' ? 'IPv6' : 'IPv4';
    await settles(nodes[2]!, services[0]!, 'zone a again', ({ a = 0 }) => a > 0, family);
    reconciler.start();
    await restartWebhook(webhook);
    await reconcilerReady();
    await settles(nodes[2]!, services[0]!, 'leaves zone a', leavesA, family);
  });

  it('is returned when the object is deleted, to the very hints of before', async function () {
    this.timeout(120_000);
    const started = performance.now();
    await end('a');
    await settles(nodes[0]!, services[0]!, 'reaches zone a', ({ a = 0 }) => a > 0);
    console.log(`      connections return ${Math.round(performance.now() - started)} ms after the object was deleted`);
    await returned();
  });
});
