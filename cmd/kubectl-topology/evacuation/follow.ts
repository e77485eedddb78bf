// What the commands of evacuations share: the ZoneEvacuations of a cluster, and how one is followed, or the slices that still show it, until what
// was asked for is done.
import type { EndpointSlice } from '../../../pkg/apis/core.ts';
import { defined, errorText, keyOf } from '../../../pkg/apis/values.ts';
import { ENDPOINT_SLICES, ZONE_EVACUATIONS } from '../../../pkg/apis/resources.ts';
import type { ZoneEvacuation } from '../../../pkg/apis/zone-evacuation.ts';
import { RETRY_MS, isMarkedFor, isPassing, listMarked } from '../../../pkg/controllers/evacuation/cleanup.ts';
import { sleep, systemClock } from '../../../pkg/kubernetes/wait.ts';
import { ifFound, isForbidden } from '../../../pkg/kubernetes/errors.ts';
import { listAll } from '../../../pkg/kubernetes/request.ts';
import type { Client } from '../../../pkg/kubernetes/types.ts';
import type { Measured } from '../../../pkg/traffic/measured.ts';
import type { ClusterFlags } from '../flags.ts';
import type { ExitCode, Io } from '../io.ts';
import { type LiveTraffic, withTraffic } from '../measured-flags.ts';

/** All there are, in name order; undefined where the cluster does not serve the kind. */
export const listEvacuations = (client: Client, signal: AbortSignal): Promise<ZoneEvacuation[] | undefined> =>
  ifFound(listAll(client, ZONE_EVACUATIONS, {}, signal));

/** As for `status`: nothing is installed. */
export const saysNotInstalled = ({ err }: Io): ExitCode => {
  err.write('error: the cluster serves no ZoneEvacuations: install the chart, whose settings-reconciler evacuates\n');
  return 3;
};

/** This one, and none that came under its name since. */
export const deleteEvacuation = (
  client: Client,
  { metadata: { name = '', uid } }: ZoneEvacuation,
  signal: AbortSignal,
): Promise<void> => client.delete(ZONE_EVACUATIONS, { name }, uid ? { preconditions: { uid } } : {}, signal);

/** Why slices still show what was taken off them; `writer` writes it again where each write went well. */
export const whyLeft = (errors: readonly unknown[], writer: string): string =>
  errors.length === 0 ? `another process writes them again: stop ${writer}` : errorText(errors[0]);

/** For a promise that is only waited for: undefined where the person went away, since what was begun goes on. */
export const unlessLeft =
  ({ signal }: Io) =>
  (error: unknown): undefined => {
    if (!signal.aborted) throw error;
  };

/** Asks until it is done, also where the API server does not answer for a while. */
const untilDone = async <T>(once: () => Promise<T | undefined>, signal: AbortSignal, pauseMs = RETRY_MS) => {
  for (;;) {
    try {
      const found = await once();
      if (found !== undefined) return found;
    } catch (error) {
      signal.throwIfAborted();
      if (!isPassing(error)) throw error;
    }
    await sleep(systemClock, pauseMs, signal);
  }
};

/** Between two looks at one small object. */
const LOOK_MS = 250;

/** Resolves with the last state. @param isLast - called with every state that is seen */
export const followEvacuation = (
  client: Pick<Client, 'get'>,
  name: string,
  isLast: (evacuation: ZoneEvacuation) => boolean,
  signal: AbortSignal,
): Promise<ZoneEvacuation> => {
  const look = async (): Promise<ZoneEvacuation | undefined> => {
    const found = await client.get<ZoneEvacuation>(ZONE_EVACUATIONS, { name }, signal);
    return isLast(found) ? found : undefined;
  };
  return untilDone(look, signal, LOOK_MS);
};

/** Resolves when no slice shows the evacuation any more; calls back with how many still do. */
export const followReturn = (client: Client, zone: string, onCount: (count: number) => void, signal: AbortSignal) => {
  /** Undefined where the watch ended before, or is not allowed: then lists have to do. */
  const look = async (): Promise<true | undefined> => {
    const { slices, resourceVersion } = await listMarked(client, zone, signal);
    const left = new Set(slices.map(keyOf));
    onCount(left.size);
    if (left.size === 0) return true;
    try {
      for await (const event of client.watch<EndpointSlice>(ENDPOINT_SLICES, { resourceVersion }, signal)) {
        if (event.type === 'BOOKMARK') continue;
        const before = left.size;
        if (event.type !== 'DELETED' && isMarkedFor(event.object, zone)) left.add(keyOf(event.object));
        else left.delete(keyOf(event.object));
        if (left.size !== before) onCount(left.size);
        if (left.size === 0) return true;
      }
    } catch (error) {
      if (!isForbidden(error)) throw error;
    }
    return undefined;
  };
  return untilDone(look, signal);
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

export const measureFromNow = (
  { kubeconfig, context, meterNamespace }: ClusterFlags & { readonly meterNamespace?: string },
  io: Io,
): Promise<Measured> =>
  withTraffic(defined({ kubeconfig, context, meterNamespace }), io, (traffic) => measuredFromNow(traffic, io.signal));
