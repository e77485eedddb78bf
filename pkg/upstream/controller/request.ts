// What a Service asks of the EndpointSlice controller, by annotations, field and version.
import type { Service } from '../../apis/core.ts';
import { ANNOTATION_TOPOLOGY_MODE } from '../../apis/names.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import { formatVersion } from '../../routing/version.ts';
import { asksForProportionalHints, topologyAnnotation } from '../annotation.ts';
import { isEnabled } from '../features.ts';
import type { FeatureGates } from '../features.ts';
import { fullName } from '../names.ts';
import { explained } from '../reasons.ts';
import type { Explained } from '../reasons.ts';
import { distributionOf } from './traffic-distribution.ts';

export type HintMode = 'none' | 'proportional' | 'same-zone' | 'same-node';

export interface HintRequest extends Explained {
  readonly mode: HintMode;
}

/** Why a Service that says something about topology, or nothing at all, gets no hints. */
const refusal = (service: Service, version: KubernetesVersion): Explained => {
  const facts = { service: fullName(service), version: formatVersion(version) };
  const { trafficDistribution } = service.spec ?? {};
  if (trafficDistribution !== undefined) {
    return explained('TrafficDistributionNotRecognized', { ...facts, value: trafficDistribution });
  }
  const value = topologyAnnotation(service, version);
  if (value !== undefined) return explained('AnnotationNotRecognized', { ...facts, value: JSON.stringify(value) });
  if (service.metadata?.annotations?.[ANNOTATION_TOPOLOGY_MODE] !== undefined) {
    return explained('AnnotationKeyNotRead', facts);
  }
  return explained('NotRequested', facts);
};

/** The annotation wins over the field, even where its gate is off and nothing comes of it. */
export const hintRequest = (service: Service, version: KubernetesVersion, gates: FeatureGates = {}): HintRequest => {
  const facts = { service: fullName(service), version: formatVersion(version) };
  const value = service.spec?.trafficDistribution;
  if (asksForProportionalHints(service, version)) {
    if (!isEnabled('TopologyAwareHints', version, gates)) {
      return { mode: 'none', ...explained('HintsControllerGateOff', facts) };
    }
    const reason = value === undefined ? 'ProportionalHints' : 'AnnotationWins';
    return { mode: 'proportional', ...explained(reason, { ...facts, value: value ?? '' }) };
  }
  const distribution = distributionOf(value, version, gates);
  if (distribution === undefined) return { mode: 'none', ...refusal(service, version) };
  const reason = distribution === 'same-zone' ? 'SameZoneRequested' : 'SameNodeRequested';
  return { mode: distribution, ...explained(reason, { ...facts, value: value ?? '' }) };
};
