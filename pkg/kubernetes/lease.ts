// SPDX-License-Identifier: Apache-2.0
// The Lease object as leader election uses it: its shape, its timestamps, and what a holder writes into it.
import type { KubernetesObject, ObjectRef } from '../apis/meta.ts';

/** spec of coordination.k8s.io/v1 Lease; unknown fields are kept. */
export interface LeaseSpec {
  /** Empty or absent: nobody holds it. */
  holderIdentity?: string | null;
  /** How long followers wait after the last renewal that they saw. */
  leaseDurationSeconds?: number | null;
  /** MicroTime. */
  acquireTime?: string | null;
  renewTime?: string | null;
  /** How often the holder changed. */
  leaseTransitions?: number | null;
}

export interface Lease extends KubernetesObject {
  spec?: LeaseSpec;
}

/** Milliseconds since the epoch as meta/v1 MicroTime: RFC 3339 with exactly six digits, which Go's parser insists on. */
export const microTime = (ms: number): string => new Date(ms).toISOString().replace('Z', '000Z');

export const holderOf = (lease: Lease): string => lease.spec?.holderIdentity ?? '';

/** What a holder writes. */
export interface Claim {
  readonly identity: string;
  readonly leaseDurationMs: number;
  /** Wall clock, milliseconds since the epoch. */
  readonly now: number;
}

/** Leases count whole seconds; rounded up, so that followers never wait less than the holder believes. */
const durationSeconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1_000));

/** The Lease that takes or renews leadership, from what the server holds (absent: to create). */
export const claimLease = (ref: ObjectRef, current: Lease | undefined, claim: Claim): Lease => {
  const { identity, leaseDurationMs, now } = claim;
  const spec = current?.spec;
  const renews = current !== undefined && holderOf(current) === identity;
  const time = microTime(now);
  return {
    ...current,
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { ...ref, ...current?.metadata },
    spec: {
      ...spec,
      holderIdentity: identity,
      leaseDurationSeconds: durationSeconds(leaseDurationMs),
      acquireTime: renews ? (spec?.acquireTime ?? time) : time,
      renewTime: time,
      leaseTransitions: (spec?.leaseTransitions ?? 0) + (renews || current === undefined ? 0 : 1),
    },
  };
};

/** The Lease that gives leadership up: no holder, and followers need not wait (client-go's values). */
export const releaseLease = (current: Lease, now: number): Lease => ({
  ...current,
  spec: {
    ...current.spec,
    holderIdentity: '',
    leaseDurationSeconds: 1,
    acquireTime: microTime(now),
    renewTime: microTime(now),
  },
});
