// Cilium: hints count only where its service topology is on and the Service asks for it, in words that differ by version.
// After pkg/loadbalancer/writer/writer.go and reflectors/conversions.go (from 1.18), pkg/k8s/service_cache.go (before) of
// cilium/cilium at the tag of each release; cilium#31948, #41022 and #41116 (1.18.0 refuses), #44771, #47960 (an endpoint that starts).
import type { KubernetesVersion } from '../../routing/types.ts';
import { BOTH_ANNOTATIONS, OLDER_ANNOTATION, ruledRoute } from './hint-rule.ts';
import type { HintRule, OptIn } from './hint-rule.ts';
import type { Route, RouteInput } from './types.ts';

/** A data plane's version; without patch the newest of its minor. */
export interface RouterVersion extends KubernetesVersion {
  readonly patch?: number;
}

/** Major, minor, patch. */
export type Release = readonly [number, number, number];

export interface CiliumOptions {
  /** `loadBalancer.serviceTopology`; default false, as Cilium's own. */
  readonly serviceTopology?: boolean;
  /** Default: the newest that was read. */
  readonly ciliumVersion?: RouterVersion;
}

const annotated = (annotationValue: OptIn['annotationValue'], ...distributions: readonly string[]): HintRule => ({
  optIn: { annotations: BOTH_ANNOTATIONS, annotationValue, distributions },
});

const ALL_VALUES = ['PreferClose', 'PreferSameZone', 'PreferSameNode'] as const;
const NEWEST: HintRule = { ...annotated('anyValue', ...ALL_VALUES), sameNode: 'nodeName' };
const CLOSE = annotated('anyValue', 'PreferClose');
/** As filterEndpoints of the service cache judges: all backends of a Service, of which those that terminate are part. */
const CACHED: HintRule = { counts: ['terminating'], across: 'addresses', stoppedByLocal: true };
const CASELESS = annotated('anyCase');

/** Newest first; each holds up to the next. What starts is a backend from 1.18.5 on (cilium#42708), and counts no longer from 1.20.2 on (cilium#47054). */
export const CILIUM_RULES: readonly { readonly since: Release; readonly rule: HintRule }[] = [
  { since: [1, 20, 2], rule: NEWEST },
  { since: [1, 20, 0], rule: { ...NEWEST, counts: ['starting'] } },
  { since: [1, 18, 5], rule: { ...CLOSE, counts: ['starting', 'terminating', 'stopped'], across: 'ports' } },
  { since: [1, 18, 1], rule: { ...CLOSE, counts: ['terminating'], across: 'ports' } },
  { since: [1, 18, 0], rule: { ...CLOSE, counts: ['terminating'], partial: 'each' } },
  { since: [1, 16, 0], rule: { ...CACHED, optIn: 'hints' } },
  { since: [1, 14, 0], rule: { ...CACHED, ...CASELESS } },
  {
    since: [1, 11, 0],
    rule: { ...CACHED, optIn: { annotations: OLDER_ANNOTATION, annotationValue: 'anyCase', distributions: [] } },
  },
];

/** Numbers as versions compare; a missing patch is the newest. */
export const isSince = (version: RouterVersion, [major, minor, patch]: Release): boolean =>
  (version.major - major || version.minor - minor || (version.patch ?? Infinity) - patch) >= 0;

/** What a version of Cilium does with service topology on. */
export const ciliumRule = (version: RouterVersion | undefined): HintRule =>
  CILIUM_RULES.find(({ since }) => version === undefined || isSince(version, since))?.rule ?? {};

const LAST_WITH_PREFER_CLOSE_ONLY = 19;
const FIRST_WITH_PREFER_CLOSE_ONLY = 18;

/** Of `spec.trafficDistribution` it reads exactly `PreferClose`: 1.18 and 1.19. */
export const readsPreferCloseOnly = ({ major, minor }: RouterVersion): boolean =>
  major === 1 && minor >= FIRST_WITH_PREFER_CLOSE_ONLY && minor <= LAST_WITH_PREFER_CLOSE_ONLY;

/** `Cilium 1.18.3`. */
const ciliumTitle = (version: RouterVersion | undefined): string => {
  if (version === undefined) return 'Cilium';
  const { major, minor, patch } = version;
  return `Cilium ${major}.${minor}${patch === undefined ? '' : `.${patch}`}`;
};

/** Node hints and feature gates mean nothing to Cilium. */
export const ciliumRoute = (input: RouteInput, { serviceTopology = false, ciliumVersion }: CiliumOptions = {}): Route =>
  ruledRoute(input, {
    name: ciliumTitle(ciliumVersion),
    rule: serviceTopology ? ciliumRule(ciliumVersion) : {},
    ignoring: serviceTopology ? 'CiliumNotOptedIn' : 'CiliumServiceTopologyOff',
    unasked: 'CiliumNotOptedIn',
  });
