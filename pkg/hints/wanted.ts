// SPDX-License-Identifier: Apache-2.0
// Interprets a row of the table of strategies: which hints an endpoint should carry.
import type { EndpointHints } from '../apis/core.ts';
import { carryOverFrom } from './carry-over.ts';
import { isNodeName, isZoneName } from './names.ts';
import type { ReadEndpoint, ReadSlice } from './slice.ts';
import type { HintsInput, HintStrategy, WantedHints } from './types.ts';

/** What one endpoint should carry, for the slice and the writer that the rule was made for. */
export type Rule = (endpoint: ReadEndpoint) => WantedHints;

const none: Rule = () => 'none';

/** Zone names repeat: one hints object a zone saves building, comparing and printing it for each endpoint. */
const ownZoneHints = (): ((zone: string | undefined) => EndpointHints | undefined) => {
  const known = new Map<string | undefined, EndpointHints | undefined>();
  return (zone) => {
    const cached = known.get(zone);
    if (cached !== undefined || known.has(zone)) return cached;
    const hints = isZoneName(zone) ? { forZones: [{ name: zone }] } : undefined;
    known.set(zone, hints);
    return hints;
  };
};

const withOwnNode = (zoneHints: EndpointHints | undefined, nodeName: string | undefined): EndpointHints | undefined =>
  isNodeName(nodeName) ? { ...zoneHints, forNodes: [{ name: nodeName }] } : zoneHints;

/** The rule for one slice; `undefined` where nothing of it is to be touched. */
export const ruleFor = (strategy: HintStrategy, slice: ReadSlice, input: HintsInput): Rule | undefined => {
  if (strategy.planned && input.flowControllerUsers.has(input.userName)) return undefined;
  if (strategy.planned && (slice.spread || !input.plannerAlive)) return none;
  const ownZone = ownZoneHints();
  if (strategy.zones === 'carried-over') {
    const carriedOver = carryOverFrom(input.oldObject, strategy);
    return (endpoint) => (ownZone(endpoint.zone) && carriedOver(endpoint)) ?? ownZone(endpoint.zone) ?? 'untouched';
  }
  if (strategy.nodes === 'own' && input.nodeHints) {
    return ({ zone, nodeName }) => withOwnNode(ownZone(zone), nodeName) ?? 'untouched';
  }
  return ({ zone }) => ownZone(zone) ?? 'untouched';
};
