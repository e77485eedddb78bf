// The Lease object as leader election uses it: its shape, its timestamps, and what a holder writes into it.
import type { KubernetesObject, ObjectMeta, ObjectRef, OwnerReference } from '../apis/meta.ts';
import { ANNOTATION_INSTALLATION } from '../apis/names.ts';

/** spec of coordination.k8s.io/v1 Lease; unknown fields are kept. */
export interface LeaseSpec {
  /** Empty or absent: not held. */
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

/** What a holder puts on a Lease beside its name when it takes it; the marks of the holder before go. */
export interface HolderMarks {
  /** Namespace of the holder's installation, where several share the Lease. */
  readonly installation?: string;
  /** What the Lease goes with. */
  readonly owner?: OwnerReference | undefined;
}

/** Namespace of the installation that holds the Lease, as it says; empty where it does not. */
export const installationOf = (lease: Lease): string => lease.metadata?.annotations?.[ANNOTATION_INSTALLATION] ?? '';

/** What a holder writes. */
export interface Claim {
  /** Default: none, and those that are there stay. */
  readonly marks?: HolderMarks | undefined;
  readonly identity: string;
  readonly leaseDurationMs: number;
  /** Wall clock, milliseconds since the epoch. */
  readonly now: number;
}

/** Leases count whole seconds; rounded up, so that followers never wait less than the holder believes. */
const durationSeconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1_000));

const marked = (metadata: ObjectMeta, marks: HolderMarks | undefined): ObjectMeta => {
  if (marks === undefined) return metadata;
  const { [ANNOTATION_INSTALLATION]: _before, ...annotations } = metadata.annotations ?? {};
  const { ownerReferences: _others, ...rest } = metadata;
  const { installation, owner } = marks;
  return {
    ...rest,
    annotations: { ...annotations, ...(installation === undefined ? {} : { [ANNOTATION_INSTALLATION]: installation }) },
    ...(owner === undefined ? {} : { ownerReferences: [owner] }),
  };
};

/** The Lease that takes or renews leadership, from what the server holds (absent: to create). */
export const claimLease = (ref: ObjectRef, current: Lease | undefined, claim: Claim): Lease => {
  const { identity, leaseDurationMs, now, marks } = claim;
  const spec = current?.spec;
  const renews = current !== undefined && holderOf(current) === identity;
  const time = microTime(now);
  return {
    ...current,
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: renews ? { ...ref, ...current.metadata } : marked({ ...ref, ...current?.metadata }, marks),
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
