// SPDX-License-Identifier: Apache-2.0
// How a data plane other than kube-proxy decides whether it follows hints: its rule as data, and the one model that applies it.
import { ANNOTATION_TOPOLOGY_AWARE_HINTS, ANNOTATION_TOPOLOGY_MODE } from '../../apis/names.ts';
import type { Service } from '../../apis/core.ts';
import { nameOf } from '../../apis/object.ts';
import { zoneOfNode } from '../../apis/readings.ts';
import { alternativeRoute } from './alternative.ts';
import type { Chosen } from './alternative.ts';
import type { ProxyEndpoint } from './endpoints.ts';
import type { Route, RouteInput } from './types.ts';
import { filterByZone } from './zone-filter.ts';
import type { PartialHints } from './zone-filter.ts';

/** What of the Service makes the data plane look at hints. */
export interface OptIn {
  /** Annotations that it reads, the first that is there decides. */
  readonly annotations: readonly string[];
  /** `auto`: exactly Auto or auto; `anyValue`: all but empty, disabled and Disabled. */
  readonly annotationValue: 'auto' | 'anyValue';
  /** Values of `spec.trafficDistribution`. */
  readonly distributions: readonly string[];
  /** Without such an annotation hints alone are enough. */
  readonly hintsAlone: boolean;
}

export interface HintRule {
  /** Undefined: it looks at no hints, whatever the Service says. */
  readonly optIn?: OptIn;
  /** By what it prefers endpoints on the client's node; default: not at all. */
  readonly sameNode?: 'hints' | 'nodeName';
  readonly partial: PartialHints;
  /** What a client gets where endpoints are hinted, and none for its zone. */
  readonly unmatched: 'all' | 'none';
  /** An endpoint that is starting and carries no hint yet switches the filter off. */
  readonly startingCounts?: boolean;
}

/** A data plane and its rule at its version. */
export interface RuledProxy {
  /** As sentences name it: `Calico eBPF 3.29.1`. */
  readonly name: string;
  readonly rule: HintRule;
}

export const BOTH_ANNOTATIONS = [ANNOTATION_TOPOLOGY_AWARE_HINTS, ANNOTATION_TOPOLOGY_MODE] as const;
export const OLDER_ANNOTATION = [ANNOTATION_TOPOLOGY_AWARE_HINTS] as const;

/** Hints, and nothing else, as kube-proxy reads them since 1.31. */
export const HINTS_ALONE: OptIn = { annotations: [], annotationValue: 'auto', distributions: [], hintsAlone: true };

const OFF: ReadonlySet<string> = new Set(['', 'disabled', 'Disabled']);

const admits = ({ annotationValue }: OptIn, value: string): boolean =>
  annotationValue === 'auto' ? value === 'Auto' || value === 'auto' : !OFF.has(value);

export const isOptedIn = ({ metadata, spec }: Service, optIn: OptIn): boolean => {
  const key = optIn.annotations.find((annotation) => metadata?.annotations?.[annotation] !== undefined);
  const value = key === undefined ? undefined : metadata?.annotations?.[key];
  if (value !== undefined && admits(optIn, value)) return true;
  if (optIn.distributions.includes(spec?.trafficDistribution ?? '')) return true;
  return optIn.hintsAlone && value === undefined;
};

const onNode = (input: RouteInput, rule: HintRule, ready: readonly ProxyEndpoint[]): readonly ProxyEndpoint[] => {
  const name = nameOf(input.node);
  if (name === '' || rule.sameNode === undefined) return [];
  if (rule.sameNode === 'hints') return ready.filter(({ nodeHints }) => nodeHints.has(name));
  return input.service.spec?.trafficDistribution === 'PreferSameNode'
    ? ready.filter(({ nodeName }) => nodeName === name)
    : [];
};

/** Applies the rule to ready endpoints of a Service that opted in. */
export const applyRule = (
  input: RouteInput,
  rule: HintRule,
  ready: readonly ProxyEndpoint[],
  all: readonly ProxyEndpoint[],
): Chosen => {
  const local = onNode(input, rule, ready);
  if (local.length > 0) return { list: local, mode: 'PreferSameNode', reason: 'SameNodeHints' };
  if (rule.sameNode === 'nodeName' && input.service.spec?.trafficDistribution === 'PreferSameNode') {
    return { list: ready, mode: '', reason: 'NodeNotHinted' };
  }
  const starting = all.some((item) => !item.ready && !item.terminating && item.zoneHints.size === 0);
  if (rule.startingCounts === true && starting) return { list: ready, mode: '', reason: 'EndpointWithoutHint' };
  const chosen = filterByZone(ready, zoneOfNode(input.node), rule.partial);
  return rule.unmatched === 'none' && chosen.reason === 'ZoneNotHinted'
    ? { list: [], mode: '', reason: 'NoBackendForZone' }
    : chosen;
};

export const ruledRoute = (input: RouteInput, { name, rule }: RuledProxy): Route =>
  alternativeRoute(input, {
    terminatingFallback: true,
    router: name,
    choose(ready, all) {
      if (rule.optIn === undefined) return { list: ready, mode: '', reason: 'HintsIgnored' };
      if (!isOptedIn(input.service, rule.optIn)) return { list: ready, mode: '', reason: 'RouterNotOptedIn' };
      return applyRule(input, rule, ready, all);
    },
  });

/** Who routes is not known: any endpoint may be used, and nothing is claimed of it. */
export const unknownRoute = (input: RouteInput, name: string): Route =>
  alternativeRoute(input, {
    terminatingFallback: true,
    router: name,
    choose: (ready) => ({ list: ready, mode: '', reason: 'RouterUnknown' }),
  });
