// Controllers and traffic-meter with the chart's memory limits in real cgroups, attacked on their ports, by a metric source and by tenants.
// Alone: attackers fill the machine.
import { appendFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { makeBundle } from '../../../hack/bundle.ts';
import { CONFIG_API_VERSION } from '../../../pkg/apis/config/load.ts';
import { FLOW_CONTROLLER_CONFIGURATION } from '../../../pkg/apis/config/flow-controller.ts';
import { SETTINGS_RECONCILER_CONFIGURATION } from '../../../pkg/apis/config/settings-reconciler.ts';
import type { Lease, Service } from '../../../pkg/apis/core.ts';
import {
  ANNOTATION_TOPOLOGY_MODE,
  COMMANDS,
  GROUP,
  LABEL_SERVICE_NAME,
  TRAFFIC_METER,
} from '../../../pkg/apis/names.ts';
import { ENDPOINT_SLICES, FLOW_POLICIES, LEASES, NAMESPACES, SERVICES } from '../../../pkg/apis/resources.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { METER_METRICS } from '../../../pkg/traffic/meter-reading.ts';
import { OWN_ATTACKS, PLAIN_ATTACKS, probeHealth, runAttack } from '../attack-client.ts';
import { mastersGroup } from '../bed/access.ts';
import type { Component } from '../bed/component.ts';
import { useBed } from '../bed/index.ts';
import { controlPlaneAddresses, waitFor } from '../bed/machine.ts';
import { commandReady, ownNamespace } from '../commands.ts';
import { installFlowPolicies, policyOf, QUICK } from '../flow-world.ts';
import { connectAs } from '../hints-support.ts';
import { type Cgroup, createCgroup, readMemoryLimits } from '../memory.ts';
import { isLongForm } from '../results.ts';
import { createMeterAccount, readerToken } from '../traffic-meter-world.ts';

const { settingsReconciler: RECONCILER, flowController: FLOW } = COMMANDS;
const MIB = 2 ** 20;
const SOURCE_PORT = 9_090;
/** Longer than a Lease lasts that is not renewed. */
const SECONDS = 20;
/** What a kubelet waits for health. */
const HEALTH_MS = 1_000;
/** Series of the one meter, of two Nodes. */
const SERIES = 50;
const ZONES = ['a', 'b'];

const limits = readMemoryLimits();
const metricSources = [
  { name: 'hostile', type: 'Prometheus', url: `http://127.0.0.1:${SOURCE_PORT}`, cacheSeconds: 0 },
];
const TARGETS = {
  [RECONCILER]: {
    limit: limits.reconciler,
    ports: { health: 8_083, metrics: 8_084 },
    config: { kind: SETTINGS_RECONCILER_CONFIGURATION.kind, modes: { cluster: {} } },
  },
  [FLOW]: {
    limit: limits.flowController,
    ports: { health: 8_087, metrics: 8_088 },
    config: { kind: FLOW_CONTROLLER_CONFIGURATION.kind, metricSources },
  },
  [TRAFFIC_METER]: { limit: limits.trafficMeter, ports: { health: 8_091, metrics: 8_092 }, config: undefined },
} as const;
type Target = keyof typeof TARGETS;

const ATTACKS = { ...PLAIN_ATTACKS, ...OWN_ATTACKS };
type Row = readonly [Target, keyof typeof ATTACKS, 'health' | 'metrics' | 'source'];
const ROWS: readonly Row[] = [
  [RECONCILER, 'half', 'metrics'],
  [FLOW, 'unread', 'metrics'],
  [FLOW, 'source', 'source'],
  [TRAFFIC_METER, 'half', 'metrics'],
  [TRAFFIC_METER, 'unread', 'health'],
  [TRAFFIC_METER, 'tokens', 'metrics'],
];
/** The same attacks on the same code of ports in a component that another row attacks already. */
const SOAK_ROWS: readonly Row[] = [
  [RECONCILER, 'unread', 'metrics'],
  [RECONCILER, 'half', 'health'],
  [FLOW, 'half', 'metrics'],
];

describe('controllers and traffic-meter under attack, within the memory limits of the chart', function () {
  this.timeout(300_000);
  let client: Client;
  const running = new Map<Target, { program: Component; group: Cgroup }>();
  // Before the bed, which kills: a meter that is stopped ends its conntrack too, and leaves its cgroup empty.
  after(async () => void (await Promise.all([...running.values()].map(({ program }) => program.stop()))));
  const bed = useBed();
  /** What the meter takes for the connections of its Node. */
  const flows = (): string => join(bed().directory, 'flows');

  const start = async (name: Target, bundle: string): Promise<void> => {
    const { limit, ports, config } = TARGETS[name];
    const file = join(bed().directory, name);
    if (config === undefined)
      writeFileSync(file, `#!/bin/sh\n[ "$1" != -E ] || exec tail -n +1 -f ${flows()}\n`, { mode: 0o755 });
    else {
      const [health, metrics] = [{ port: ports.health }, { port: ports.metrics }];
      writeFileSync(file, JSON.stringify({ apiVersion: CONFIG_API_VERSION, health, metrics, ...config }));
    }
    const meterFlags = ['--node-name=a', '--list-interval=5', '--max-series=100', `--conntrack=${file}`];
    const portFlags = [`--health-port=${ports.health}`, `--secure-port=${ports.metrics}`];
    const group = createCgroup(`topology-routing-${name}`, limit);
    const flags = config === undefined ? [...meterFlags, ...portFlags] : ['--config', file];
    const program = bed().program({
      name,
      command: [...group.enter, process.execPath, join(bundle, `${name}.js`), ...flags],
      environment: {
        POD_NAMESPACE: ownNamespace,
        KUBECONFIG: await bed().kubeconfig({ user: name, groups: [mastersGroup] }),
      },
    });
    running.set(name, { program, group });
    program.start();
    await commandReady(program, ports.health);
  };

  before('the bundles in cgroups, and four Services whose load is asked of the hostile source', async () => {
    client = await connectAs(bed(), 'tester');
    for (const name of [ownNamespace, 'greedy']) await client.create(NAMESPACES, { metadata: { name } });
    await createMeterAccount(bed());
    await installFlowPolicies(client);
    for (const zone of ZONES) {
      const node = await bed().node({ name: zone, zone });
      await bed().pod({ node, app: 'web' });
    }
    const annotations = { [ANNOTATION_TOPOLOGY_MODE]: `${GROUP}/load-aware` };
    const spec = { ...QUICK, metrics: { interval: '1s', source: 'hostile', query: 'up' } };
    for (const name of ['w', 'x', 'y', 'z']) {
      await bed().service({ name, app: 'web', annotations });
      await client.create(FLOW_POLICIES, policyOf('default', name, spec));
    }
    writeFileSync(flows(), '');
    const bundle = join(bed().directory, 'bundle');
    await makeBundle(bundle);
    for (const name of Object.keys(TARGETS) as Target[]) await start(name, bundle);
  });

  /** /metrics of the meter for a token that it has not seen. */
  const meterPage = async (): Promise<string> => {
    const headers = { authorization: `Bearer ${await readerToken(bed())}` };
    const { metrics: port } = TARGETS[TRAFFIC_METER].ports;
    return new Promise((resolve, reject) => {
      const asking = get({
        host: '127.0.0.1',
        port,
        path: '/metrics',
        headers,
        agent: false,
        rejectUnauthorized: false,
      });
      asking.on('error', reject).on('response', (response) => {
        if (response.statusCode === 200) text(response).then(resolve, reject);
        else reject(new Error(`status ${response.statusCode}`));
      });
    });
  };
  const pageOf = async (name: Target): Promise<string> => {
    if (name === TRAFFIC_METER) return meterPage();
    return (await fetch(`http://127.0.0.1:${TARGETS[name].ports.metrics}/metrics`)).text();
  };

  const probes = (name: Target): Promise<number> => probeHealth(TARGETS[name].ports.health, SECONDS);
  /** How many scrapes it took, as Prometheus tries them, until one was whole. */
  const scrapes = async (name: Target): Promise<number> => {
    await pause((SECONDS * 1_000) / 2);
    for (let count = 1; ; count += 1) {
      const page = await pageOf(name).catch(String);
      if (page.includes('process_cpu_seconds_total')) return count;
      expect(count, `scrapes that failed, the last with ${page.slice(0, 200)}`).to.be.below(10);
    }
  };
  /** Who leads, since when; the meter has no Lease. */
  const leader = async (name: Target): Promise<unknown> => {
    if (name === TRAFFIC_METER) return undefined;
    const { spec } = await client.get<Lease>(LEASES, { namespace: ownNamespace, name });
    return [spec?.holderIdentity, spec?.acquireTime, spec?.leaseTransitions];
  };
  const untilLed = (name: Target): Promise<unknown> => waitFor(`a leader of ${name}`, () => leader(name));

  /** The same process, as it was: none ended by the kernel, none that lost its Lease. */
  const unharmed = async (name: Target, during: () => Promise<object>): Promise<void> => {
    const { program, group } = running.get(name)!;
    const state = async () => ({ pid: program.pid, kills: group.kills(), leader: await untilLed(name) });
    const earlier = await state();
    const came = await during();
    const seen = { name, ...came, peakMiB: Math.round(group.peakBytes() / MIB) };
    console.log(`      ${JSON.stringify(seen)}`);
    program.assertRunning();
    expect(await state()).to.deep.equal(earlier);
  };

  for (const [name, attack, port] of isLongForm ? [...ROWS, ...SOAK_ROWS] : ROWS) {
    it(`${name}, ${port}: ${ATTACKS[attack]}`, () =>
      unharmed(name, async () => {
        const target = port === 'source' ? SOURCE_PORT : TARGETS[name].ports[port];
        const [sent, healthMs, tries] = await Promise.all([
          runAttack(attack, target, SECONDS),
          probes(name),
          scrapes(name),
        ]);
        expect(sent.connections, 'the attack took place').to.be.above(10);
        expect(healthMs, 'a probe of health, milliseconds').to.be.below(HEALTH_MS);
        return { attack, port, ...sent, healthMs, scrapes: tries };
      }));
  }

  describe('the traffic-meter and what tenants write', () => {
    let addresses = 0;
    /** A Service without Pods, an endpoint in a zone, and a connection to it. */
    const create = async (namespace: string, name: string, zone: string): Promise<void> => {
      const spec = { ports: [{ port: 80 }] };
      const { spec: made } = await client.create<Service>(SERVICES, { metadata: { namespace, name }, spec });
      const address = `198.18.99.${(addresses += 1)}`;
      await client.create(ENDPOINT_SLICES, {
        metadata: { namespace, name, labels: { [LABEL_SERVICE_NAME]: name } },
        addressType: 'IPv4',
        ports: [{ port: 8080, protocol: 'TCP' }],
        endpoints: [{ addresses: [address], zone }],
      });
      const [here, id] = [controlPlaneAddresses.ipv4, addresses];
      appendFileSync(
        flows(),
        `[NEW] ipv4 2 tcp 6 120 SYN_SENT src=${here} dst=${made?.clusterIP} sport=4${id} dport=80 [UNREPLIED] src=${address} dst=${here} sport=8080 dport=4${id} id=${id}\n`,
      );
    };
    /** Series of connections by namespace. */
    const seriesOf = async (namespace: string): Promise<string[]> =>
      (await meterPage())
        .split('\n')
        .filter((line) => line.startsWith(`${METER_METRICS.connections}{`))
        .filter((line) => line.includes(`service_namespace="${namespace}"`));
    const untilSeries = (namespace: string, accept: (series: string[]) => boolean): Promise<string[]> =>
      waitFor(`series of ${namespace}`, () => seriesOf(namespace), accept, { timeoutSeconds: 60, intervalMs: 2_000 });

    it('zones of a megabyte are `unknown`', () =>
      unharmed(TRAFFIC_METER, async () => {
        for (let index = 0; index < 5; index += 1) await create('greedy', `long-${index}`, 'z'.repeat(MIB));
        const series = await untilSeries('greedy', ({ length }) => length === 5);
        expect(series.every((line) => line.includes('destination_zone="unknown"'))).to.equal(true);
        const bytes = (await meterPage()).length;
        expect(bytes).to.be.below(MIB);
        return { attack: 'zones', bytes };
      }));

    it('one that fills all series leaves the others their share, and gives back what it deletes', () =>
      unharmed(TRAFFIC_METER, async () => {
        for (let index = 0; index < SERIES + 10; index += 1) await create('greedy', `many-${index}`, 'a');
        const filled = await untilSeries('greedy', ({ length }) => length >= SERIES - 5);
        await create('default', 'mine', 'b');
        await untilSeries('default', (series) => series.some((line) => line.includes('service_name="mine"')));
        await client.delete(NAMESPACES, { name: 'greedy' });
        await untilSeries('greedy', ({ length }) => length === 0);
        return { attack: 'series', filled: filled.length };
      }));
  });
});
