// Reads the traffic-meters again and again for the new connections that a zone still gets.
import { systemClock } from '../../../pkg/kubernetes/clock.ts';
import { sleep } from '../../../pkg/kubernetes/sleep.ts';
import { stillSeen } from '../../../pkg/traffic/still-seen.ts';
import type { StillSeen } from '../../../pkg/traffic/still-seen.ts';
import type { Measured } from '../../../pkg/traffic/measured.ts';
import type { LiveTraffic } from '../live-traffic.ts';

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

/** kube-proxy applies slices once a second (--nftables-min-sync-period, --iptables-min-sync-period), and meters count a moment later. */
const APPLIED_MS = 2_000;

/** Of the time from when proxies have what was written: what was before has left no trace in it. */
export const measuredFromNow = async (traffic: LiveTraffic, signal: AbortSignal): Promise<Measured> => {
  await sleep(systemClock, Math.min(APPLIED_MS, traffic.intervalMs), signal);
  await traffic.next(signal);
  await sleep(systemClock, traffic.intervalMs, signal);
  return traffic.next(signal);
};
