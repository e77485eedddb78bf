// Renews the Lease by which gardenlet sees that this extension is alive: without it health reports count as outdated.
import type { ObjectRef } from '../../apis/meta.ts';
import { HEARTBEAT_LEASE } from '../../apis/names.ts';
import { LEASES, apiVersionOf } from '../../apis/resources.ts';
import { except, ifFound, isAlreadyExists } from '../../kubernetes/errors.ts';
import type { Lease } from '../../apis/core.ts';
import { microTime } from '../../kubernetes/lease.ts';
import { pause } from '../../kubernetes/wait.ts';
import type { Uses } from '../../kubernetes/types.ts';

export interface HeartbeatOptions extends Uses<'client' | 'clock' | 'logger', 'create' | 'patch'> {
  /** Our own. */
  namespace: string;
  /** Name of the extension: who the Lease says is alive. */
  extension: string;
  /** How often it is renewed, seconds; the Lease says so too. Gardener's default is 30. */
  renewIntervalSeconds: number;
}

/** One beat: the Lease is patched, and created where there is none. */
const beat = async (options: HeartbeatOptions, signal: AbortSignal): Promise<void> => {
  const { client, namespace, extension: holderIdentity, renewIntervalSeconds: leaseDurationSeconds, clock } = options;
  const ref: ObjectRef = { namespace, name: HEARTBEAT_LEASE };
  const spec = { holderIdentity, leaseDurationSeconds, renewTime: microTime(clock.now()) };
  const renew = () => client.patch<Lease>(LEASES, ref, 'merge', { spec }, {}, signal);
  if ((await ifFound(renew())) !== undefined) return;
  const lease: Lease = { apiVersion: apiVersionOf(LEASES), kind: LEASES.kind, metadata: { ...ref }, spec };
  if ((await except(client.create(LEASES, lease, {}, signal), isAlreadyExists)) === undefined) await renew();
};

/** Beats until the signal aborts; resolves then. What fails is logged, and tried again with the next beat. */
export const runHeartbeat = async (options: HeartbeatOptions, signal: AbortSignal): Promise<void> => {
  const { clock, logger, namespace, renewIntervalSeconds } = options;
  while (!signal.aborted) {
    try {
      await beat(options, signal);
    } catch (error) {
      if (!signal.aborted) logger.warn('cannot renew the heartbeat', { namespace, lease: HEARTBEAT_LEASE, error });
    }
    await pause(clock, renewIntervalSeconds * 1_000, signal);
  }
};
