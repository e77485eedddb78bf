// Puts 5,000 Services with 10,000 endpoints on a real API server and measures what the commands and their admission cost.
// Alone: it measures latency and memory.
// Soak: 5,000 Services, for the figures of the page of benchmarks; `faults-webhook` writes as fast as the machine can.
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import type { EndpointSlice, Namespace, Service } from '../../../pkg/apis/core.ts';
import { LABEL_STRATEGY } from '../../../pkg/apis/names.ts';
import { ENDPOINT_SLICES, NAMESPACES, SERVICES } from '../../../pkg/apis/resources.ts';
import { listAll } from '../../../pkg/kubernetes/request.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import { describeEnvironment } from '../../bench/environment.ts';
import { NODE_FLAGS } from '../../bench/node-flags.ts';
import { parseCpuSeconds } from '../../bench/processes.ts';
import { percentile } from '../../bench/statistics.ts';
import { endpoint, service, slice } from '../../fixtures/core.ts';
import type { Component } from '../bed/component.ts';
import { useBed } from '../bed/index.ts';
import { waitFor } from '../bed/machine.ts';
import { createNodes } from '../churn.ts';
import {
  connectAs,
  each,
  expectNone,
  hasOwnZone,
  RECONCILER_USER,
  startReconciler,
  startStrictWebhook,
  untilAdmission,
  untilAnswered,
} from '../hints-support.ts';
import { memoryOf, readMemoryLimits } from '../memory.ts';
import { keepResults } from '../results.ts';
import { type LoadResults, type Phase, type Process, type SliceWrites, formatLoad } from '../scale-figures.ts';
import { type AuditReader, type Write, readAudit } from '../settings-audit.ts';

/** How much of everything. */
const SCALE = { services: 5_000, endpointsPerSlice: 2, plainSlices: 1_000, perNamespace: 100 } as const;

const ZONES = ['a', 'b', 'c'] as const;

const zoneOf = (index: number): string => ZONES[index % ZONES.length] ?? '';

const namespaceOf = (index: number): string => `load-${Math.floor(index / SCALE.perNamespace)}`;

const NAMESPACE_NAMES: readonly string[] = Array.from({ length: SCALE.services / SCALE.perNamespace }, (_, index) =>
  namespaceOf(index * SCALE.perNamespace),
);

const label = { [LABEL_STRATEGY]: 'same-zone' };

/**
 * Without selector: its slice is written by the test itself, as the EndpointSlice controller would, so that every write is
 * timed by its client and no client's rate limit decides. Headless: to find 5,000 free addresses takes the API server longer
 * than all the rest, and nothing here depends on them.
 */
const serviceOf = (index: number): Service => {
  const metadata = { name: `service-${index}`, namespace: namespaceOf(index), labels: label };
  const object = service({ metadata });
  const { selector: _selector, ...spec } = object.spec ?? {};
  return { ...object, spec: { ...spec, clusterIP: 'None' } };
};

/** Two endpoints, in two zones; `round` makes every write another one. */
const sliceOf = (index: number, asks: boolean, round: number): EndpointSlice => {
  const name = asks ? `service-${index}` : `plain-${index}`;
  const endpoints = Array.from({ length: SCALE.endpointsPerSlice }, (_, one) =>
    endpoint({
      zone: zoneOf(index + one),
      addresses: [`198.19.${index & 255}.${(2 * round + one) & 255}`],
      targetRef: { kind: 'Pod', name: `${name}-${round}-${one}`, namespace: namespaceOf(index), uid: `${name}-${one}` },
    }),
  );
  const metadata = { name: `${name}-slice`, namespace: namespaceOf(index), labels: asks ? label : {} };
  return slice({ service: name, metadata, endpoints });
};

/** Default port of its metrics. */
const webhookMetricsPort = 8080;
/** Requests under way at once while objects are created. */
const concurrency = 8;
const rounds = 5;
/** Writes of a round with and of one without the webhook, by how many are under way at a time. */
const turns = [
  { atATime: 1, writes: 200 },
  { atATime: 8, writes: 500 },
] as const;

/** After this many milliseconds a client gives a request up, and sends it again. */
const GIVEN_UP_MS = 30_000;

/** How a request ended, for the count; nothing where it did as it should. Watches take their time. */
const troubleOf = ({ verb, status, milliseconds }: Write): string => {
  if (status >= 400) return ` (${status})`;
  return verb !== 'watch' && milliseconds >= GIVEN_UP_MS ? ' (late)' : '';
};

/** It asks whether Cilium or Calico routes, by objects that this cluster lacks. */
const OTHER_ROUTERS = /^get (?:configmaps|felixconfigurations) \(404\)$/;
/** No definition of ZoneEvacuations is installed here: the server does not know the kind, and says so. */
const NO_EVACUATIONS = /^list zoneevacuations \(404\)$/;
/** What a machine that stands still makes API servers say, and clients not wait for; it is no request's fault. */
const STANDSTILL = /\((?:429|500|503|504|late)\)$/;

const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

describe('load', function () {
  // Ten times what an idle machine needs.
  this.timeout(600_000);
  let client: Client;
  const bed = useBed({ auditReadsOf: [RECONCILER_USER] });
  const environment = describeEnvironment();
  const phases: Phase[] = [];
  const writes: SliceWrites[] = [];
  const requests = new Map<string, number>();
  let webhook: Component;
  let reconciler: Component;
  let audit: AuditReader;

  /** How many reviews of slices the webhook answered, by its own count. */
  const countReviews = async (): Promise<number> => {
    const text = await (await fetch(`http://127.0.0.1:${webhookMetricsPort}/metrics`)).text();
    const counts = text.matchAll(/^topology_aware_routing_admission_duration_seconds_count\{.*\} (\d+)$/gm);
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
  };

  const timed = async (name: string, count: number, work: () => Promise<unknown>): Promise<void> => {
    const start = performance.now();
    await work();
    phases.push({ name, requests: count, seconds: (performance.now() - start) / 1000 });
  };

  const readRequests = (): Map<string, number> => {
    for (const request of audit.next()) {
      const key = `${request.verb} ${request.resource || 'the version'}${troubleOf(request)}`;
      requests.set(key, (requests.get(key) ?? 0) + 1);
    }
    return requests;
  };

  /** All slices, a page at a time. */
  const slices = (): Promise<EndpointSlice[]> =>
    listAll<EndpointSlice>(client, ENDPOINT_SLICES, { labelSelector: LABEL_STRATEGY });

  const expectAllHinted = async (): Promise<void> => {
    const all = await slices();
    expect(all).to.have.lengthOf(SCALE.services);
    const bare = all.filter(({ endpoints }) => !(endpoints ?? []).every(hasOwnZone));
    expectNone(
      'slices without the hints of all endpoints',
      bare.map(({ metadata }) => `${metadata?.namespace}/${metadata?.name}`),
    );
    expect(all.flatMap(({ endpoints }) => endpoints ?? [])).to.have.lengthOf(SCALE.services * SCALE.endpointsPerSlice);
  };

  /** One round: `count` slices written once each; returns their times. */
  const writeRound = async (asks: boolean, atATime: number, count: number, round: number): Promise<number[]> => {
    const times: number[] = [];
    const chosen = upTo(count).map((index) => (round * count + index) % SCALE.plainSlices);
    await each(chosen, atATime, async (index) => {
      const next = sliceOf(index, asks, 1 + round);
      const start = performance.now();
      // Slices are among the objects that may be written without naming the version before.
      await untilAnswered(() => client.update<EndpointSlice>(ENDPOINT_SLICES, next));
      times.push(performance.now() - start);
    });
    return times;
  };

  const figuresOf = (program: Component): Process => {
    const { name, pid } = program;
    const { resident, peak } = memoryOf(program);
    const cpuSeconds = parseCpuSeconds(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    return { name, residentBytes: resident, peakBytes: peak, cpuSeconds };
  };

  before(`${SCALE.services} Services in ${NAMESPACE_NAMES.length} namespaces`, async () => {
    client = await connectAs(bed(), 'tester');
    await createNodes(client, ZONES, 1);
    await each(NAMESPACE_NAMES, concurrency, (name) => client.create<Namespace>(NAMESPACES, { metadata: { name } }));
    await timed('Services created: by the test', SCALE.services, () =>
      each(upTo(SCALE.services), concurrency, (index) => client.create<Service>(SERVICES, serviceOf(index))),
    );
    audit = readAudit(bed().auditLog, ({ user }) => user === RECONCILER_USER);
  });

  it('of Services: each gets its settings with one patch', async () => {
    webhook = await startStrictWebhook(bed(), { nodeFlags: NODE_FLAGS });
    await untilAdmission(client, NAMESPACE_NAMES[0] ?? '', true);
    const isDone = (all: ReadonlyMap<string, number>): boolean => (all.get('patch services') ?? 0) >= SCALE.services;
    await timed('settings of all Services: by the settings-reconciler', SCALE.services, async () => {
      reconciler = await startReconciler(bed());
      await waitFor('a patch for each Service', readRequests, isDone, { timeoutSeconds: 500 });
    });
    const services = await listAll<Service>(client, SERVICES, { labelSelector: LABEL_STRATEGY });
    const routed = services.filter(({ spec }) => spec?.trafficDistribution === 'PreferSameZone');
    expect(routed, 'Services with their settings').to.have.lengthOf(SCALE.services);
    expect(readRequests().get('patch services')).to.equal(SCALE.services);
  });

  /** Creates the slice of every index, as fast as the API server takes them. */
  const createSlices = (count: number, asks: boolean): Promise<void> =>
    each(upTo(count), concurrency, (index) =>
      untilAnswered(() => client.create<EndpointSlice>(ENDPOINT_SLICES, sliceOf(index, asks, 0))),
    );

  it('of slices: each is stored with its hints', async () => {
    await timed('slices created, without the webhook: by the test', SCALE.plainSlices, () =>
      createSlices(SCALE.plainSlices, false),
    );
    await timed('slices created, through the webhook: by the test', SCALE.services, () =>
      createSlices(SCALE.services, true),
    );
    await expectAllHinted();
    // By no other writer: a slice that the reconciler had to touch would be a patch of its.
    expect(readRequests().get('patch endpointslices')).to.equal(undefined);
    expect(await countReviews(), 'reviews that the webhook answered').to.be.at.least(SCALE.services);
  });

  it('of writes, in turns with and without the webhook in the path', async () => {
    for (const { atATime, writes: count } of turns) {
      const times = { with: [] as number[], without: [] as number[] };
      const seconds = { with: 0, without: 0 };
      for (let round = 0; round < rounds; round += 1) {
        for (const turn of ['without', 'with'] as const) {
          const start = performance.now();
          times[turn].push(...(await writeRound(turn === 'with', atATime, count, round)));
          seconds[turn] += (performance.now() - start) / 1000;
        }
      }
      for (const turn of ['without', 'with'] as const) {
        writes.push({
          atATime,
          webhook: turn === 'with',
          writes: times[turn].length,
          perSecond: times[turn].length / seconds[turn],
          p50Ms: percentile(times[turn], 50),
          p99Ms: percentile(times[turn], 99),
        });
      }
    }
    await expectAllHinted();
  });

  it('leaves both commands within the memory that the chart gives them, without a failed request', () => {
    for (const command of [webhook, reconciler]) command.assertRunning();
    const processes = [webhook, reconciler].map(figuresOf);
    const reconcilerRequests = Object.fromEntries(readRequests());
    const results: LoadResults = {
      environment: environment(),
      kubernetes: '1.36',
      scale: {
        services: SCALE.services,
        endpoints: SCALE.services * SCALE.endpointsPerSlice,
        namespaces: NAMESPACE_NAMES.length,
      },
      phases,
      writes,
      processes,
      reconcilerRequests,
    };
    console.log(`\n${formatLoad(results)}\n`);
    keepResults('load', results);
    const limits = readMemoryLimits();
    expect(memoryOf(webhook).peak, "the webhook's peak, and the chart's limit").to.be.below(limits.webhook);
    expect(memoryOf(reconciler).peak, "the reconciler's peak, and the chart's limit").to.be.below(limits.reconciler);
    expectNone(
      'failed requests of the settings-reconciler',
      Object.keys(reconcilerRequests).filter(
        (key) => key.includes('(') && ![STANDSTILL, OTHER_ROUTERS, NO_EVACUATIONS].some((known) => known.test(key)),
      ),
    );
  });
});
