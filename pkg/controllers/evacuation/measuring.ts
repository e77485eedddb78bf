// SPDX-License-Identifier: Apache-2.0
// Reads what clients measure by zone while one is evacuated: from a Prometheus, by queries of the configuration, and from the traffic-meters.
import type { EvacuationConfiguration, MeasurementConfiguration } from '../../apis/config/settings-reconciler.ts';
import { errorText } from '../../apis/error-text.ts';
import { measuredCondition } from '../../evacuation/measured.ts';
import type { Arrivals, MeasuredCondition, Measurement } from '../../evacuation/measured.ts';
import { isZoneName } from '../../hints/names.ts';
import { sleep } from '../../kubernetes/sleep.ts';
import type { Client, Clock } from '../../kubernetes/types.ts';
import { createMeterReader } from '../../metrics/measured-traffic.ts';
import { readLabelled } from '../../metrics/prometheus-answer.ts';
import { createPrometheusClient } from '../../metrics/prometheus-client.ts';
import { averageBetween, pairsWith } from '../../traffic/meter-reading.ts';
import type { ReadingPair } from '../../traffic/meter-reading.ts';
import type { Measured } from '../../traffic/measured.ts';
import { stillSeen, stillSeenText } from '../../traffic/still-seen.ts';

/** How often it is looked whether a zone is evacuated. */
const LOOK_MS = 5_000;

export interface MeasuringOptions {
  readonly config: EvacuationConfiguration;
  readonly client: Pick<Client, 'pages' | 'create' | 'text'>;
  readonly clock: Clock;
  /** `<command> (<platform>)`, for queries to Prometheus. */
  readonly userAgent: string;
  /** Whether a zone is evacuated now: else nothing is asked. */
  needed(): boolean;
  onReading(): void;
}

export interface Measuring {
  /** Undefined where nothing is configured, or nothing was read yet. */
  of(zone: string): MeasuredCondition | undefined;
  /** Reads until the signal aborts; rejects never. */
  run(signal: AbortSignal): Promise<void>;
}

type Found = Measurement['found'];

/** One value for each zone, whatever the server answers. */
const byZone = (body: string, zoneLabel: string): Found => {
  const { rows, problems } = readLabelled(body);
  const found = new Map<string, number>();
  for (const { labels, value } of rows) {
    const zone = labels[zoneLabel];
    if (!isZoneName(zone)) continue;
    if (found.has(zone)) return { failure: `several samples of ${zone}: sum or average by (${zoneLabel})` };
    found.set(zone, value);
  }
  if (found.size > 0) return found;
  const why = rows.length > 0 ? `no sample has a zone as its label ${zoneLabel}` : 'no sample';
  return { failure: [why, ...problems].join(', ') };
};

type Ask = (promql: string, signal: AbortSignal) => Promise<string>;

const measure = async (
  { name, unit, query, zoneLabel }: MeasurementConfiguration,
  ask: Ask,
  signal: AbortSignal,
): Promise<Measurement> => {
  try {
    return { name, unit, found: byZone(await ask(query, signal), zoneLabel) };
  } catch (error) {
    signal.throwIfAborted();
    return { name, unit, found: { failure: errorText(error) } };
  }
};

/** Averages between two readings; the first brings none. */
const createMeters = ({ client, clock, config }: MeasuringOptions) => {
  const reader = createMeterReader({ client, namespace: config.meters.namespace, now: () => clock.monotonic() });
  let pairs: readonly ReadingPair[] = [];
  return async (signal: AbortSignal): Promise<Measured | { readonly failure: string } | undefined> => {
    try {
      const { readings, notes } = await reader.read(signal);
      if (readings.length === 0) return { failure: notes.join('; ') };
      const isFirst = pairs.length === 0;
      pairs = pairsWith(pairs, readings);
      return isFirst ? undefined : averageBetween(pairs, notes);
    } catch (error) {
      signal.throwIfAborted();
      return { failure: errorText(error) };
    }
  };
};

const arrivalsOf = (measured: Measured | { readonly failure: string }, zone: string): Arrivals => {
  if ('failure' in measured) return measured;
  const notes = measured.notes.length === 0 ? '' : ` (${measured.notes.join('; ')})`;
  return { text: `${stillSeenText(stillSeen(measured, zone), zone)}${notes}` };
};

export const createMeasuring = (options: MeasuringOptions): Measuring => {
  const { config, clock, userAgent } = options;
  const { prometheus, measurements, meters, intervalSeconds } = config;
  let found: readonly Measurement[] | undefined;
  let arriving: Measured | { readonly failure: string } | undefined;

  const reading = async (signal: AbortSignal): Promise<void> => {
    const server =
      prometheus &&
      createPrometheusClient({
        config: { ...prometheus, name: 'evacuation', type: 'Prometheus', cacheSeconds: 0 },
        clock,
        userAgent,
      });
    const readMeters = meters.enabled ? createMeters(options) : undefined;
    try {
      while (options.needed()) {
        [found, arriving] = await Promise.all([
          Promise.all(server === undefined ? [] : measurements.map((one) => measure(one, server.query, signal))),
          readMeters?.(signal),
        ]);
        options.onReading();
        await sleep(clock, intervalSeconds * 1_000, signal);
      }
    } finally {
      [found, arriving] = [undefined, undefined];
      await server?.close();
    }
  };

  return {
    of(zone) {
      if (found === undefined || (found.length === 0 && arriving === undefined)) return undefined;
      return measuredCondition(zone, found, arriving === undefined ? undefined : arrivalsOf(arriving, zone));
    },
    async run(signal) {
      if (measurements.length === 0 && !meters.enabled) return;
      try {
        while (!signal.aborted) {
          if (options.needed()) await reading(signal);
          await sleep(clock, LOOK_MS, signal);
        }
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    },
  };
};
