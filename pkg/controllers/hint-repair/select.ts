// SPDX-License-Identifier: Apache-2.0
// Finds the slices whose hints admission would write otherwise now: written while it was away, or planned by who is gone. Pure.
import type { Endpoint, EndpointSlice } from '../../apis/core.ts';
import { LABEL_CONSIDER } from '../../apis/names.ts';
import type { Strategy } from '../../apis/names.ts';
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
  zone !== undefined && zone !== '' && hints?.forZones?.some(({ name }) => name === zone) !== true;

/** Whether one more write of this slice would bring hints, if the webhook works. */
export const needsTouch = (slice: EndpointSlice): boolean =>
  isWebhooks(slice) && slice.metadata?.deletionTimestamp === undefined && (slice.endpoints ?? []).some(lacksOwnZone);

/** Whether the slice holds hints of a plan, which one more write would take away if its planner is known to be gone. */
export const holdsPlan = ({ metadata, endpoints }: EndpointSlice): boolean => {
  const strategy = strategyFromLabels(metadata?.labels);
  if (strategy === undefined || !PLANNED.has(strategy) || metadata?.deletionTimestamp !== undefined) return false;
  return (endpoints ?? []).some(({ hints }) => (hints?.forZones ?? []).length > 0);
};
