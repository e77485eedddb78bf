// Reads the EndpointSlice of a request, which may hold anything, and says what is wrong with one that cannot be served.
import { isAbsent, isFields } from '../apis/fields.ts';
import type { Fields } from '../apis/fields.ts';
import { ANNOTATION_PLAN, PLAN_SPREAD } from '../apis/names.ts';
import { SELECTING_LABELS } from './table.ts';

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
  const wrong = SELECTING_LABELS.find((key) => !isAbsentOrString(labels[key]));
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
