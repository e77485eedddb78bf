// SPDX-License-Identifier: Apache-2.0
// Which evacuations run, and which Services each is about.
import type { LabelSelector } from '../apis/admission.ts';
import { parseDuration } from '../apis/duration.ts';
import type { StringMap } from '../apis/meta.ts';
import type { ZoneEvacuation } from '../apis/zone-evacuation.ts';
import { matchesSelector } from '../routing/label-selector.ts';

const LONGEST_SECONDS = 168 * 3_600;

/** When it ends, Unix milliseconds; undefined where the object does not say, which no API server with the definition lets happen. */
export const expiryOf = ({ metadata, spec }: ZoneEvacuation): number | undefined => {
  const created = Date.parse(metadata.creationTimestamp ?? '');
  const seconds = parseDuration(spec.duration);
  if (Number.isNaN(created) || seconds === undefined) return undefined;
  return created + Math.min(seconds, LONGEST_SECONDS) * 1_000;
};

/** @param now - Unix milliseconds. */
export const isRunning = (evacuation: ZoneEvacuation, now: number): boolean =>
  evacuation.metadata.deletionTimestamp === undefined && now < (expiryOf(evacuation) ?? -Infinity);

const matches = (selector: LabelSelector | undefined, labels: StringMap | undefined): boolean =>
  selector === undefined || matchesSelector(selector, labels ?? {});

/** `kubernetes.default` is reached by everything that could end the evacuation. */
const UNTOUCHED = 'default/kubernetes';

/** Whether a Service is in scope. */
export const concerns = (
  { spec }: ZoneEvacuation,
  service: { readonly key: string; readonly labels: StringMap | undefined; readonly namespace: StringMap | undefined },
): boolean =>
  service.key !== UNTOUCHED &&
  matches(spec.namespaceSelector, service.namespace) &&
  matches(spec.serviceSelector, service.labels);
