// SPDX-License-Identifier: Apache-2.0
// The slices of a Service with every hint that it asks for.
import type { EndpointSlice } from '../../apis/core.ts';
import type { Facts } from './types.ts';

/**
 * Slices as they should be: what would be stored now where that is complete, else each endpoint for its own zone. So
 * causes behind a missing hint show at once, and not only after it is mended.
 */
export const idealSlices = ({ slices, expected }: Pick<Facts, 'slices' | 'expected'>): readonly EndpointSlice[] => {
  const complete = expected.filter(({ slices: own }) =>
    own.every(({ endpoints }) =>
      (endpoints ?? []).every(
        ({ conditions, hints }) => conditions?.ready === false || (hints?.forZones ?? []).length > 0,
      ),
    ),
  );
  const done = new Map(complete.flatMap((family) => family.slices).map((slice) => [slice.metadata?.name, slice]));
  return slices.map(
    (slice) =>
      done.get(slice.metadata?.name) ?? {
        ...slice,
        endpoints: (slice.endpoints ?? []).map((endpoint) =>
          (endpoint.hints?.forZones ?? []).length > 0 || (endpoint.zone ?? '') === ''
            ? endpoint
            : { ...endpoint, hints: { ...endpoint.hints, forZones: [{ name: endpoint.zone ?? '' }] } },
        ),
      },
  );
};
