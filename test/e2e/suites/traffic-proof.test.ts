// Faults of the data plane, seeded on a real one: each is found by the meters within a minute.
// Minutes: 5
// Needs: conntrack
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { setTimeout as delay } from 'node:timers/promises';
import { FLOW_POLICIES } from '../../../pkg/apis/resources.ts';
import type { FlowPolicy } from '../../../pkg/apis/flow-policy.ts';
import { ANNOTATION_TOPOLOGY_MODE, GROUP, METER_NAMESPACE } from '../../../pkg/apis/names.ts';
import { createHonored } from '../../../pkg/controllers/flow/honored.ts';
import { systemClock } from '../../../pkg/kubernetes/wait.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { createMeterReader } from '../../../pkg/metrics/measured-traffic.ts';
import { nullLogger } from '../../../pkg/telemetry/log.ts';
import type { Outcome } from '../../../pkg/traffic/hints.ts';
import type { Component } from '../bed/component.ts';
import { type BedNode, type BedPod, type BedService, useBed } from '../bed/index.ts';
import { waitFor } from '../bed/machine.ts';
import { describeProxies, startWebhook } from '../commands.ts';
import { type Meter, QUICK, describeFlowController, installFlowPolicies, policyOf, startMeter } from '../flow-world.ts';
import { connectAs } from '../hints-support.ts';
import { createMeterAccount, startMeasuredNode, startPulse } from '../traffic-meter-world.ts';

const FOUND_WITHIN_SECONDS = 60;
/** Slices and zones have to be quiet for 20 s before anything is judged. */
const SETTLED_WITHIN_SECONDS = 90;
/** Times after the changes of the Services that churn: connections are judged again 20 s after each; one is not waited out. */
const PAUSES_MS = [26_000, 31_000, 5_000, 44_000];
const MEAN_PAUSE_MS = PAUSES_MS.reduce((sum, pause) => sum + pause) / PAUSES_MS.length;
/** `E2E_SOAK=1`: an hour of churn, or as many minutes as `E2E_CHURN_MINUTES` says. */
const CHURN_MINUTES = process.env['E2E_SOAK'] === '1' ? Number(process.env['E2E_CHURN_MINUTES'] ?? '60') : 1.5;
const CHANGES = Math.ceil((CHURN_MINUTES * 60_000) / MEAN_PAUSE_MS);
/** A Service whose hints are the flow-controller's and the webhook's; its FlowPolicy has the condition as well. */
const PLANNED = 'planned';
/** Where each Service is; the webhook serves no Service of `default`. */
const namespaceOf = (name: string): string => (name === PLANNED ? 'shop' : 'default');
/** Services with an endpoint that comes and goes. */
const CHURNED = ['churned', PLANNED];
/** Services whose verdict is to stay True until a fault is seeded there. */
const BUSY = ['good', 'frozen', 'moved', 'hintless', 'around', 'churned', PLANNED];
/** Nodes; `old` has a proxy that reads an annotation which is not there, and `late` gets its zone late. */
const NODES = [
  { name: 'a1', zone: 'a' },
  { name: 'a2', zone: 'a' },
  { name: 'b1', zone: 'b' },
  { name: 'b2', zone: 'b' },
  { name: 'old', zone: 'a', proxyVersion: '1.30' },
  { name: 'late' },
];

const trafficProof = { enabled: true, namespace: METER_NAMESPACE };

/** Takes Pods of Services away and gives them back; resolves with everything but True that was seen meanwhile. */
interface Churn {
  readonly findings: Promise<readonly string[]>;
}

describe('proof in the data plane', function () {
  this.timeout((CHURN_MINUTES + 5) * 60_000);
  const bed = useBed();
  const nodes = new Map<string, BedNode>();
  const pods = new Map<string, BedPod>();
  const services = new Map<string, BedService>();
  let controller: Component;
  let client: Client;
  let reader: ReturnType<typeof createMeterReader>;
  let churn: Churn;
  let load: Meter;
  let honored: ReturnType<typeof createHonored>;
  const stop = new AbortController();

  const known = <T>(map: ReadonlyMap<string, T>, name: string): T => {
    const found = map.get(name);
    if (found === undefined) throw new Error(`no ${name}`);
    return found;
  };
  const nodeOf = (name: string): BedNode => known(nodes, name);
  const podOf = (app: string, home: string): BedPod => known(pods, `${app} ${home}`);

  const textOf = (verdict: { status: string; reason: string; message: string } | undefined): string =>
    verdict === undefined ? 'nothing' : `${verdict.status} ${verdict.reason}: ${verdict.message}`;
  const said = (name: string): string => textOf(honored.verdict(`${namespaceOf(name)}/${name}`));
  const saidByPolicy = async (): Promise<string> => {
    const policy = await client.get<FlowPolicy>(FLOW_POLICIES, { namespace: namespaceOf(PLANNED), name: PLANNED });
    return textOf(policy.status?.conditions?.find(({ type }) => type === 'TrafficDistributionHonored'));
  };
  const becomes = (name: string, wanted: string, timeoutSeconds: number): Promise<string> =>
    waitFor(
      `${name} is judged ${wanted}`,
      () => said(name),
      (text) => text.startsWith(wanted),
      { timeoutSeconds, intervalMs: 250, assert: () => controller.assertRunning() },
    );
  const pulse = (node: string, service: string): void => {
    const { clusterIPs, port } = known(services, service);
    startPulse(bed(), nodeOf(node), clusterIPs[0] ?? '', port);
  };
  const setZone = (node: string, zone: string): Promise<unknown> =>
    bed().api.patch(`/api/v1/nodes/${node}`, { metadata: { labels: { 'topology.kubernetes.io/zone': zone } } });

  /** Seeds a fault; the test gets the message that names the Node, and prints how long it took. */
  const finds = async (service: string, reason: string, node: string, seed: () => Promise<void> | void) => {
    await seed();
    const began = performance.now();
    const text = await becomes(service, `False ${reason}`, FOUND_WITHIN_SECONDS);
    expect(text).to.contain(node === '' ? ':' : `${node} `);
    process.stdout.write(`    ${service}: ${reason} after ${((performance.now() - began) / 1_000).toFixed(1)} s\n`);
  };

  /** The same with the proxy of the Node stopped before the fault is seeded. */
  const findsFrozen = async (service: string, node: string, seed: () => Promise<void>) => {
    const { proxy } = nodeOf(node);
    proxy.signal('SIGSTOP');
    try {
      await finds(service, 'HintsIgnored', node, seed);
    } finally {
      proxy.signal('SIGCONT');
    }
  };

  const createPair = async (name: string): Promise<void> => {
    const namespace = namespaceOf(name);
    for (const home of ['a1', 'b1'])
      pods.set(`${name} ${home}`, await bed().pod({ node: nodeOf(home), app: name, namespace }));
    const asked =
      name === PLANNED
        ? { annotations: { [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/load-aware` } }
        : { trafficDistribution: 'PreferSameZone' };
    services.set(name, await bed().service({ name, namespace, ...asked }));
  };

  const judged = async (node: string, service: string, outcome: Outcome): Promise<number> => {
    const { readings } = await reader.read(AbortSignal.timeout(30_000));
    return (
      readings.find((reading) => reading.node === node)?.judged.get(`${namespaceOf(service)}/${service}`)?.[outcome] ??
      0
    );
  };

  const startChurn = (): Churn => {
    const run = async (): Promise<readonly string[]> => {
      const findings: string[] = [];
      for (let change = 0; change < CHANGES; change += 1) {
        for (const name of CHURNED) await podOf(name, 'a1').setReady(change % 2 === 1);
        const until = performance.now() + (PAUSES_MS[change % PAUSES_MS.length] ?? 0);
        while (performance.now() < until) {
          const texts = [...[...CHURNED, 'good'].map(said), await saidByPolicy()];
          for (const [index, text] of texts.entries())
            if (!text.startsWith('True'))
              findings.push(`${[...CHURNED, 'good', 'FlowPolicy'][index]} after change ${change + 1}: ${text}`);
          await delay(1_000);
        }
      }
      return findings;
    };
    const findings = run();
    // Awaited by the test that is about it.
    findings.catch(() => undefined);
    return { findings };
  };

  before('nodes with meters, a Service for each fault, and the flow-controller that reads the meters', async () => {
    await createMeterAccount(bed());
    await describeProxies(bed());
    await startWebhook(bed());
    for (const option of NODES) nodes.set(option.name, (await startMeasuredNode(bed(), option)).node);
    client = await connectAs(bed(), 'tester');
    await installFlowPolicies(client);
    reader = createMeterReader({ client, namespace: METER_NAMESPACE, now: () => performance.now() });
    await bed().api.create('/api/v1/namespaces', { metadata: { name: namespaceOf(PLANNED) } });
    for (const name of [...BUSY, 'aged', 'zoneless']) await createPair(name);
    load = await startMeter(bed(), client, namespaceOf(PLANNED), PLANNED);
    load.demand = { a: 0.2, b: 0.2 };
    await client.create(FLOW_POLICIES, policyOf(namespaceOf(PLANNED), PLANNED, QUICK));
    const described = await describeFlowController(bed(), { trafficProof });
    controller = described.controller;
    controller.start();
    await described.ready();
    const read = async (signal: AbortSignal) =>
      new Map((await reader.read(signal)).readings.map(({ node, judged: counts }) => [node, counts]));
    honored = createHonored({ read, clock: systemClock, intervalMs: 10_000, logger: nullLogger });
    void honored.run(stop.signal);
    for (const name of BUSY) for (const node of ['a2', 'b2']) pulse(node, name);
  });
  after(() => stop.abort());

  it('True: connections of two Nodes go where hints say', async () => {
    for (const name of BUSY) {
      await becomes(name, 'True Honored', SETTLED_WITHIN_SECONDS);
      for (const node of ['a2', 'b2']) expect(await judged(node, name, 'Honored'), `${name} on ${node}`).to.be.above(0);
    }
    await waitFor('the FlowPolicy says True', saidByPolicy, (text) => text.startsWith('True Honored'), {
      timeoutSeconds: SETTLED_WITHIN_SECONDS,
    });
    churn = startChurn();
  });

  it('False within a minute: a proxy too old to read trafficDistribution', () =>
    finds('aged', 'HintsIgnored', 'old', () => pulse('old', 'aged')));

  it('False within a minute: a proxy that does not know the zone of its Node', () =>
    findsFrozen('zoneless', 'late', async () => {
      // As kube-proxy 1.34 to 1.36 does where the Node arrives between the two steps of its listener.
      await setZone('late', 'a');
      pulse('late', 'zoneless');
    }));

  it('False within a minute: a slice with an endpoint that lacks a hint', () =>
    finds('hintless', 'HintsIncomplete', '', async () => {
      const { ipv4 } = podOf('hintless', 'b1').addresses;
      await bed().api.create('/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', {
        metadata: {
          name: 'hintless-by-hand',
          labels: { 'kubernetes.io/service-name': 'hintless', 'endpointslice.kubernetes.io/managed-by': 'by-hand' },
        },
        addressType: 'IPv4',
        ports: [{ name: 'main', port: 8080, protocol: 'TCP' }],
        endpoints: [{ addresses: [ipv4], conditions: { ready: true }, nodeName: 'b1', zone: 'b' }],
      });
    }));

  it('False within a minute: a client that goes around the proxy', () =>
    finds('around', 'ProxyBypassed', 'a2', async () => {
      const from = await bed().pod({ node: nodeOf('a2'), app: 'client' });
      const { ipv4 } = podOf('around', 'b1').addresses;
      startPulse(bed(), nodeOf('a2'), ipv4, 8_080, { from: from.addresses.ipv4 });
    }));

  it('nothing is found where endpoints come and go and all proxies follow', async () => {
    expect(await churn.findings).to.deep.equal([]);
    // Without an endpoint of its zone a2 uses all of them; that is no fault, and it was judged.
    expect(await judged('a2', 'churned', 'Uncovered')).to.be.above(0);
    for (const name of CHURNED) {
      const counts = await Promise.all(['a2', 'b2'].map((node) => judged(node, name, 'Honored')));
      process.stdout.write(`    ${name}: ${CHANGES} changes, ${counts.join(' and ')} connections honored\n`);
    }
  });

  it('False within a minute: a frozen proxy, when hints change', async () => {
    // It goes on as before the change: zone a is then served from zone b.
    await podOf('frozen', 'a1').setReady(false);
    await waitFor(
      'a2 uses zone b alone',
      () => bed().connect({ node: nodeOf('a2'), service: known(services, 'frozen'), count: 20 }),
      ({ byZone }) => byZone['b'] === 20,
    );
    await findsFrozen('frozen', 'a2', () => podOf('frozen', 'a1').setReady(true));
  });

  it('False within a minute: a Node with endpoints is given another zone', () =>
    finds('moved', 'EndpointMisplaced', 'b2', async () => void (await setZone('b1', 'c'))));
});
