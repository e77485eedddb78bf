// SPDX-License-Identifier: Apache-2.0
// Finds the slices whose hints admission would write otherwise now: written while it was away, or planned by who is gone. Pure.
import type { Endpoint, EndpointSlice } from '../../apis/core.ts';
import { ANNOTATION_PROBE, LABEL_CONSIDER } from '../../apis/names.ts';
import type { Strategy } from '../../apis/names.ts';
import { isMarked } from '../../evacuation/decide.ts';
import { isZoneName } from '../../hints/names.ts';
import { strategyFromLabels } from '../../routing/strategy.ts';

/** Strategies whose hints the flow controller writes and admission only keeps. */
const PLANNED: ReadonlySet<Strategy> = new Set<Strategy>(['proportional', 'load-aware']);

/** Strategies whose hints follow from the slice alone; planned ones are the flow controller's to assert again. */
const isWebhooks = ({ metadata }: EndpointSlice): boolean => {
  const strategy = strategyFromLabels(metadata?.labels);
  if (strategy !== undefined) return strategy === 'same-zone' || strategy === 'same-node';
  return metadata?.labels?.[LABEL_CONSIDER] === 'true';
};

const lacksOwnZone = ({ zone, hints }: Endpoint): boolean =>
  isZoneName(zone) && hints?.forZones?.some(({ name }) => name === zone) !== true;

/** Stored ones are of no use but to keep admission away, which is its owner's wish. */
const isProbe = ({ metadata }: EndpointSlice): boolean => metadata?.annotations?.[ANNOTATION_PROBE] !== undefined;

/** A write that admission looks at is possible; hints of an evacuation are its own controller's. */
const isOpen = (slice: EndpointSlice): boolean =>
  slice.metadata?.deletionTimestamp === undefined && !isProbe(slice) && !isMarked(slice);

/**
 * Whether one more write of this slice would bring hints, if the webhook works.
 *
 * @param chosen - its namespace asks for hints, and its labels for nothing
 */
export const needsResync = (slice: EndpointSlice, chosen = false): boolean =>
  (chosen || isWebhooks(slice)) && isOpen(slice) && (slice.endpoints ?? []).some(lacksOwnZone);

/** Whether the slice holds hints of a plan, which one more write would take away if its planner is known to be gone. */
export const holdsPlan = (slice: EndpointSlice): boolean => {
  const strategy = strategyFromLabels(slice.metadata?.labels);
  if (strategy === undefined || !PLANNED.has(strategy) || !isOpen(slice)) return false;
  return (slice.endpoints ?? []).some(({ hints }) => (hints?.forZones ?? []).length > 0);
};
