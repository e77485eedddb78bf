// Which PersistentVolumes that Pods on a Node use are bound to a zone, and whether a new zone of the Node would cut them off.
import type { ObjectReference } from '../apis/core.ts';
import type { KubernetesObject } from '../apis/meta.ts';
import { LABEL_ZONE } from '../apis/names.ts';
import { nameOf, refOf } from '../apis/values.ts';
import type { ZoneDecision } from './decide.ts';

/** core/v1 Pod, as far as its claims go. */
export interface ClaimingPod extends KubernetesObject {
  spec?: {
    volumes?: { name: string; persistentVolumeClaim?: { claimName?: string }; ephemeral?: unknown }[] | null;
  };
  status?: { phase?: string };
}

interface Requirement {
  key: string;
  operator: string;
  values?: string[] | null;
}

/** core/v1 PersistentVolume, as far as its place goes. */
export interface PersistentVolume extends KubernetesObject {
  spec?: {
    claimRef?: ObjectReference | null;
    nodeAffinity?: {
      required?: { nodeSelectorTerms?: { matchExpressions?: Requirement[] | null }[] | null } | null;
    } | null;
  };
}

/** A volume of a Pod on the Node that may be used in some zones only. */
export interface BoundVolume {
  readonly volume: string;
  /** `namespace/name` of a Pod that uses it. */
  readonly pod: string;
}

/** The older name of the zone label; the scheduler takes both for the same. */
const ZONE_KEYS = [LABEL_ZONE, 'failure-domain.beta.kubernetes.io/zone'];
/** Between the zones of a volume with several, in a label of its own. */
const SEPARATOR = '__';

const admits = ({ operator, values }: Requirement, zone: string | undefined): boolean => {
  const listed = zone !== undefined && (values ?? []).includes(zone);
  switch (operator) {
    case 'In':
      return listed;
    case 'NotIn':
      return !listed;
    case 'Exists':
      return zone !== undefined;
    case 'DoesNotExist':
      return zone === undefined;
    default:
      return false;
  }
};

/** Affinity is a choice of terms, each of which is a list of conditions; only those about the zone can change here. */
const affinityAdmits = ({ spec }: PersistentVolume, zone: string | undefined): boolean => {
  const terms = spec?.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  return (
    terms.length === 0 ||
    terms.some(({ matchExpressions }) =>
      (matchExpressions ?? []).every((one) => !ZONE_KEYS.includes(one.key) || admits(one, zone)),
    )
  );
};

const labelAdmits = ({ metadata }: PersistentVolume, zone: string | undefined): boolean =>
  ZONE_KEYS.every((key) => {
    const value = metadata?.labels?.[key];
    return value === undefined || (zone !== undefined && value.split(SEPARATOR).includes(zone));
  });

/** Claims of a Pod by name; a generic ephemeral volume's is named after both. */
const claimsOf = ({ metadata, spec, status }: ClaimingPod): string[] => {
  if (status?.phase === 'Succeeded' || status?.phase === 'Failed') return [];
  return (spec?.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
    if (persistentVolumeClaim?.claimName !== undefined) return [persistentVolumeClaim.claimName];
    return ephemeral === undefined ? [] : [`${metadata?.name ?? ''}-${name}`];
  });
};

/** Volumes that Pods of the Node use and that its new zone would not be allowed to have; in the order of the Pods. */
export const volumesAgainst = (
  zone: string | undefined,
  pods: readonly ClaimingPod[],
  volumes: readonly PersistentVolume[],
): BoundVolume[] => {
  const byClaim = new Map(
    volumes.flatMap((volume) => {
      const { namespace, name } = volume.spec?.claimRef ?? {};
      return name === undefined ? [] : [[`${namespace ?? ''}/${name}`, volume] as const];
    }),
  );
  return pods.flatMap((pod) => {
    const { namespace, name } = refOf(pod);
    return claimsOf(pod).flatMap((claim) => {
      const volume = byClaim.get(`${namespace}/${claim}`);
      if (volume === undefined || (affinityAdmits(volume, zone) && labelAdmits(volume, zone))) return [];
      return [{ volume: nameOf(volume), pod: `${namespace}/${name}` }];
    });
  });
};

const NAMED = 3;

/** The decision itself, or `ZoneBoundVolumes`. */
export const unlessBound = (
  decision: Extract<ZoneDecision, { kind: 'write' }>,
  node: string,
  against: readonly BoundVolume[],
): ZoneDecision => {
  if (against.length === 0) return decision;
  const named = against.slice(0, NAMED).map(({ volume, pod }) => `PersistentVolume ${volume} of Pod ${pod}`);
  const more = against.length > NAMED ? ` and ${against.length - NAMED} more` : '';
  const target = decision.zone === undefined ? 'without a zone' : `in zone ${JSON.stringify(decision.zone)}`;
  const message = `Node ${node} cannot be ${target}: ${named.join(', ')}${more} may not be used there. Move the Pods to another Node first`;
  return { kind: 'refused', reason: 'ZoneBoundVolumes', groups: decision.groups, message };
};
