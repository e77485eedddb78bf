// SPDX-License-Identifier: Apache-2.0
// New connections that endpoints of a zone still get, as the traffic-meters count them while it is evacuated.
import { systemClock } from '../../../pkg/kubernetes/clock.ts';
import { sleep } from '../../../pkg/kubernetes/sleep.ts';
import { isOfService } from '../../../pkg/traffic/measured.ts';
import type { Measured, MeasuredFlow } from '../../../pkg/traffic/measured.ts';
import type { LiveTraffic } from '../live-traffic.ts';

/** A second, over so many seconds. */
export interface StillSeen {
  readonly seconds: number;
  readonly throughServices: number;
  /** By address, or to Services that the meters do not know: hints decide nothing of it. */
  readonly pastServices: number;
}

const sumOf = (flows: readonly MeasuredFlow[]): number =>
  flows.reduce((sum, { connections }) => sum + (connections ?? 0), 0);

export const stillSeen = ({ flows, seconds }: Measured, zone: string): StillSeen => {
  const there = flows.filter(({ destination }) => destination === zone);
  return {
    seconds,
    throughServices: sumOf(there.filter(isOfService)),
    pastServices: sumOf(there.filter((flow) => !isOfService(flow))),
  };
};

const rate = (value: number): string => (value === 0 || value >= 10 ? String(Math.round(value)) : value.toFixed(1));

export const stillSeenText = ({ throughServices, pastServices, seconds }: StillSeen, zone: string): string =>
  `new connections to ${zone}: ${rate(throughServices)} a second through Services, ${rate(pastServices)} past them (measured over ${Math.round(seconds)} s)`;

/** Calls back after each reading until the signal aborts; rejects where the meters cannot be read any more. */
export const watchStillSeen = async (
  traffic: LiveTraffic,
  zone: string,
  onSeen: (seen: StillSeen) => void,
  signal: AbortSignal,
): Promise<void> => {
  await traffic.next(signal);
  while (!signal.aborted) {
    await sleep(systemClock, traffic.intervalMs, signal);
    onSeen(stillSeen(await traffic.next(signal), zone));
  }
};

/** Of the time from now on: what was before has left no trace in it. */
export const seenFromNow = async (traffic: LiveTraffic, zone: string, signal: AbortSignal): Promise<StillSeen> => {
  await traffic.next(signal);
  await sleep(systemClock, traffic.intervalMs, signal);
  return stillSeen(await traffic.next(signal), zone);
};
