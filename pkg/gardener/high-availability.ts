// SPDX-License-Identifier: Apache-2.0
// High availability of control planes, nil-safe, with the meanings of Gardener's helpers of the same names.
import type { Garden, Seed, Shoot } from '../apis/gardener.ts';
import { seedTopologyAwareRoutingEnabled } from './settings.ts';

type Maybe<T> = T | null | undefined;

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
