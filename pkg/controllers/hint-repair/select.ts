// SPDX-License-Identifier: Apache-2.0
// Finds the slices that the webhook should have hinted but did not: they were written while it was away. Pure.
import type { Endpoint, EndpointSlice } from '../../apis/core.ts';
import { LABEL_CONSIDER } from '../../apis/names.ts';
import { strategyFromLabels } from '../../routing/strategy.ts';

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
