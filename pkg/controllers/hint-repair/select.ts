// Finds the slices whose hints admission would write otherwise now: written while it was away, or planned by who is gone. Pure.
import type { Endpoint, EndpointSlice } from '../../apis/core.ts';
import { LABEL_CONSIDER, isNowhere } from '../../apis/names.ts';
import type { Strategy } from '../../apis/names.ts';
import { isMarked } from '../../evacuation/decide.ts';
import { isEndpointReady } from '../../apis/readings.ts';
import { isZoneName } from '../../hints/names.ts';
import { isRebuilt } from '../../hints/readiness.ts';
import { strategyFromLabels } from '../../routing/strategy.ts';

/** Strategies whose hints the flow controller writes and admission only keeps. */
const PLANNED: ReadonlySet<Strategy> = new Set<Strategy>(['proportional', 'load-aware']);

/** Strategies whose hints follow from the slice alone; planned ones are the flow controller's to assert again. */
const isWebhooks = ({ metadata }: EndpointSlice): boolean => {
  const strategy = strategyFromLabels(metadata?.labels);
  if (strategy !== undefined) return strategy === 'same-zone' || strategy === 'same-node';
  return metadata?.labels?.[LABEL_CONSIDER] === 'true';
};

const zonesOf = ({ hints }: Endpoint): string[] => (hints?.forZones ?? []).map(({ name }) => name);

/** An endpoint that is not ready has hints for no client, or none where its writer changes `ready` in place. */
const isForClients = (endpoint: Endpoint, rebuilt: boolean): boolean =>
  !isEndpointReady(endpoint) &&
  isZoneName(endpoint.zone) &&
  zonesOf(endpoint).some((name) => !rebuilt || !isNowhere(name));

const lacksHints = (endpoint: Endpoint, rebuilt: boolean): boolean => {
  if (!isZoneName(endpoint.zone)) return false;
  const zones = zonesOf(endpoint);
  return isEndpointReady(endpoint) ? !zones.includes(endpoint.zone) : rebuilt && zones.length === 0;
};

/** A write that admission looks at is possible; hints of an evacuation are its own controller's. */
const isOpen = (slice: EndpointSlice): boolean => slice.metadata?.deletionTimestamp === undefined && !isMarked(slice);

const isPlanned = ({ metadata }: EndpointSlice): boolean => {
  const strategy = strategyFromLabels(metadata?.labels);
  return strategy !== undefined && PLANNED.has(strategy);
};

/**
 * Whether admission would write other hints with one more write of this slice. Of planned ones it only keeps the plan, but for endpoints that
 * are not ready it keeps it out of the proxies' sight.
 *
 * @param chosen - its namespace asks for hints, and its labels for nothing
 */
export const needsResync = (slice: EndpointSlice, chosen = false): boolean => {
  const own = chosen || isWebhooks(slice);
  if ((!own && !isPlanned(slice)) || !isOpen(slice)) return false;
  const rebuilt = isRebuilt(slice.metadata?.labels);
  return (slice.endpoints ?? []).some((one) => isForClients(one, rebuilt) || (own && lacksHints(one, rebuilt)));
};

/** Whether the slice holds hints of a plan, which one more write would take away if its planner is known to be gone. */
export const holdsPlan = (slice: EndpointSlice): boolean => {
  if (!isPlanned(slice) || !isOpen(slice)) return false;
  return (slice.endpoints ?? []).some(({ hints }) => (hints?.forZones ?? []).length > 0);
};
