// SPDX-License-Identifier: Apache-2.0
// From a Pod to the conditions of its endpoint.

export interface PodState {
  /** The Pod's Ready condition. */
  readonly ready: boolean;
  /** The Pod has a deletion timestamp. */
  readonly deleting: boolean;
  /** `spec.publishNotReadyAddresses` of the Service. */
  readonly publishNotReady: boolean;
}

export interface EndpointConditions {
  ready: boolean;
  serving: boolean;
  terminating: boolean;
}

/** publishNotReady lifts `ready` only: `serving` and `terminating` always tell the Pod's own state. */
export const endpointConditions = ({ ready, deleting, publishNotReady }: PodState): EndpointConditions => ({
  ready: publishNotReady || (ready && !deleting),
  serving: ready,
  terminating: deleting,
});
