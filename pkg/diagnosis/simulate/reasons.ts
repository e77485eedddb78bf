// Verdicts on modes and reasons of recommendations that only a simulation knows, beside the rules of the models.
import type { Reason } from '../../upstream/index.ts';

interface SimulationRule {
  /** What it means, for the reference. */
  readonly sentence: string;
  readonly remedy: string;
}

const NOTHING = 'Nothing to do.';

export const VERDICT_REASONS = {
  VersionTooOld: {
    sentence: 'This Kubernetes version (or its feature gates) does not know the mode.',
    remedy: 'Upgrade, or choose a mode that it knows: the strategy `same-zone` works on every supported version.',
  },
  DemandUnknown: {
    sentence: 'The mode follows measured load; none was given, and no FlowPolicy observed any.',
    remedy:
      'Give the demand of the clients of each zone with `--demand`, and `--capacity` where Pods have no CPU requests.',
  },
  CapacityUnknown: {
    sentence: 'The mode needs the capacity of an endpoint: none was given, and the Pods have no CPU requests.',
    remedy: 'Give it with `--capacity`, or give the Pods CPU requests.',
  },
  ConnectionsFail: {
    sentence: 'Some connections find no endpoint at all.',
    remedy: 'Remove `internalTrafficPolicy: Local`, or run a Pod on every Node with clients.',
  },
  Spread: {
    sentence: 'No hints: every endpoint serves clients of every zone alike.',
    remedy: 'Choose another mode if cost or latency matters.',
  },
  PlanIsSpread: {
    sentence: 'The planner found that no hints keep more traffic in its zone without overload, so it writes none.',
    remedy: 'Run more replicas, or run them where the clients are.',
  },
  Overloads: {
    sentence:
      'Traffic stays in its zone at the price of an endpoint above the limit: 120 % of its fair share, or its target utilization.',
    remedy: 'Choose a mode that plans with the limit (`proportional`, `load-aware`), or move replicas to the zone.',
  },
  KeepsAll: {
    sentence: 'All traffic stays in its zone and no endpoint is above the limit.',
    remedy: NOTHING,
  },
  KeepsMost: {
    sentence: 'No endpoint is above the limit; what stays in its zone is as much as the hints allow.',
    remedy: 'For more, run replicas where the clients are.',
  },
} as const satisfies Readonly<Record<string, SimulationRule>>;

export const RECOMMENDATION_REASONS = {
  MostInZone: {
    sentence: 'Of the modes within the limit, it keeps the most traffic in its zone; of equals it is the simplest.',
    remedy: NOTHING,
  },
  LeastCost: {
    sentence: 'Of the modes within the limit, it costs least; of equals it is the simplest.',
    remedy: NOTHING,
  },
  LeastOverload: {
    sentence: 'Every mode exceeds the limit; this one exceeds it least.',
    remedy: 'Run more replicas.',
  },
  NothingToGain: {
    sentence: 'No mode within the limit is noticeably better than no hints at all.',
    remedy: 'Run more replicas, or run them where the clients are.',
  },
} as const satisfies Readonly<Record<string, SimulationRule>>;

/** Stable code of a verdict: the rule of the models that decided, or one of these. */
export type VerdictReason = Reason | keyof typeof VERDICT_REASONS;
export type RecommendationReason = keyof typeof RECOMMENDATION_REASONS;
