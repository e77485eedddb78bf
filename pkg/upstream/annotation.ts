// What the topology annotations of a Service mean to the EndpointSlice controller and to kube-proxy, by version.
import { ANNOTATION_TOPOLOGY_AWARE_HINTS, ANNOTATION_TOPOLOGY_MODE } from '../apis/names.ts';
import type { Service } from '../apis/core.ts';
import { atLeast } from '../routing/version.ts';
import type { KubernetesVersion } from '../routing/types.ts';

const TOPOLOGY_MODE_SINCE = 27;

/**
 * The annotation's value as components of this version read it: the older key wins even if it is empty, the newer one is
 * read since 1.27; undefined when neither is there.
 */
export const topologyAnnotation = ({ metadata }: Service, version: KubernetesVersion): string | undefined => {
  const annotations = metadata?.annotations ?? {};
  const older = annotations[ANNOTATION_TOPOLOGY_AWARE_HINTS];
  return older ?? (atLeast(version, TOPOLOGY_MODE_SINCE) ? annotations[ANNOTATION_TOPOLOGY_MODE] : undefined);
};

const isAuto = (value: string | undefined): boolean => value === 'Auto' || value === 'auto';

/** Whether the EndpointSlice controller hints in proportion to CPU: exactly `Auto` or `auto`. */
export const asksForProportionalHints = (service: Service, version: KubernetesVersion): boolean =>
  isAuto(topologyAnnotation(service, version));

/** Whether an annotation-reading proxy uses hints: since 1.27 any value but empty, `disabled` and `Disabled`. */
export const annotationAdmitsHints = (service: Service, version: KubernetesVersion): boolean => {
  const value = topologyAnnotation(service, version);
  if (!atLeast(version, TOPOLOGY_MODE_SINCE)) return isAuto(value);
  return value !== undefined && value !== '' && value !== 'disabled' && value !== 'Disabled';
};
