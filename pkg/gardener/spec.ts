// What the specs of Seed, Garden and Shoot say about routing by zone, nil-safe, with the meanings of Gardener's helpers of the same names.
import type { Garden, Seed, Shoot, TopologyAwareRoutingSettings } from '../apis/gardener.ts';

type Maybe<T> = T | null | undefined;

/** True only where the setting is there and on. Zones are not looked at: see decide.ts. */
export const isTopologyAwareRoutingEnabled = (settings: TopologyAwareRoutingSettings | null | undefined): boolean =>
  settings?.topologyAwareRouting?.enabled === true;

/** `spec.settings.topologyAwareRouting.enabled` of a Seed. */
export const seedTopologyAwareRoutingEnabled = (seed: Pick<Seed, 'spec'> | null | undefined): boolean =>
  isTopologyAwareRoutingEnabled(seed?.spec?.settings);

/** `spec.runtimeCluster.settings.topologyAwareRouting.enabled` of a Garden. */
export const gardenTopologyAwareRoutingEnabled = (garden: Pick<Garden, 'spec'> | null | undefined): boolean =>
  isTopologyAwareRoutingEnabled(garden?.spec?.runtimeCluster?.settings);

const isSet = (value: unknown): boolean => value !== undefined && value !== null;

/** `spec.controlPlane.highAvailability.failureTolerance.type`: `node`, `zone`, or undefined. */
export const failureToleranceType = (shoot: Maybe<Pick<Shoot, 'spec'>>): string | undefined =>
  shoot?.spec?.controlPlane?.highAvailability?.failureTolerance?.type;

/** Only `zone` spreads a control plane over zones; `node` keeps it in one. */
export const isMultiZonalShootControlPlane = (shoot: Maybe<Pick<Shoot, 'spec'>>): boolean =>
  failureToleranceType(shoot) === 'zone';

/** Any kind of high availability, an empty block included. */
export const isHighAvailabilityConfigured = (shoot: Maybe<Pick<Shoot, 'spec'>>): boolean =>
  isSet(shoot?.spec?.controlPlane?.highAvailability);

/** The virtual cluster of a Garden is highly available when the block is there; an empty one counts. */
export const isGardenHighAvailabilityEnabled = (garden: Maybe<Pick<Garden, 'spec'>>): boolean =>
  isSet(garden?.spec?.virtualCluster?.controlPlane?.highAvailability);

/** A shoot whose control plane runs on its own workers: no seed hosts it, and routing by zone is off for it. */
export const isSelfHostedShoot = (shoot: Maybe<Pick<Shoot, 'spec'>>): boolean =>
  shoot?.spec?.provider?.workers?.some((worker) => isSet(worker.controlPlane)) === true;

/** Namespace of a shoot's control plane in the cluster that hosts it; undefined before the shoot has a technical ID. */
export const controlPlaneNamespace = (shoot: Pick<Shoot, 'spec' | 'status'>): string | undefined =>
  isSelfHostedShoot(shoot) ? 'kube-system' : shoot.status?.technicalID;

/**
 * Gardener's condition for the Services of a shoot's control plane: the setting of the Seed that hosts it, and failure
 * tolerance `zone`. A missing seed (self-hosted shoot) means no. Zones are not looked at: `decideShootRouting` does.
 */
export const isTopologyAwareRoutingForShootControlPlaneEnabled = (
  seed: Maybe<Pick<Seed, 'spec'>>,
  shoot: Maybe<Pick<Shoot, 'spec'>>,
): boolean => seedTopologyAwareRoutingEnabled(seed) && isMultiZonalShootControlPlane(shoot);

/** At least two distinct zones, or why not: Gardener counts list entries, this counts distinct, non-empty names. `zones` are the distinct ones, in the order given. */
export type ZoneAssessment =
  | { readonly kind: 'multi'; readonly zones: readonly string[] }
  | {
      readonly kind: 'single';
      /** DuplicateZones: the list is long enough for Gardener's own check, but names one zone again and again. */
      readonly reason: 'SingleZone' | 'DuplicateZones';
      readonly zones: readonly string[];
    };

const named = (zones: readonly string[] | null | undefined): readonly string[] =>
  (Array.isArray(zones) ? zones : []).filter((zone) => typeof zone === 'string' && zone !== '');

/** The distinct, non-empty names, in the order given. */
export const distinctZones = (zones: readonly string[] | null | undefined): readonly string[] => [
  ...new Set(named(zones)),
];

export const assessZones = (zones: readonly string[] | null | undefined): ZoneAssessment => {
  const distinct = distinctZones(zones);
  if (distinct.length > 1) return { kind: 'multi', zones: distinct };
  return { kind: 'single', reason: named(zones).length > 1 ? 'DuplicateZones' : 'SingleZone', zones: distinct };
};
