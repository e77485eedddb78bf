// The shapes of Gardener decisions, and what a namespace is by Gardener's labels and annotations.
import type { Namespace } from '../apis/core.ts';
import { LABEL_GARDENER_ROLE } from '../apis/names.ts';

/** Why routing by zone is not switched on for a Service; stable words for conditions, metrics and docs. */
export type RefusalReason =
  | 'SettingDisabled'
  | 'SingleZone'
  | 'DuplicateZones'
  | 'NotHighlyAvailable'
  | 'FailureToleranceNotZone'
  | 'LayerSevenLoadBalancing'
  | 'SelfHostedShoot'
  | 'NotInCatalogue'
  | 'NamespaceNotOwned'
  | 'WrittenByDruid'
  | 'Excluded'
  | 'SourceMissing'
  | 'ShootBeingDeleted'
  | 'ShootMigrating'
  | 'ShootIgnored'
  | 'ShootHibernated'
  | 'ShootFailed'
  | 'VersionUnknown'
  | 'ConflictingMode'
  | 'RouterDropsTraffic'
  | 'SwitchedOff'
  | 'ConfigurationInvalid';

/** No, with a reason and a sentence for a person. `violations` carries Gardener's own sentences, all that apply. */
export interface Refusal {
  readonly kind: 'refused';
  readonly reason: RefusalReason;
  readonly message: string;
  /** Field path of the setting or object that is the cause, as Gardener's validation names it. */
  readonly field?: string;
  readonly violations?: readonly { readonly field: string; readonly detail: string }[];
}

export type RoutingDecision = { readonly kind: 'enabled' } | Refusal;

/** Whether a catalogue entry belongs to a Shoot's control plane or to the garden. */
export type Scope = 'shoot' | 'garden';

/** One row of the catalogue of Services: what decides about it, and under which condition it routes by zone. */
export interface CatalogueEntry {
  /** Name of the Service whose traffic is meant. */
  readonly service: string;
  readonly scope: Scope;
  /**
   * The object that decides about it: the Service itself, which is written, or the Etcd that etcd-druid makes it from. Neither an
   * Etcd nor what druid makes is ever written.
   */
  readonly source: { readonly kind: 'Service' | 'Etcd'; readonly name: string };
  /** Extra condition beside the setting, zones and HA. */
  readonly condition: 'none' | 'notLayerSeven';
  /** False for objects that Gardener's contract says admission must not mutate. */
  readonly mutableAtAdmission: boolean;
}

const ANNOTATION_ZONES = 'high-availability-config.resources.gardener.cloud/zones';
const ANNOTATION_FAILURE_TOLERANCE = 'high-availability-config.resources.gardener.cloud/failure-tolerance-type';

/**
 * `shoot`: control plane of a shoot, named like its Cluster. `selfHosted`: kube-system of a shoot that hosts itself.
 * `garden`: Gardener's own components. `extension`: one extension. `other`: none of Gardener's.
 *
 * `zones` comes from the annotation; old shoots list several without being zone-HA, so nothing is inferred from the count.
 */
export type NamespaceClass =
  | {
      readonly kind: 'shoot';
      readonly zones: readonly string[];
      /** `node`, `zone`, or empty for no high availability; undefined without the annotation. */
      readonly failureToleranceType: string | undefined;
    }
  | { readonly kind: 'selfHosted' }
  | { readonly kind: 'garden'; readonly zones: readonly string[] }
  | { readonly kind: 'extension'; readonly zones: readonly string[] }
  | { readonly kind: 'other' };

const parseZones = (value: string | undefined): readonly string[] =>
  (value ?? '')
    .split(',')
    .map((zone) => zone.trim())
    .filter((zone) => zone !== '');

/** Recognises a namespace by its role label; names only show a self-hosted shoot's. */
export const classifyNamespace = ({ metadata = {} }: Namespace): NamespaceClass => {
  const { name, labels = {}, annotations = {} } = metadata;
  const zones = parseZones(annotations[ANNOTATION_ZONES]);
  const role = labels[LABEL_GARDENER_ROLE];
  if (role === 'garden' || role === 'extension') return { kind: role, zones };
  if (role !== 'shoot') return { kind: 'other' };
  if (name === 'kube-system') return { kind: 'selfHosted' };
  return { kind: 'shoot', zones, failureToleranceType: annotations[ANNOTATION_FAILURE_TOLERANCE] };
};
