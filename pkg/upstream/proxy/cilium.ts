// SPDX-License-Identifier: Apache-2.0
// Cilium: hints count only where its service topology is on and the Service asks for it, in words that differ by version.
// After pkg/loadbalancer/writer/writer.go and reflectors/conversions.go (from 1.18), pkg/k8s/service_cache.go (before) of
// cilium/cilium; cilium#31948, #41022 and #41116 (1.18.0 refuses), #44771, #47960 (an endpoint that starts).
import type { KubernetesVersion } from '../../routing/types.ts';
import { alternativeRoute } from './alternative.ts';
import { BOTH_ANNOTATIONS, HINTS_ALONE, OLDER_ANNOTATION, applyRule, isOptedIn } from './hint-rule.ts';
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

const annotated = (annotations: readonly string[], distributions: readonly string[] = []): OptIn => ({
  annotations,
  annotationValue: 'anyValue',
  distributions,
  hintsAlone: false,
});

const rule = (optIn: OptIn, more: Partial<HintRule> = {}): HintRule => ({
  optIn,
  partial: 'ignore',
  unmatched: 'all',
  startingCounts: true,
  ...more,
});

const ALL_VALUES = ['PreferClose', 'PreferSameZone', 'PreferSameNode'] as const;

/** Newest first; each holds up to the next. */
const RULES: readonly (readonly [since: Release, rule: HintRule])[] = [
  [[1, 20, 0], rule(annotated(BOTH_ANNOTATIONS, ALL_VALUES), { sameNode: 'nodeName' })],
  [[1, 18, 1], rule(annotated(BOTH_ANNOTATIONS, ['PreferClose']))],
  [[1, 18, 0], rule(annotated(BOTH_ANNOTATIONS, ['PreferClose']), { unmatched: 'none' })],
  [[1, 16, 0], rule(HINTS_ALONE)],
  [[1, 14, 0], rule(annotated(BOTH_ANNOTATIONS))],
  [[1, 11, 0], rule(annotated(OLDER_ANNOTATION))],
];

const IGNORES: HintRule = { partial: 'ignore', unmatched: 'all' };

/** Numbers as versions compare; a missing patch is the newest. */
export const isSince = (version: RouterVersion, [major, minor, patch]: Release): boolean =>
  (version.major - major || version.minor - minor || (version.patch ?? Infinity) - patch) >= 0;

/** What a version of Cilium does with service topology on. */
export const ciliumRule = (version: RouterVersion | undefined): HintRule => {
  const [newest] = RULES;
  if (version === undefined) return newest?.[1] ?? IGNORES;
  return RULES.find(([since]) => isSince(version, since))?.[1] ?? IGNORES;
};

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

/** Node hints and feature gates mean nothing to Cilium; `externalTrafficPolicy: Local` switches its filter off. */
export const ciliumRoute = (input: RouteInput, options: CiliumOptions = {}): Route => {
  const { serviceTopology = false, ciliumVersion } = options;
  const own = ciliumRule(ciliumVersion);
  return alternativeRoute(input, {
    terminatingFallback: true,
    router: ciliumTitle(ciliumVersion),
    choose: (ready, endpoints) => {
      const all = { list: ready, mode: '' } as const;
      if (!serviceTopology) return { ...all, reason: 'CiliumServiceTopologyOff' };
      if (own.optIn === undefined || !isOptedIn(input.service, own.optIn)) {
        return { ...all, reason: 'CiliumNotOptedIn' };
      }
      if (input.service.spec?.externalTrafficPolicy === 'Local') {
        return { ...all, reason: 'CiliumExternalTrafficPolicyLocal' };
      }
      return applyRule(input, own, ready, endpoints);
    },
  });
};
