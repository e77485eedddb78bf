// The events that the EndpointSlice controller records on a Service, word for word as users find them.
import type { RefusedAllocation } from './allocation.ts';

/** Source component of these events. */
export const EVENT_SOURCE = 'endpoint-slice-controller';

export interface ControllerEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: 'TopologyAwareHintsEnabled' | 'TopologyAwareHintsDisabled';
  readonly message: string;
}

/** What may be reported; a refusal carries its figures. */
export type Occurrence =
  RefusedAllocation | { readonly reason: 'ProportionalHints' | 'EndpointWithoutZone' | 'AnnotationRemoved' };

/** The message without the address family that every event ends with. */
export const eventText = (occurrence: Occurrence): string => {
  switch (occurrence.reason) {
    case 'ProportionalHints':
      return 'Topology Aware Hints has been enabled';
    case 'InsufficientNodeInformation':
      return 'Insufficient Node information: allocatable CPU or zone not specified on one or more nodes';
    case 'NodesInOneZone':
      return 'Nodes only ready in one zone';
    case 'TooFewEndpoints':
      return `Insufficient number of endpoints (${occurrence.endpoints} endpoints, ${occurrence.zones} zones)`;
    case 'OverloadThreshold':
      return `Unable to allocate minimum required endpoints to each zone without exceeding overload threshold (${occurrence.endpoints} endpoints, ${occurrence.zones} zones)`;
    case 'EndpointWithoutZone':
      return 'One or more endpoints do not have a zone specified';
    case 'AnnotationRemoved':
      return 'Topology Aware Hints has been disabled';
  }
};

/** `family` is the slices' addressType; every message ends with it. */
export const controllerEvent = (occurrence: Occurrence, family: string): ControllerEvent => {
  const message = `${eventText(occurrence)}, addressType: ${family}`;
  return occurrence.reason === 'ProportionalHints'
    ? { type: 'Normal', reason: 'TopologyAwareHintsEnabled', message }
    : { type: 'Warning', reason: 'TopologyAwareHintsDisabled', message };
};
