// The shapes of Gardener decisions: reasons, refusals and the catalogue of Services.

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

/** Yes, or no with a reason and a sentence for a person. `violations` carries Gardener's own sentences, all that apply. */
export type RoutingDecision =
  | { readonly kind: 'enabled' }
  | {
      readonly kind: 'refused';
      readonly reason: RefusalReason;
      readonly message: string;
      /** Field path of the setting or object that is the cause, as Gardener's validation names it. */
      readonly field?: string;
      readonly violations?: readonly { readonly field: string; readonly detail: string }[];
    };

/** Whether a catalogue entry belongs to a Shoot's control plane or to the garden. */
export type Scope = 'shoot' | 'garden';

/** One row of the catalogue of Services: who owns it, and under which condition it routes by zone. */
export interface CatalogueEntry {
  /** Name of the Service whose traffic is meant. */
  readonly service: string;
  readonly scope: Scope;
  /**
   * The object that decides about it: the Service itself, which is written, or the Etcd that etcd-druid makes it from. Neither an
   * Etcd nor what druid makes is ever written.
   */
  readonly source: { readonly kind: 'Service' | 'Etcd'; readonly name: string };
  /** Component that rewrites the object. */
  readonly owner: 'gardenlet' | 'etcd-druid' | 'gardener-operator' | 'gardener-resource-manager';
  /** Extra condition beside the setting, zones and HA. */
  readonly condition: 'none' | 'notLayerSeven';
  /** Who connects to it. */
  readonly consumers: readonly string[];
  /** False for objects that Gardener's contract says admission must not mutate. */
  readonly mutableAtAdmission: boolean;
}
