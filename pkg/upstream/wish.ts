// What a Service asks for by annotation and field: the one place that knows their words, and which version reads them.
import type { Service } from '../apis/core.ts';
import { ANNOTATION_TOPOLOGY_AWARE_HINTS, ANNOTATION_TOPOLOGY_MODE, TOPOLOGY_ANNOTATIONS } from '../apis/names.ts';
import { isAuto } from '../routing/slots.ts';
import type { KubernetesVersion } from '../routing/types.ts';
import { atLeast, formatVersion } from '../routing/version.ts';
import { type Distribution, type FeatureGates, TRAFFIC_DISTRIBUTIONS, type TrafficDistribution } from './features.ts';
import { fullName, isEnabled } from './features.ts';
import { type Explained, type Reason, explained } from './reasons.ts';

const MODE_SINCE = 27;

/** The annotation that asks components of this version, and its value. */
export const askingAnnotation = (version: KubernetesVersion): readonly [key: string, value: string] =>
  atLeast(version, MODE_SINCE) ? [ANNOTATION_TOPOLOGY_MODE, 'Auto'] : [ANNOTATION_TOPOLOGY_AWARE_HINTS, 'auto'];

/**
 * The annotation's value as components of this version read it: the older key wins even if it is empty, the newer one is
 * read since 1.27; undefined when neither is there.
 */
export const topologyAnnotation = ({ metadata }: Service, version: KubernetesVersion): string | undefined => {
  const annotations = metadata?.annotations ?? {};
  const older = annotations[ANNOTATION_TOPOLOGY_AWARE_HINTS];
  return older ?? (atLeast(version, MODE_SINCE) ? annotations[ANNOTATION_TOPOLOGY_MODE] : undefined);
};

/** Values of the annotation that ask for nothing. */
export const isOff = (value: string): boolean => value === '' || value === 'disabled' || value === 'Disabled';

/** Whether an annotation-reading proxy uses hints: since 1.27 any value but empty, `disabled` and `Disabled`. */
export const annotationAdmitsHints = (service: Service, version: KubernetesVersion): boolean => {
  const value = topologyAnnotation(service, version) ?? '';
  return atLeast(version, MODE_SINCE) ? !isOff(value) : isAuto(value);
};

const understoodValue = (value: string, version: KubernetesVersion, gates: FeatureGates) => {
  if (!Object.hasOwn(TRAFFIC_DISTRIBUTIONS, value)) return undefined;
  const found = TRAFFIC_DISTRIBUTIONS[value as TrafficDistribution];
  const needed = ['ServiceTrafficDistribution', found.gate] as const;
  return needed.every((gate) => isEnabled(gate, version, gates)) ? found : undefined;
};

/** What a value of the field asks for in this version; undefined for unset, for what it does not recognise and what is not for zones. */
export const distributionOf = (
  value: string | undefined,
  version: KubernetesVersion,
  gates: FeatureGates = {},
): Distribution | undefined => understoodValue(value ?? '', version, gates)?.mode;

export type HintMode = 'none' | 'proportional' | Distribution;

export interface Wish extends Explained {
  /** What the EndpointSlice controller makes of it: `none` also of what it does not understand or leaves to others. */
  readonly mode: HintMode;
  /** Where it is stated; of both, the one that counts. */
  readonly source: 'topology-mode' | 'trafficDistribution' | 'none';
  /** As it is stated there. */
  readonly value: string;
  /** False for a word that means nothing to this version; `Disabled` and the heuristic of another controller mean something. */
  readonly understood: boolean;
}

/** The annotation wins over the field where it is `Auto`, even where its gate is off and nothing comes of it. */
export const wishOf = (service: Service, version: KubernetesVersion, gates: FeatureGates = {}): Wish => {
  const { annotations = {} } = service.metadata ?? {};
  const field = service.spec?.trafficDistribution;
  const annotation = topologyAnnotation(service, version);
  const why = (reason: Reason, value = ''): Explained =>
    explained(reason, { service: fullName(service), version: formatVersion(version), value });
  if (annotation !== undefined && isAuto(annotation)) {
    const auto = { source: 'topology-mode', value: annotation, understood: true } as const;
    if (!isEnabled('TopologyAwareHints', version, gates))
      return { ...auto, mode: 'none', ...why('HintsControllerGateOff') };
    const reason = field === undefined ? 'ProportionalHints' : 'AnnotationWins';
    return { ...auto, mode: 'proportional', ...why(reason, field) };
  }
  if (field !== undefined) {
    const found = understoodValue(field, version, gates);
    const { mode = 'none', reason = 'TrafficDistributionNotRecognized' } = found ?? {};
    const understood = found !== undefined;
    return { source: 'trafficDistribution', value: field, mode, understood, ...why(reason, field) };
  }
  const source = TOPOLOGY_ANNOTATIONS.every((key) => (annotations[key] ?? '') === '') ? 'none' : 'topology-mode';
  if (annotation !== undefined) {
    const understood = isOff(annotation) || annotation.includes('/');
    const words = why('AnnotationNotRecognized', JSON.stringify(annotation));
    return { mode: 'none', source, value: annotation, understood, ...words };
  }
  const unread = annotations[ANNOTATION_TOPOLOGY_MODE];
  const reason = unread === undefined ? 'NotRequested' : 'AnnotationKeyNotRead';
  return { mode: 'none', source, value: unread ?? '', understood: unread === undefined, ...why(reason) };
};
