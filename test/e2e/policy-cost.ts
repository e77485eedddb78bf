// SPDX-License-Identifier: Apache-2.0
// Large slices, and what one write of them costs.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Endpoint, EndpointSlice, Service } from '../../pkg/apis/core.ts';
import { ANNOTATION_APPLIED, LABEL_STRATEGY } from '../../pkg/apis/names.ts';
import { ENDPOINT_SLICES, SERVICES } from '../../pkg/apis/resources.ts';
import type { Client } from '../../pkg/kubernetes/types.ts';
import { formatApplied } from '../../pkg/routing/index.ts';
import { endpoint, service, slice } from '../fixtures/core.ts';
import { named } from './policy-agreement.ts';

export interface Measurement {
  /** What adds the hints: `none`, `policy` or `webhook`. */
  readonly carrier: string;
  /** Of slices; `service-settings` for a Service whose owner drops settings that are put back. */
  readonly strategy: string;
  /** 0 for a Service. */
  readonly endpoints: number;
  readonly writes: number;
  /** Milliseconds of one PUT as its client sees it; the least is what other work on the machine disturbs least. */
  readonly minMs: number;
  readonly p50Ms: number;
  readonly p90Ms: number;
}

export interface MeasureOptions {
  readonly carrier: string;
  readonly namespace: string;
  /** Writes as the EndpointSlice controller does: without hints. */
  readonly controller: Client;
  /** Writes the plan that is there before. */
  readonly planner: Client;
}

/** How many writes are timed, by the number of endpoints. */
const WRITES: Readonly<Record<number, number>> = { 3: 30, 100: 20, 1000: 10 };
const SETTINGS_WRITES = 30;

/** Endpoints of the usual shape: one of three zones, IPv4, a Pod behind each address. */
const usualEndpoints = (size: number, hints?: Endpoint['hints']): Endpoint[] =>
  Array.from({ length: size }, (_, index) =>
    endpoint({
      zone: `eu-central-1${'abc'.charAt(index % 3)}`,
      addresses: [`198.19.${index >> 8}.${index & 255}`],
      targetRef: {
        kind: 'Pod',
        name: `web-${index}`,
        uid: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
      },
      ...(hints === undefined ? {} : { hints }),
    }),
  );

/** As many endpoints as a slice takes, with the longest zones and node names, IPv6 addresses and Pods. */
export const largestEndpoints = (): Endpoint[] =>
  Array.from({ length: 1000 }, (_, index) => {
    const number = String(index).padStart(4, '0');
    return endpoint({
      zone: 'abc'.charAt(index % 3).repeat(63),
      nodeName: `${'n'.repeat(57)}${number}.${'x'.repeat(63)}.${'y'.repeat(63)}.${'z'.repeat(63)}`.slice(0, 253),
      addresses: [`2001:db8:1111:1111:1111:1111:1111:${(4096 + index).toString(16)}`],
      targetRef: { kind: 'Pod', name: `web-${number}`, uid: `00000000-0000-4000-8000-00000000${number}` },
    });
  });

const measurementOf = (carrier: string, strategy: string, size: number, times: number[]): Measurement => {
  times.sort((left, right) => left - right);
  const at = (share: number): number => Number((times[Math.floor(share * (times.length - 1))] ?? 0).toFixed(1));
  return { carrier, strategy, endpoints: size, writes: times.length, minMs: at(0), p50Ms: at(0.5), p90Ms: at(0.9) };
};

/** Writes one planned slice without hints again and again; returns the times and the slice of the last answer. */
const measureOne = async (
  { carrier, namespace, controller, planner }: MeasureOptions,
  strategy: string,
  size: number,
): Promise<{ measurement: Measurement; stored: EndpointSlice }> => {
  const metadata = { labels: { [LABEL_STRATEGY]: strategy } };
  const name = `${carrier}-${strategy}-${size}`;
  const plan = { forZones: [{ name: 'eu-central-1a' }, { name: 'eu-central-1b' }] };
  const first = slice({ endpoints: usualEndpoints(size, plan), metadata });
  let stored = await planner.create(ENDPOINT_SLICES, named(first, namespace, name));
  const endpoints = usualEndpoints(size);
  const times: number[] = [];
  for (let round = 0; round <= (WRITES[size] ?? 0); round += 1) {
    const next = slice({ endpoints, metadata: { ...metadata, annotations: { round: String(round) } } });
    const body = named(next, namespace, name, stored.metadata?.resourceVersion);
    const start = performance.now();
    stored = await controller.update(ENDPOINT_SLICES, body);
    // The first write connects and warms up.
    if (round > 0) times.push(performance.now() - start);
  }
  await controller.delete(ENDPOINT_SLICES, { namespace, name });
  return { measurement: measurementOf(carrier, strategy, size, times), stored };
};

/** All sizes, for a strategy with a plan and one without; `check` is shown what the last write stored. */
export const measure = async (
  options: MeasureOptions,
  check: (strategy: string, stored: EndpointSlice) => void,
): Promise<Measurement[]> => {
  const measurements: Measurement[] = [];
  for (const strategy of ['same-zone', 'load-aware']) {
    for (const size of Object.keys(WRITES).map(Number)) {
      const { measurement, stored } = await measureOne(options, strategy, size);
      check(strategy, stored);
      measurements.push(measurement);
    }
  }
  return measurements;
};

/** Times writes of a Service by an owner who drops what the settings reconciler set; `kept` sees what each stored. */
export const measureSettings = async (
  carrier: string,
  namespace: string,
  owner: Client,
  kept: (stored: Service) => void,
): Promise<Measurement> => {
  const name = `settings-${carrier}`;
  const settings = { trafficDistribution: 'PreferSameZone' };
  const metadata = { namespace, name, annotations: { [ANNOTATION_APPLIED]: formatApplied(settings) ?? '' } };
  const held = service({ metadata, spec: { clusterIP: 'None', ...settings } });
  let stored = await owner.create(SERVICES, held);
  const times: number[] = [];
  for (let round = 0; round <= SETTINGS_WRITES; round += 1) {
    const { resourceVersion = '' } = stored.metadata ?? {};
    const next = service({
      metadata: { ...metadata, resourceVersion, labels: { round: String(round) } },
      spec: { clusterIP: 'None' },
    });
    const start = performance.now();
    const answer = await owner.update(SERVICES, next);
    if (round > 0) times.push(performance.now() - start);
    kept(answer);
    // Nothing is put back that was not stored.
    stored =
      answer.spec?.trafficDistribution === undefined
        ? await owner.patch<Service>(SERVICES, metadata, 'merge', { spec: settings })
        : answer;
  }
  await owner.delete(SERVICES, metadata);
  return measurementOf(carrier, 'service-settings', 0, times);
};

/** Prints one measurement a line, and writes `policy.json` where E2E_RESULTS names a folder. */
export const reportCosts = (measurements: readonly Measurement[]): void => {
  console.log(`[\n${measurements.map((one) => `  ${JSON.stringify(one)}`).join(',\n')}\n]`);
  const folder = process.env['E2E_RESULTS'];
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'policy.json'), `${JSON.stringify(measurements, undefined, 2)}\n`);
};
