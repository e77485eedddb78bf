// SPDX-License-Identifier: Apache-2.0
// Linkerd's destination controller: zone hints without any consent of the Service, no node hints, no terminating endpoints.
import { zoneOfNode } from '../../apis/readings.ts';
import { alternativeRoute } from './alternative.ts';
import type { Route, RouteInput } from './types.ts';
import { filterByZone } from './zone-filter.ts';

export interface LinkerdOptions {
  /** It reads EndpointSlices, hence hints; default true. */
  readonly endpointSlices?: boolean;
}

export const linkerdRoute = (input: RouteInput, options: LinkerdOptions = {}): Route => {
  const { endpointSlices = true } = options;
  return alternativeRoute(input, {
    terminatingFallback: false,
    choose: (ready) =>
      endpointSlices
        ? filterByZone(ready, zoneOfNode(input.node), 'ignore')
        : { list: ready, mode: '', reason: 'LinkerdSlicesOff' },
  });
};
