// SPDX-License-Identifier: Apache-2.0
// Reads from what was applied which Kubernetes version was last judged safe, so that a restart does not forget it. Pure.
import type { Service } from '../../apis/core.ts';
import {
  ANNOTATION_APPLIED,
  ANNOTATION_TOPOLOGY_AWARE_HINTS,
  ANNOTATION_TOPOLOGY_MODE,
  LABEL_CONSIDER,
} from '../../apis/names.ts';
import { parseApplied } from '../../routing/applied.ts';
import { domainPrefixedMode } from '../../routing/mechanism.ts';
import type { AppliedRecord, KubernetesVersion } from '../../routing/types.ts';

/** The values of the field in the newest mechanism: whatever is newer than they are writes the same. */
const NEWEST_VALUES = new Set(['PreferSameZone', 'PreferSameNode']);
const UNLIMITED = Number.POSITIVE_INFINITY;

/** The newest minor that writes what is recorded; undefined where the record says nothing about the version. */
const newestMinorOf = ({ trafficDistribution, labels = {}, annotations = {} }: AppliedRecord): number | undefined => {
  if (trafficDistribution !== undefined) {
    if (NEWEST_VALUES.has(trafficDistribution)) return UNLIMITED;
    return LABEL_CONSIDER in labels ? 31 : 33;
  }
  if (ANNOTATION_TOPOLOGY_AWARE_HINTS in annotations) return 26;
  // Other strategies are named in this annotation on newer versions too, for the sake of old proxies.
  const mode = annotations[ANNOTATION_TOPOLOGY_MODE];
  return mode === 'auto' || mode === domainPrefixedMode('same-zone') ? 30 : undefined;
};

/**
 * The newest version whose settings some Service carries because we wrote them. Undefined: nothing tells, or the
 * settings are those of the newest mechanism. The newest, not the oldest: what was written once had been found stable
 * and accepted, and an interrupted pass over thousands of Services should go on, not back.
 */
export const carriedVersion = (services: Iterable<Service>): KubernetesVersion | undefined => {
  let newest: number | undefined;
  for (const { metadata } of services) {
    const text = metadata?.annotations?.[ANNOTATION_APPLIED];
    const minor = text === undefined ? undefined : newestMinorOf(parseApplied(text).record);
    if (minor !== undefined && (newest === undefined || minor > newest)) newest = minor;
  }
  return newest === undefined || newest === UNLIMITED ? undefined : { major: 1, minor: newest };
};
