// SPDX-License-Identifier: Apache-2.0
// Writes the pieces of CEL that the policies are made of. Each says in CEL what one function of this package says in code.
import { ANNOTATION_PLAN, ANNOTATION_PROBE, NOWHERE, PLAN_SPREAD } from '../../apis/names.ts';
import { HINT_STRATEGIES, SELECTING_LABELS } from '../table.ts';
import type { HintStrategy } from '../types.ts';

/** As `isZoneName`: a non-empty label value of at most 63 characters. The length is in the pattern: one pass, one cost. */
export const ZONE_NAME_PATTERN = '^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$';
/** As `isNodeName`, without the length, which no pattern could count over several labels. */
export const NODE_NAME_PATTERN = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$';
const MAX_NODE_NAME_LENGTH = 253;

/** A CEL string literal. JSON's escapes are a subset of CEL's. */
export const celText = (value: string): string => JSON.stringify(value);

export const texts = (values: readonly string[]): string => `[${values.map(celText).join(', ')}]`;

const isOneOf = (value: string, names: readonly string[]): string =>
  names.length === 1 ? `${value} == ${celText(names[0] ?? '')}` : `${value} in ${texts(names)}`;

/** Absent reads as empty: the empty value asks for nothing. */
export const labelOf = (object: string, key: string): string =>
  `${object}.metadata.?labels[?${celText(key)}].orValue("")`;

/** Absent reads as empty. */
const annotationOf = (object: string, key: string): string =>
  `${object}.metadata.?annotations[?${celText(key)}].orValue("")`;

/** Whether the write is not a probe of the webhook. */
export const NOT_FOR_THE_WEBHOOK = `${annotationOf('object', ANNOTATION_PROBE)} != "webhook"`;

const valuesOf = (key: string, strategies: readonly HintStrategy[]): string[] =>
  strategies.flatMap(({ labels }) => labels.filter((label) => label.key === key).map(({ value }) => value));

/** Whether an object's labels ask for the strategy, as `strategyOf` reads them: the first label that names one decides. */
export const asksFor = (object: string, strategy: HintStrategy): string =>
  SELECTING_LABELS.flatMap((key, index) => {
    const own = valuesOf(key, [strategy]);
    if (own.length === 0) return [];
    const earlier = SELECTING_LABELS.slice(0, index).map(
      (other) => `!(${isOneOf(labelOf(object, other), valuesOf(other, HINT_STRATEGIES))})`,
    );
    return [[isOneOf(labelOf(object, key), own), ...earlier].join(' && ')];
  })
    .map((way, _, ways) => (ways.length === 1 ? way : `(${way})`))
    .join(' ||\n');

/** Whether the endpoint has a zone that can stand in a hint. */
export const hasZone = (endpoint: string): string =>
  `${endpoint}.?zone.orValue("").matches(${celText(ZONE_NAME_PATTERN)})`;

/** Whether the endpoint has a node that can stand in a hint. */
export const hasNode = (endpoint: string): string =>
  `${endpoint}.?nodeName.orValue("").matches(${celText(NODE_NAME_PATTERN)}) && ${endpoint}.nodeName.size() <= ${MAX_NODE_NAME_LENGTH}`;

/** Names in one list of the hints that the endpoint carries. */
export const namesIn = (endpoint: string, list: 'forZones' | 'forNodes'): string =>
  `${endpoint}.?hints.?${list}.orValue([]).map(h, h.name)`;

/**
 * As the look-up of carried-over hints: zone, first address and target UID. No line break can be in a zone or in an
 * address that the API stored.
 */
export const identityOf = (endpoint: string): string =>
  `${endpoint}.zone + "\\n" + ${endpoint}.addresses[0] + "\\n" + ${endpoint}.?targetRef.?uid.orValue("")`;

/**
 * Whether stored hints are a plan. That zone names are well-formed, distinct and at most eight is the API server's own
 * rule for hints, which everything that it stored has passed; but to it, the empty one is a zone name too, and that of an evacuation.
 */
export const hasPlan = (endpoint: string): string => {
  const zones = `${endpoint}.?hints.?forZones.orValue([])`;
  return `${endpoint}.?zone.orValue("") != "" && ${zones}.size() > 0 && !${zones}.exists(h, h.name in ${texts(['', NOWHERE])})`;
};

/** The endpoints of an object; absent and null, as the API server shows an empty list, are none. */
export const celEndpoints = (object: string): string =>
  `(${object}.?endpoints.orValue(null) == null ? [] : ${object}.endpoints)`;

/** Whether there is no plan to keep: the planner is gone, or it says spread. */
export const unplanned = (plannerAlive: boolean): string =>
  `!${plannerAlive} || ${annotationOf('object', ANNOTATION_PLAN)} == ${celText(PLAN_SPREAD)}`;

/** Whether the writer is none of the flow controller's users. */
export const notThePlanner = (users: readonly string[]): string => `!(request.userInfo.username in ${texts(users)})`;
