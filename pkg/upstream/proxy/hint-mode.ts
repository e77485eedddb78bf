// Whether kube-proxy on a node filters by hints, and by which; rules by version, 1.21 to 1.36.
import { annotationAdmitsHints, topologyAnnotation } from '../annotation.ts';
import { isEnabled } from '../features.ts';
import type { Reason } from '../reasons.ts';
import { atLeast } from '../../routing/version.ts';
import type { ProxyEndpoint } from './endpoints.ts';
import type { RouteInput, TopologyMode } from './types.ts';

export interface HintDecision {
  readonly mode: TopologyMode;
  readonly reason: Reason;
}

/** Since this minor hints of endpoints that are not ready do not matter. */
const READY_ONLY_SINCE = 23;
/** Since this minor presence of hints alone can decide, where the gate is on. */
const FIELD_GATE_SINCE = 30;
/** Since this minor there is one rule without annotation and with node hints. */
const MODE_SINCE = 33;

/** Why this kube-proxy does not even look at the hints. */
const obstacle = ({ service, version, gates = {} }: RouteInput): Reason | undefined => {
  if (atLeast(version, MODE_SINCE)) return undefined;
  const byPresence = atLeast(version, FIELD_GATE_SINCE) && isEnabled('ServiceTrafficDistribution', version, gates);
  if (byPresence) return undefined;
  if (!isEnabled('TopologyAwareHints', version, gates)) return 'HintsGateOff';
  return annotationAdmitsHints(service, version) ? undefined : 'ProxyNeedsAnnotation';
};

/** How the annotation reads in a message. */
export const describeAnnotation = ({ service, version }: RouteInput): string => {
  const value = topologyAnnotation(service, version);
  return value === undefined ? 'missing' : JSON.stringify(value);
};

const whyNot = (endpoints: readonly ProxyEndpoint[], zone: string): Reason => {
  const hinted = endpoints.filter(({ zoneHints }) => zoneHints.size > 0);
  if (hinted.length < endpoints.length) return 'EndpointWithoutHint';
  return zone === '' ? 'ClientNodeWithoutZone' : 'ZoneNotHinted';
};

/**
 * Decides for endpoints of which at least one is ready. Nothing hinted at all is named as the cause before any other,
 * since nothing else would help then.
 */
export const hintDecision = (
  input: RouteInput,
  endpoints: readonly ProxyEndpoint[],
  { nodeName, zone }: { nodeName: string; zone: string },
): HintDecision => {
  const { version, gates = {} } = input;
  const judged = atLeast(version, READY_ONLY_SINCE) ? endpoints.filter(({ ready }) => ready) : endpoints;
  const useNodes = isEnabled('PreferSameTrafficDistribution', version, gates);
  const allForNodes = useNodes && judged.every(({ nodeHints }) => nodeHints.size > 0);
  if (allForNodes && judged.some(({ nodeHints }) => nodeHints.has(nodeName))) {
    return { mode: 'PreferSameNode', reason: 'SameNodeHints' };
  }
  if (judged.every(({ zoneHints }) => zoneHints.size === 0)) {
    return { mode: '', reason: allForNodes ? 'NodeNotHinted' : 'NoHints' };
  }
  const reason = obstacle(input);
  if (reason !== undefined) return { mode: '', reason };
  if (zone === '' && !atLeast(version, MODE_SINCE)) return { mode: '', reason: 'ClientNodeWithoutZone' };
  const allForZones = judged.every(({ zoneHints }) => zoneHints.size > 0);
  return allForZones && judged.some(({ zoneHints }) => zoneHints.has(zone))
    ? { mode: 'PreferSameZone', reason: 'SameZoneHints' }
    : { mode: '', reason: whyNot(judged, zone) };
};
