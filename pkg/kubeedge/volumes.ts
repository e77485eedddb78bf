// Whether a new zone of a Node would cut Pods on it off from PersistentVolumes that are bound to the old one.
import type { ObjectReference } from '../apis/core.ts';
import type { KubernetesObject } from '../apis/meta.ts';
import { LABEL_ZONE } from '../apis/names.ts';
import { firstFew, keyOf, nameOf } from '../apis/values.ts';
import type { ZoneDecision } from './decide.ts';

/** core/v1 Pod, as far as its claims go. */
export interface ClaimingPod extends KubernetesObject {
  spec?: { volumes?: { name: string; persistentVolumeClaim?: { claimName?: string }; ephemeral?: unknown }[] | null };
  status?: { phase?: string };
}

type Requirement = { key: string; operator: string; values?: string[] | null };

/** core/v1 PersistentVolume, as far as its place goes. */
export interface PersistentVolume extends KubernetesObject {
  spec?: {
    claimRef?: ObjectReference | null;
    nodeAffinity?: {
      required?: { nodeSelectorTerms?: { matchExpressions?: Requirement[] | null }[] | null } | null;
    } | null;
  };
}

/** The older name of the zone label; the scheduler takes both for the same. */
const ZONE_KEYS = [LABEL_ZONE, 'failure-domain.beta.kubernetes.io/zone'];

/** Terms of an affinity are a choice. Provisioners write `In` about the zone; what any other operator says counts as no. Labels join zones with `__`. */
const isUsableIn = ({ metadata, spec }: PersistentVolume, zone: string): boolean => {
  const terms = spec?.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  const admits = ({ key, operator, values }: Requirement): boolean =>
    !ZONE_KEYS.includes(key) || (operator === 'In' && (values ?? []).includes(zone));
  return (
    (terms.length === 0 || terms.some(({ matchExpressions }) => (matchExpressions ?? []).every(admits))) &&
    ZONE_KEYS.every((key) => metadata?.labels?.[key]?.split('__').includes(zone) ?? true)
  );
};

/** `namespace/claim` of a Pod that has not ended; a generic ephemeral volume's is named after both. */
export const claimsOf = ({ metadata, spec, status }: ClaimingPod): string[] => {
  if (status?.phase === 'Succeeded' || status?.phase === 'Failed') return [];
  return (spec?.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
    const made = ephemeral === undefined ? undefined : `${metadata?.name ?? ''}-${name}`;
    const claim = persistentVolumeClaim?.claimName ?? made;
    return claim === undefined ? [] : [`${metadata?.namespace ?? ''}/${claim}`];
  });
};

const NAMED = 3;

/** The decision itself, or `ZoneBoundVolumes` where Pods of the Node use volumes that its new zone may not have. */
export const unlessBound = (
  decision: Extract<ZoneDecision, { kind: 'write' }>,
  node: string,
  pods: readonly ClaimingPod[],
  volumes: readonly PersistentVolume[],
): ZoneDecision => {
  const byClaim = new Map(
    volumes.map((volume) => [`${volume.spec?.claimRef?.namespace ?? ''}/${volume.spec?.claimRef?.name ?? ''}`, volume]),
  );
  const against = pods.flatMap((pod) =>
    claimsOf(pod).flatMap((claim) => {
      const volume = byClaim.get(claim);
      if (volume === undefined || isUsableIn(volume, decision.zone ?? '')) return [];
      return [`PersistentVolume ${nameOf(volume)} of Pod ${keyOf(pod)}`];
    }),
  );
  if (against.length === 0) return decision;
  const target = decision.zone === undefined ? 'without a zone' : `in zone ${JSON.stringify(decision.zone)}`;
  const message = `Node ${node} cannot be ${target}: ${firstFew(against, NAMED)} may not be used there. Move the Pods to another Node first`;
  return { kind: 'refused', reason: 'ZoneBoundVolumes', groups: decision.groups, message };
};
