// The flow controller on the real API server with the real webhook: its rules, its plans, and what happens without it.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import type { FlowPolicy } from '../../../pkg/apis/flow-policy.ts';
import {
  ANNOTATION_PLAN,
  ANNOTATION_TOPOLOGY_MODE,
  COMMANDS,
  GROUP,
  LABEL_STRATEGY,
  PLAN_ZONES,
} from '../../../pkg/apis/names.ts';
import { FLOW_POLICIES, LEASES } from '../../../pkg/apis/resources.ts';
import { isNotFound } from '../../../pkg/kubernetes/errors.ts';
import { microTime } from '../../../pkg/kubernetes/lease.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { mastersGroup } from '../bed/access.ts';
import type { Component } from '../bed/component.ts';
import { type BedNode, type BedPod, type BedService, useBed } from '../bed/index.ts';
import { waitFor } from '../bed/machine.ts';
import type { SliceEndpoint } from '../bed/pod.ts';
import { describeProxies, ownNamespace, restartWebhook, startWebhook } from '../commands.ts';
import { describeFlowController, FLOW_USER, installFlowPolicies, policyOf, QUICK, startMeter } from '../flow-world.ts';
import type { Meter } from '../flow-world.ts';
import { isEachPut } from '../hints-figures.ts';
import { connectAs, zonesOf } from '../hints-support.ts';
import { readAudit, untilQuiet, untilQuietAfter } from '../settings-audit.ts';

const namespace = 'shop';
const zones = ['a', 'b', 'c'];
const LOAD_AWARE = { [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/load-aware` };
const CALM = { a: 0.4, b: 0.4, c: 0.4 };
const HOT = { a: 1.8, b: 0.4, c: 0.4 };
const leaseRef = { namespace: ownNamespace, name: COMMANDS.flowController };

const isReady = ({ conditions }: SliceEndpoint): boolean => conditions?.ready !== false;
const serves = (endpoint: SliceEndpoint, zone: string): boolean => zonesOf(endpoint).includes(zone);
const servesOwn = (endpoint: SliceEndpoint): boolean => zonesOf(endpoint).join() === endpoint.zone;

const accepted: readonly object[] = [
  {},
  { mode: 'Observe' },
  { targetUtilizationPercent: 79 },
  { upDwell: '1s', metrics: { interval: '1s' } },
  { downDwell: '1h2m3.5s' },
  { capacity: { from: 'Value', value: '250m' } },
  { metrics: { source: 'prometheus', query: 'sum(up)' } },
  { zoneCosts: [{ from: 'a', to: 'b', cost: 0.5 }] },
];

const rejected: readonly (readonly [spec: object, says: RegExp])[] = [
  [{ mode: 'Maybe' }, /Unsupported value: "Maybe"/],
  [{ upperUtilizationPercent: 70 }, /must be above targetUtilizationPercent/],
  [{ targetUtilizationPercent: 85 }, /must be above target/],
  [{ upDwell: 'soon' }, /should match/],
  [{ planInterval: '500ms' }, /must be at least 1s/],
  [{ metrics: { interval: '0s' } }, /must be at least 1s/],
  [{ metrics: { query: 'up' } }, /query needs a source/],
  [{ metrics: { source: 'metrics.k8s.io', query: 'up' } }, /query needs a source/],
  [{ capacity: { value: '1' } }, /value belongs to from: Value/],
  [{ capacity: { from: 'Value' } }, /value belongs to from: Value/],
  [{ capacity: { from: 'Value', value: '0m' } }, /must be above 0/],
  [{ staleness: { holdAfter: '5m', safeModeAfter: '5m' } }, /must be longer than holdAfter/],
  [{ metrics: { interval: '3m' } }, /must not be longer than staleness.holdAfter/],
  [{ zoneCosts: [{ from: 'a', to: 'a', cost: 1 }] }, /name two zones/],
  [{ zoneCosts: [1, 2].map((cost) => ({ from: 'a', to: 'b', cost })) }, /Duplicate value/],
  [{ zoneCosts: [{ from: 'a', to: 'b', cost: -1 }] }, /greater than or equal to 0/],
  [{ minEndpointsPerZone: 0 }, /greater than or equal to 1/],
];

describe('the flow controller', () => {
  let client: Client;
  let meter: Meter | undefined;
  const bed = useBed();
  const nodes: BedNode[] = [];
  let pods: BedPod[];
  let service: BedService;
  let webhook: Component;
  let controller: Component;
  let ready: () => Promise<void>;

  const endpointsWhere = (what: string, accept: (endpoints: SliceEndpoint[]) => boolean): Promise<SliceEndpoint[]> =>
    waitFor(
      what,
      async () => (await service.endpoints()).filter(isReady),
      (all) => all.length > 0 && accept(all),
    );
  const policy = async (): Promise<FlowPolicy | undefined> => {
    try {
      return (await client.get(FLOW_POLICIES, { namespace, name: 'web' })) as FlowPolicy;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  };
  const reasons = async (): Promise<Record<string, string>> =>
    Object.fromEntries(((await policy())?.status?.conditions ?? []).map(({ type, reason }) => [type, reason]));
  const loadIn = (demand: Readonly<Record<string, number>>): void => {
    if (meter !== undefined) meter.demand = demand;
  };

  before('three zones with two Pods each, the webhook, and the definitions', async () => {
    client = await connectAs(bed(), 'tester');
    await bed().api.create('/api/v1/namespaces', { metadata: { name: namespace } });
    await describeProxies(bed());
    webhook = await startWebhook(bed());
    await installFlowPolicies(client);
    for (const zone of zones) nodes.push(await bed().node({ name: zone, zone }));
    pods = await Promise.all([...nodes, ...nodes].map((node) => bed().pod({ node, app: 'web', namespace })));
    service = await bed().service({ name: 'web', namespace, ipFamilyPolicy: 'RequireDualStack' });
    await endpointsWhere('12 endpoints', ({ length }) => length === 12);
    meter = await startMeter(bed(), client, namespace, 'web');
    loadIn(CALM);
  });

  describe('its definition', () => {
    const tryOut = (spec: object): Promise<unknown> =>
      client.create(FLOW_POLICIES, policyOf(namespace, 'probe', spec), { dryRun: true });
    for (const spec of accepted) it(`takes ${JSON.stringify(spec)}`, () => tryOut(spec));
    for (const [spec, says] of rejected)
      it(`refuses ${JSON.stringify(spec)}`, async () =>
        expect(String(await tryOut(spec).catch(String))).to.match(says));
  });

  it('labels a Service that asks by annotation, and begins with own zones in both families', async () => {
    ({ controller, ready } = await describeFlowController(bed()));
    controller.start();
    await ready();
    await client.create(FLOW_POLICIES, policyOf(namespace, 'web', QUICK));
    await service.patch({ metadata: { annotations: LOAD_AWARE } });
    const endpoints = await endpointsWhere('own zones', (all) => all.every(servesOwn));
    expect(endpoints).to.have.lengthOf(12);
    await waitFor(
      'a status',
      reasons,
      ({ Observed, Effective }) => Observed === 'MetricsFresh' && Effective === 'PlanInForce',
    );
    const { status } = (await policy()) ?? {};
    expect(status).to.deep.include({ inZonePercent: 100, endpoints: 6, source: 'metrics.k8s.io' });
  });

  it('is worth reading in kubectl get fp, and in kubectl explain', async () => {
    const kubeconfig = await bed().kubeconfig({ user: 'reader', groups: [mastersGroup] });
    const kubectl = async (...args: string[]): Promise<string> =>
      (await promisify(execFile)(bed().binaries('kubectl'), ['--kubeconfig', kubeconfig, ...args])).stdout;
    const [head = '', line = ''] = (await kubectl('get', 'fp', '-n', namespace, '-o', 'wide')).split('\n');
    console.log(`${head}\n${line}\n`);
    expect(head.split(/ {2,}/).map((column) => column.trim())).to.include.members([
      'IN ZONE %',
      'BOUND %',
      'EFFECTIVE',
      'CHANGED',
      'DEMAND',
    ]);
    expect(line).to.match(/^web +100 +100 +\d+ +6 +MetricsFresh +PlanInForce +\w+ /);
    expect(await kubectl('explain', 'flowpolicy.spec.upDwell')).to.contain('Default 30s');
  });

  it('spills from the hot zone in both families, and connections follow', async () => {
    loadIn(HOT);
    const planOf = (all: readonly SliceEndpoint[], family: 'IPv4' | 'IPv6'): string[] =>
      all
        .filter(({ addresses }) => addresses[0]?.includes(':') === (family === 'IPv6'))
        .map((one) => `${one.targetRef?.name} ${zonesOf(one).join()}`)
        .sort();
    await endpointsWhere(
      'spill, alike in both families',
      (all) =>
        all.some((one) => one.zone !== 'a' && serves(one, 'a')) &&
        planOf(all, 'IPv4').join() === planOf(all, 'IPv6').join(),
    );
    for (const family of ['IPv4', 'IPv6'] as const) {
      const traffic = await waitFor(
        `traffic of zone a in other zones (${family})`,
        () => bed().connect({ node: nodes[0]!, service, count: 100, family }),
        ({ byZone }) => Object.keys(byZone).length > 1 && (byZone['a'] ?? 0) > 0,
      );
      expect(traffic.errors).to.deep.equal({});
    }
    await waitFor('the plan in the status', policy, (found) => (found?.status?.plan?.endpoints.length ?? 0) > 0);
    const { status } = (await policy()) ?? {};
    expect(status?.zones?.find(({ zone }) => zone === 'a')?.spillPercent).to.be.greaterThan(0);
  });

  it('keeps its plan through what the EndpointSlice controller writes', async () => {
    const planOf = (all: readonly SliceEndpoint[]): string[] =>
      all.map((one) => `${one.targetRef?.name} ${one.addresses.join()} ${zonesOf(one).join()}`).sort();
    // The first plan was made under saturation, and the first estimate that is none may show that less will do.
    await waitFor('a plan that stays', reasons, ({ Stable }) => Stable === 'Steady');
    const audit = readAudit(bed().auditLog);
    // It is steady also while `downDwell` passes: twice that without a write, and it stays.
    await untilQuiet(audit, 10_000);
    const planned = planOf(await service.endpoints());
    const names = new Set((await service.slices()).map(({ metadata }) => metadata.name));
    await service.patch({ metadata: { annotations: { touched: '1' }, labels: { touched: '1' } } });
    const writes = await untilQuietAfter(audit, (seen) => isEachPut(names, seen), 2_500);
    expect(planOf(await service.endpoints())).to.deep.equal(planned);
    expect(writes.filter(({ user }) => user === FLOW_USER)).to.deep.equal([]);
  });

  it('returns when the demand does', async () => {
    loadIn(CALM);
    await endpointsWhere('own zones again', (all) => all.every(servesOwn));
    await waitFor(
      'the change in the status',
      policy,
      (found) => found?.status?.lastChanges?.[0]?.reason === 'Returned',
    );
  });

  it('asserts its plan again after an outage of the webhook', async () => {
    loadIn(HOT);
    await endpointsWhere('spill', (all) => all.some((one) => one.zone !== 'a' && serves(one, 'a')));
    await webhook.kill();
    await pods[4]!.setReady(false);
    await waitFor('WebhookUnavailable', reasons, ({ Effective }) => Effective === 'WebhookUnavailable');
    await restartWebhook(webhook);
    await pods[4]!.setReady(true);
    await endpointsWhere('the plan again', (all) => all.length === 12 && all.every((one) => zonesOf(one).length > 0));
  });

  it('leaves nothing behind for a Service that opts out', async () => {
    await service.patch({ metadata: { annotations: { [ANNOTATION_TOPOLOGY_MODE]: null } } });
    await endpointsWhere('no hints', (all) => all.every(({ hints }) => hints === undefined));
    // The label goes when the EndpointSlice controller mirrors it, which may be after the hints.
    await waitFor(
      'no marks and labels',
      () => service.slices(),
      (all) =>
        all.every(
          ({ metadata }) =>
            !JSON.stringify(metadata).includes(ANNOTATION_PLAN) && metadata.labels?.[LABEL_STRATEGY] === undefined,
        ),
    );
    expect((await service.endpoints()).filter(({ hints }) => hints !== undefined)).to.deep.equal([]);
    await waitFor('NotRequested', reasons, ({ Effective }) => Effective === 'NotRequested');
  });

  it('killed for good, its plans do not outlive it', async () => {
    loadIn(HOT);
    await service.patch({ metadata: { annotations: LOAD_AWARE } });
    await endpointsWhere('hints', (all) => all.every((one) => zonesOf(one).length > 0));
    await waitFor(
      'marks',
      () => service.slices(),
      (all) => all.some(({ metadata }) => JSON.stringify(metadata).includes(`"${ANNOTATION_PLAN}":"${PLAN_ZONES}"`)),
    );
    await controller.kill();
    // Ten minutes later, for a webhook that starts then: nobody has renewed the Lease.
    const renewTime = microTime(Date.now() - 11 * 60_000);
    await client.patch(LEASES, leaseRef, 'merge', { spec: { renewTime } });
    await webhook.kill();
    await restartWebhook(webhook);
    await pods[5]!.setReady(false);
    await endpointsWhere('spread', (all) => all.every(({ hints }) => hints === undefined));
  });
});
