// Which strategy the labels of a slice ask for; reads the EndpointSlice of a request, which may hold anything, and says what is
// wrong with one that cannot be served.
import type { JsonPatchOperation } from '../apis/admission.ts';
import { type Fields, isAbsent, isFields } from '../apis/values.ts';
import { ANNOTATION_PLAN, LABEL_CONSIDER, LABEL_STRATEGY, PLAN_SPREAD, STRATEGIES } from '../apis/names.ts';
import type { Strategy } from '../apis/names.ts';

/** `invalid`: the object is not a slice we can serve; nothing is patched, the message becomes a warning. */
export type HintsDecision =
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'patch'; readonly operations: readonly JsonPatchOperation[] }
  | { readonly kind: 'invalid'; readonly message: string };

/**
 * The strategies that a label can ask for, by key and value. Where several labels ask, the first key decides: Gardener's can only say
 * same-zone, so this project's is the more specific.
 */
export const STRATEGIES_BY_LABEL: ReadonlyMap<string, ReadonlyMap<unknown, Strategy>> = new Map([
  [LABEL_STRATEGY, new Map<unknown, Strategy>(STRATEGIES.map((name) => [name, name]))],
  [LABEL_CONSIDER, new Map<unknown, Strategy>([['true', 'same-zone']])],
]);

/** The strategy that the labels ask for. A value that names no strategy asks for nothing: the next label decides. */
export const strategyOf = (labels: Readonly<Record<string, unknown>>): Strategy | undefined => {
  for (const [key, byValue] of STRATEGIES_BY_LABEL) {
    const strategy = byValue.get(labels[key]);
    if (strategy !== undefined) return strategy;
  }
  return undefined;
};

/** A slice whose labels, annotations and list of endpoints have the right types; the endpoints themselves are unchecked. */
export interface ReadSlice {
  readonly labels: Fields;
  readonly annotations: Fields;
  /** True where the flow controller wants no hints on purpose. */
  readonly spread: boolean;
  readonly endpoints: readonly unknown[];
}

/** An endpoint whose fields have the types of the API; their values are unchecked. */
export interface ReadEndpoint {
  readonly addresses: readonly string[];
  readonly zone?: string;
  readonly nodeName?: string;
  readonly targetRef?: { readonly uid?: string };
  /** Unchecked. */
  readonly conditions?: unknown;
  readonly hints?: Fields | null;
}

const nothing: Fields = Object.freeze({});

/** Absent and `null` both mean empty, as Go's decoder has it; anything else must be an object. */
const fieldsOf = (value: unknown): Fields | undefined => {
  if (isAbsent(value)) return nothing;
  return isFields(value) ? value : undefined;
};

const isAbsentOrString = (value: unknown): boolean => typeof value === 'string' || isAbsent(value);

/** The slice, or a message that names the first field of a wrong type. */
export const readSlice = (object: unknown): ReadSlice | string => {
  if (!isFields(object)) return 'object is not a JSON object';
  const metadata = fieldsOf(object['metadata']);
  if (metadata === undefined) return 'metadata is not an object';
  const labels = fieldsOf(metadata['labels']);
  if (labels === undefined) return 'metadata.labels is not an object';
  const wrong = [...STRATEGIES_BY_LABEL.keys()].find((key) => !isAbsentOrString(labels[key]));
  if (wrong !== undefined) return `metadata.labels[${wrong}] is not a string`;
  const annotations = fieldsOf(metadata['annotations']);
  if (annotations === undefined) return 'metadata.annotations is not an object';
  const endpoints = object['endpoints'] ?? [];
  if (!Array.isArray(endpoints)) return 'endpoints is not a list';
  return { labels, annotations, spread: annotations[ANNOTATION_PLAN] === PLAN_SPREAD, endpoints };
};

/** The endpoint, or a message that names the first field of a wrong type. */
export const readEndpoint = (endpoint: unknown): ReadEndpoint | string => {
  if (!isFields(endpoint)) return 'is not an object';
  const { addresses, zone, nodeName, targetRef, hints } = endpoint;
  if (!Array.isArray(addresses)) return 'has no list of addresses';
  for (const address of addresses) if (typeof address !== 'string') return 'has an address that is not a string';
  if (!isAbsentOrString(zone)) return 'has a zone that is not a string';
  if (!isAbsentOrString(nodeName)) return 'has a nodeName that is not a string';
  if (!isAbsent(targetRef) && !isFields(targetRef)) return 'has a targetRef that is not an object';
  if (!isAbsent(targetRef) && !isAbsentOrString(targetRef['uid'])) return 'has a targetRef.uid that is not a string';
  if (!isAbsent(hints) && !isFields(hints)) return 'has hints that are not an object';
  return endpoint as unknown as ReadEndpoint;
};
