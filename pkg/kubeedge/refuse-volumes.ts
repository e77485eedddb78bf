// SPDX-License-Identifier: Apache-2.0
// Turns a change of zone into a refusal where volumes on the Node would be cut off by it, takeover or not.
import type { ZoneDecision } from './decide.ts';
import type { BoundVolume } from './volumes.ts';

const NAMED = 3;

/** The decision itself, or `ZoneBoundVolumes`. */
export const unlessBound = (
  decision: Extract<ZoneDecision, { kind: 'write' }>,
  node: string,
  against: readonly BoundVolume[],
): ZoneDecision => {
  if (against.length === 0) return decision;
  const named = against.slice(0, NAMED).map(({ volume, pod }) => `PersistentVolume ${volume} of Pod ${pod}`);
  const more = against.length > NAMED ? ` and ${against.length - NAMED} more` : '';
  const target = decision.zone === undefined ? 'without a zone' : `in zone ${JSON.stringify(decision.zone)}`;
  const message = `Node ${node} cannot be ${target}: ${named.join(', ')}${more} may not be used there. Move the Pods to another Node first`;
  return { kind: 'refused', reason: 'ZoneBoundVolumes', groups: decision.groups, message };
};
