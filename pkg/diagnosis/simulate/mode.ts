// One mode of a simulation: the Service with its settings, the hints that come of them, and where they lead.
import type { Endpoint, EndpointSlice, Service } from '../../apis/core.ts';
import { defined } from '../../apis/defined.ts';
import { ANNOTATION_PLAN } from '../../apis/names.ts';
import type { Plan } from '../../flow/types.ts';
import { strategyOf } from '../../hints/table.ts';
import { formatVersion } from '../../routing/version.ts';
import type { RoutingSettings } from '../../routing/types.ts';
import { explained, hintRequest, isControllerSlice } from '../../upstream/index.ts';
import type { Explained, Reason } from '../../upstream/index.ts';
import { labelsOf } from '../explain/facts.ts';
import { finalHints } from '../models/hints.ts';
import { serviceKeyOfRef, serviceRefOf } from '../models/lookup.ts';
import type { Context } from './context.ts';
import {
  MODE_NAMES,
  OWN_LABELS,
  isKnown,
  isStrategy,
  settingsOfMode,
  sinceOf,
  withSettings,
  withoutKeys,
} from './modes.ts';
import type { ModeName } from './modes.ts';
import { flowOf } from './outcome.ts';
import { loadAwarePlan, proportionalPlan, withPlan } from './plans.ts';
import type { Outcome, Verdict } from './types.ts';
import { judge } from './verdict.ts';

/** What a Service asks for as it is. */
export const modeInForce = (service: Service, { slices, version, frame: { gates } }: Context): ModeName => {
  const strategy = strategyOf(labelsOf(service, slices));
  if (strategy !== undefined) return strategy.name;
  const { mode } = hintRequest(service, version, gates);
  if (mode === 'none') return 'none';
  if (mode === 'proportional') return 'Auto';
  return MODE_NAMES.find((name) => name === service.spec?.trafficDistribution) ?? 'none';
};

const bare = ({ hints: _, ...endpoint }: Endpoint): Endpoint => endpoint;

/**
 * The controller gives its slices the Service's labels; slices of others are taken to be labelled by their authors. Hints
 * that the controller stored for the settings of now are left out: it would begin anew.
 */
const relabelled = (slices: readonly EndpointSlice[], { labels }: RoutingSettings): EndpointSlice[] =>
  slices.map((slice) => ({
    ...slice,
    ...(isControllerSlice(slice) ? { endpoints: (slice.endpoints ?? []).map(bare) } : {}),
    metadata: {
      ...slice.metadata,
      labels: { ...withoutKeys(slice.metadata?.labels, OWN_LABELS), ...labels },
      annotations: withoutKeys(slice.metadata?.annotations, [ANNOTATION_PLAN]),
    },
  }));

interface Given {
  readonly slices: readonly EndpointSlice[];
  /** Why the control plane gave what it gave. */
  readonly why: Explained;
}

/** What control plane and webhook would store for a Service with slices as they are. */
export const hintsGiven = (service: Service, slices: readonly EndpointSlice[], context: Context): Given => {
  const { shares, version, frame } = context;
  const families = finalHints(service, slices, {
    shares,
    version,
    ...defined({ gates: frame.gates }),
  });
  const own = families.find(({ family }) => family === frame.family);
  const { reason, message } = own ?? explained('NoEndpoints', { service: serviceKeyOfRef(serviceRefOf(service)) });
  return { slices: families.flatMap((family) => family.slices), why: { reason, message } };
};

/** Codes of requests that were heard: if no hint came of one, an endpoint had no zone to be hinted for. */
const HEARD: ReadonlySet<Reason> = new Set<Reason>(['SameZoneRequested', 'SameNodeRequested', 'ProportionalHints']);

const whyNone = (mode: ModeName, why: Explained, service: Service): Explained =>
  isStrategy(mode) || HEARD.has(why.reason)
    ? explained('EndpointWithoutZone', { service: serviceKeyOfRef(serviceRefOf(service)) })
    : why;

const planFor = (
  mode: ModeName,
  { ready, planWeights, frame, given, capacity, targetUtilization, maxOverload }: Context,
): Plan | undefined => {
  if (mode === 'proportional') return proportionalPlan(ready, frame, { weights: planWeights, maxOverload });
  if (mode !== 'load-aware' || given === undefined || capacity === null) return undefined;
  return loadAwarePlan(ready, frame, { demand: given, capacity: capacity.byAddress, targetUtilization });
};

/** Why a mode cannot be simulated; undefined if it can. */
const obstacle = (mode: ModeName, { version, frame, given, capacity }: Context): Verdict | undefined => {
  if (!isKnown(mode, version, frame.gates)) {
    const since = sinceOf(mode, frame.gates);
    return {
      reason: 'VersionTooOld',
      message: `Kubernetes ${formatVersion(version)} does not know it; ${since} and newer do.`,
    };
  }
  if (mode !== 'load-aware') return undefined;
  if (given === undefined)
    return {
      reason: 'DemandUnknown',
      message: 'It follows measured load, and no FlowPolicy has observed any; give it with --demand.',
    };
  return capacity === null
    ? {
        reason: 'CapacityUnknown',
        message: 'Pods of its endpoints have no CPU requests; give the capacity with --capacity.',
      }
    : undefined;
};

export type SimulatedMode = { readonly mode: ModeName; readonly verdict: Verdict; readonly outcome: Outcome | null };

export const simulateMode = (mode: ModeName, context: Context): SimulatedMode => {
  const verdict = obstacle(mode, context);
  if (verdict !== undefined) return { mode, verdict, outcome: null };
  const { version, oldProxies, frame, limit } = context;
  const settings = settingsOfMode(mode, { version, oldProxies });
  const service = withSettings(context.service, settings);
  const given = hintsGiven(service, relabelled(context.slices, settings), context);
  const plan = planFor(mode, context);
  const slices = plan === undefined ? given.slices : withPlan(given.slices, plan, frame.family);
  const flow = flowOf(service, slices, frame);
  return {
    mode,
    outcome: flow.outcome,
    verdict: judge({ mode, flow, limit, given: whyNone(mode, given.why, service), spread: plan?.spread === true }),
  };
};
