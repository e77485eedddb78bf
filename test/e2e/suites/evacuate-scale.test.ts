// A zone of many Services is evacuated on a real API server with the real EndpointSlice controller: how long, how many writes, at whose cost.
// Alone: it measures time and CPU.
// Soak: it counts writes, one a slice, as `evacuate` shows with few; how long 1,000 Services take is a figure of soak.
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import type { EndpointSlice, Service } from '../../../pkg/apis/core.ts';
import { ENDPOINT_SLICES, NAMESPACES, SERVICES, ZONE_EVACUATIONS } from '../../../pkg/apis/resources.ts';
import { listAll } from '../../../pkg/kubernetes/request.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { describeEnvironment } from '../../bench/environment.ts';
import { parseCpuSeconds } from '../../bench/processes.ts';
import type { Component } from '../bed/component.ts';
import { useBed } from '../bed/index.ts';
import { is, ofLength, waitFor } from '../bed/machine.ts';
import { type PlainNode, createNodes, createPod } from '../churn.ts';
import { describeProxies, startWebhook } from '../commands.ts';
import { type Sweep, countSweep, formatScale } from '../evacuate-figures.ts';
import { AS_INSTALLED, defineEvacuations, evacuationNamed, isMarked, reachesPhase } from '../evacuations.ts';
import { connectAs, each, RECONCILER_USER, SLICE_CONTROLLER, startReconciler } from '../hints-support.ts';
import { memoryOf } from '../memory.ts';
import { isLongForm, keepResults } from '../results.ts';
import { readAudit, untilQuietAfter } from '../settings-audit.ts';

const SERVICE_COUNT = isLongForm ? 1_000 : 100;
const PODS = 20;
const PER_NAMESPACE = 50;
const NODES_PER_ZONE = 10;
const ZONES = ['a', 'b', 'c'] as const;
const concurrency = 16;
/** As Gardener sets it for Shoots; Kubernetes' own default is 20. */
const controllerQps = Number(process.env['E2E_CONTROLLER_QPS'] ?? 100);
/** Longer than the EndpointSlice controller waits before it answers another's write. */
const QUIET_MS = 4_000;
/** Pods that become ready while slices are written, and the time between them. */
const NEWCOMERS = 12;
const NEWCOMER_MS = 400;
const LAST_EVACUATION_MS = 600_000;

const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const namespaceOf = (service: number): string => `scale-${Math.floor(service / PER_NAMESPACE)}`;
const nameOf = (service: number): string => `service-${service}`;
const cpuOf = ({ pid }: Component): number => parseCpuSeconds(readFileSync(`/proc/${pid}/stat`, 'utf8'));

describe('evacuating a zone of many Services', function () {
  this.timeout(900_000);
  let client: Client;
  const watching = new AbortController();
  // Registered before the bed's own, so that it runs before the bed is gone.
  after(() => watching.abort());
  const bed = useBed({
    controllerManagerFlags: [`--kube-api-qps=${controllerQps}`, `--kube-api-burst=${controllerQps}`],
  });
  const environment = describeEnvironment();
  const sweeps: Sweep[] = [];
  /** When a Pod's name was first seen in a slice, by `performance.now`. */
  const seen = new Map<string, number>();
  let nodes: PlainNode[];
  let webhook: Component;
  let reconciler: Component;
  let publishedBefore: number[] = [];
  let lastPod = 256;
  let kubernetes = '';
  let peakBytes = { webhook: 0, reconciler: 0 };

  const startPod = (service: number, name: string): Promise<void> => {
    const number = (lastPod += 1);
    const node = nodes[number % nodes.length]!;
    return createPod(client, { namespace: namespaceOf(service), name, app: nameOf(service), node, number });
  };

  /** Seconds of each program so far; the suite's own are those of its clients and watch. */
  const cpuNow = (): Record<string, number> => {
    const { apiServer, etcd, controllerManager } = bed().controlPlane;
    const programs = { reconciler, webhook, apiServer, etcd, controllerManager };
    const { user, system } = process.cpuUsage();
    return {
      ...Object.fromEntries(Object.entries(programs).map(([name, program]) => [name, cpuOf(program)])),
      suite: (user + system) / 1e6,
    };
  };

  const slices = async (): Promise<EndpointSlice[]> =>
    (await listAll<EndpointSlice>(client, ENDPOINT_SLICES)).filter(({ metadata }) =>
      metadata?.namespace?.startsWith('scale-'),
    );

  const follow = async (): Promise<void> => {
    for (;;) {
      const { metadata } = await client.list(ENDPOINT_SLICES, { limit: 1 });
      const from = { resourceVersion: metadata?.resourceVersion ?? '' };
      for await (const event of client.watch<EndpointSlice>(ENDPOINT_SLICES, from, watching.signal)) {
        if (event.type === 'BOOKMARK') continue;
        for (const { targetRef } of event.object.endpoints ?? []) {
          const name = targetRef?.name ?? '';
          if (name.startsWith('new-') && !seen.has(name)) seen.set(name, performance.now());
        }
      }
    }
  };

  /** Starts Pods one after the other, and resolves with how long each waited for its slice. */
  const newcomers = async (label: string): Promise<number[]> => {
    const begun = new Map<string, number>();
    for (const index of upTo(NEWCOMERS)) {
      const name = `new-${label}-${index}`;
      await startPod((index * 37 + 11) % SERVICE_COUNT, name);
      begun.set(name, performance.now());
      await delay(NEWCOMER_MS);
    }
    await waitFor(
      `all Pods of ${label} published`,
      () => [...begun.keys()].filter((name) => !seen.has(name)),
      ofLength(0),
      { timeoutSeconds: 180 },
    );
    return [...begun].map(([name, since]) => Math.max(0, (seen.get(name) ?? 0) - since));
  };

  before(`${SERVICE_COUNT} Services with ${PODS} endpoints each, and both commands`, async () => {
    client = await connectAs(bed(), 'tester');
    ({ gitVersion: kubernetes } = await bed().api.get<{ gitVersion: string }>('/version'));
    await describeProxies(bed());
    nodes = await createNodes(client, ZONES, NODES_PER_ZONE);
    for (const index of upTo(Math.ceil(SERVICE_COUNT / PER_NAMESPACE)))
      await client.create(NAMESPACES, { metadata: { name: `scale-${index}` } });
    const owners = upTo(SERVICE_COUNT).flatMap((service) => upTo(PODS).map((pod) => [service, pod] as const));
    await each(owners, concurrency, ([service, pod]) => startPod(service, `${nameOf(service)}-${pod}`));
    // Headless, because finding free addresses takes the API server longest; slices are the same.
    await each(upTo(SERVICE_COUNT), concurrency, (service) =>
      client.create<Service>(SERVICES, {
        metadata: { namespace: namespaceOf(service), name: nameOf(service) },
        spec: { clusterIP: 'None', selector: { app: nameOf(service) }, ports: [{ name: 'main', port: 8080 }] },
      }),
    );
    await waitFor(
      'all endpoints published',
      async () => (await slices()).flatMap(({ endpoints }) => endpoints ?? []).length,
      is(SERVICE_COUNT * PODS),
      { timeoutSeconds: 300, intervalMs: 1_000 },
    );
    await defineEvacuations(client);
    webhook = await startWebhook(bed());
    reconciler = await startReconciler(bed(), AS_INSTALLED);
    // It ends with the suite, when its watch is aborted.
    follow().catch((error: unknown) => {
      if (!watching.signal.aborted) throw error;
    });
    publishedBefore = await newcomers('before');
  });

  after(() => {
    if (sweeps.length === 0) return;
    const results = {
      environment: environment(),
      kubernetes,
      services: SERVICE_COUNT,
      endpoints: SERVICE_COUNT * PODS,
      controllerQps,
      publishedBefore,
      peakBytes,
      sweeps,
    };
    console.log(`\n${formatScale(results)}\n`);
    keepResults('evacuate-scale', results);
  });

  /** Does what begins a sweep, and gathers all that follows until nobody writes slices any more. */
  const sweep = async (name: string, begin: () => Promise<unknown>): Promise<Sweep> => {
    const audit = readAudit(bed().auditLog);
    const began = cpuNow();
    const since = Date.now();
    await begin();
    const [published, writes] = await Promise.all([
      newcomers(name),
      untilQuietAfter(
        audit,
        (all) => all.filter(({ user }) => user === RECONCILER_USER).length >= SERVICE_COUNT - NEWCOMERS,
        QUIET_MS,
        LAST_EVACUATION_MS,
      ),
    ]);
    const ended = cpuNow();
    const cpuSeconds = Object.fromEntries(
      Object.entries(ended).map(([program, cpu]) => [program, cpu - (began[program] ?? 0)]),
    );
    peakBytes = { webhook: memoryOf(webhook).peak, reconciler: memoryOf(reconciler).peak };
    const counted = countSweep(writes, since, { own: RECONCILER_USER, controller: SLICE_CONTROLLER });
    const found = { name, ...counted, cpuSeconds, published };
    sweeps.push(found);
    return found;
  };

  const expectOneWriteEach = ({ own, slices: written, conflicts }: Sweep): void => {
    // Where a newcomer has its controller write first, admission does in that write what ours would have done.
    expect(written, 'slices that we wrote').to.be.at.least(SERVICE_COUNT - NEWCOMERS);
    // A slice that its controller wrote at the same moment is written once more.
    expect(own - written, 'slices that were written twice').to.be.at.most(NEWCOMERS + conflicts);
  };

  it('writes each slice once, and every Service has moved', async () => {
    const found = await sweep('out', () => client.create(ZONE_EVACUATIONS, evacuationNamed('a')));
    expectOneWriteEach(found);
    expect((await slices()).filter((slice) => !isMarked(slice))).to.deep.equal([]);
    const { status } = await reachesPhase(client, 'a', ['Evacuated']);
    expect(status?.services).to.include({ pending: 0 });
    expect(status?.services?.moved).to.be.at.least(SERVICE_COUNT);
  });

  it('returns each slice with one write', async () => {
    const found = await sweep('back', () => client.delete(ZONE_EVACUATIONS, { name: 'a' }));
    expectOneWriteEach(found);
    expect((await slices()).filter(isMarked)).to.deep.equal([]);
  });
});
