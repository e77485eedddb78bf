// What the manifest of a Service asks for, and what a version of Kubernetes or of Cilium makes of it.
import type { Service } from '../../apis/core.ts';
import { ANNOTATION_TOPOLOGY_AWARE_HINTS, ANNOTATION_TOPOLOGY_MODE, LABEL_STRATEGY } from '../../apis/names.ts';
import type { KubernetesVersion } from '../../routing/types.ts';
import { atLeast } from '../../routing/version.ts';
import { hintRequest } from '../../upstream/index.ts';
import { readsPreferCloseOnly } from '../../upstream/proxy/cilium.ts';
import type { CheckOptions, FindingReason, Severity } from './types.ts';

export interface Said {
  readonly severity: Severity;
  readonly reason: FindingReason;
  /** What was found, as a sentence. */
  readonly message: string;
}

const said = (severity: Severity, reason: FindingReason, message: string): Said => ({ severity, reason, message });

/** Since this minor the API server compares both annotations. */
const COMPARES_SINCE = 27;

/** Values that ask for nothing, or name a custom heuristic. */
const isOff = (value: string): boolean => value === '' || /^disabled$/i.test(value) || value.includes('/');

const annotationsOf = ({ metadata }: Service) => ({
  older: metadata?.annotations?.[ANNOTATION_TOPOLOGY_AWARE_HINTS],
  newer: metadata?.annotations?.[ANNOTATION_TOPOLOGY_MODE],
});

/** By field, annotation or label. */
export const asksForZones = (service: Service, version: KubernetesVersion): boolean => {
  const { mode } = hintRequest(service, version);
  const { newer } = annotationsOf(service);
  return mode !== 'none' || service.metadata?.labels?.[LABEL_STRATEGY] !== undefined || newer?.includes('/') === true;
};

/** It says something about topology, understood or not. */
export const saysSomething = (service: Service): boolean => {
  const { older, newer } = annotationsOf(service);
  return (
    service.spec?.trafficDistribution !== undefined ||
    service.metadata?.labels?.[LABEL_STRATEGY] !== undefined ||
    [older, newer].some((value) => value !== undefined && value !== '')
  );
};

const annotationRules = (service: Service, version: KubernetesVersion): Said[] => {
  const { older, newer } = annotationsOf(service);
  if (older !== undefined && newer !== undefined && older !== newer && atLeast(version, COMPARES_SINCE)) {
    const message = `topology-aware-hints is ${JSON.stringify(older)} and topology-mode ${JSON.stringify(newer)}: refused`;
    return [said('error', 'AnnotationsDiffer', message)];
  }
  const deprecated =
    older !== undefined && atLeast(version, COMPARES_SINCE)
      ? [said('note', 'AnnotationDeprecated', 'the annotation topology-aware-hints is deprecated')]
      : [];
  const { reason, message } = hintRequest(service, version);
  if (reason === 'AnnotationNotRecognized' && isOff(older ?? newer ?? '')) return deprecated;
  if (reason === 'AnnotationNotRecognized' || reason === 'AnnotationKeyNotRead') {
    return [...deprecated, said('error', reason, message)];
  }
  return reason === 'AnnotationWins' ? [...deprecated, said('warning', reason, message)] : deprecated;
};

const fieldRules = (
  service: Service,
  { version, ciliumVersion }: Required<Pick<CheckOptions, 'version'>> & CheckOptions,
): Said[] => {
  const value = service.spec?.trafficDistribution;
  if (value === undefined) return [];
  const { reason, message } = hintRequest(service, version);
  const unread =
    ciliumVersion !== undefined && readsPreferCloseOnly(ciliumVersion) && value !== 'PreferClose'
      ? [
          said(
            'warning',
            'CiliumNotOptedIn',
            `trafficDistribution ${value} is not read by Cilium ${ciliumVersion.major}.${ciliumVersion.minor}, which supports only PreferClose`,
          ),
        ]
      : [];
  return reason === 'TrafficDistributionNotRecognized' ? [said('error', reason, message)] : unread;
};

/** Nothing comes of what it asks for, whatever the cluster. */
const vainRules = (service: Service): Said[] => {
  const { type, clusterIP, internalTrafficPolicy, selector } = service.spec ?? {};
  if (type === 'ExternalName') return [said('error', 'ExternalName', 'an ExternalName has no endpoints to route to')];
  if (clusterIP === 'None') {
    return [said('warning', 'Headless', 'clients of a headless Service choose among all addresses themselves')];
  }
  if (internalTrafficPolicy === 'Local') {
    return [said('warning', 'InternalPolicyLocal', 'internalTrafficPolicy is Local: connections stay on the Node')];
  }
  if (Object.keys(selector ?? {}).length > 0) return [];
  return [said('warning', 'NoSelector', 'without a selector nothing writes hints on its slices')];
};

export const serviceRules = (
  service: Service,
  options: Required<Pick<CheckOptions, 'version'>> & CheckOptions,
): Said[] => {
  if (!saysSomething(service)) return [];
  const read = [...annotationRules(service, options.version), ...fieldRules(service, options)];
  return [...read, ...vainRules(service)];
};
