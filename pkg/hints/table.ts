// The table of hint strategies, which of them a slice's labels ask for, and what the hint decision takes and returns.
// Reads the EndpointSlice of a request, which may hold anything, and says what is wrong with one that cannot be served.
import type { JsonPatchOperation } from '../apis/admission.ts';
import type { EndpointHints } from '../apis/core.ts';
import { type Fields, isAbsent, isFields } from '../apis/values.ts';
import {
  ANNOTATION_PLAN,
  LABEL_CONSIDER,
  LABEL_STRATEGY,
  PLAN_SPREAD,
  STRATEGIES,
  type Strategy,
  isPlannedStrategy,
} from '../apis/names.ts';

/** Everything the decision may look at: a function of the request, the cluster's version, and whether the planner is alive. */
export interface HintsInput {
  /** The EndpointSlice of the request, unchecked. */
  readonly object: unknown;
  /** The stored slice on UPDATE, unchecked. */
  readonly oldObject?: unknown;
  /** request.userInfo.username. */
  readonly userName: string;
  /** Users whose planned hints pass untouched. */
  readonly flowControllerUsers: Pick<ReadonlySet<string>, 'has'>;
  /** False once the flow controller's Lease is older than 10 minutes: plans are not carried over any more. */
  readonly plannerAlive: boolean;
  /**
   * The slice was chosen by namespace and name, as those of Etcds' client Services are: same-zone where its labels ask for nothing.
   * Default false.
   */
  readonly chosen?: boolean;
  /** False below Kubernetes 1.33, whose API has no `forNodes`: a patch would come back without it every time. */
  readonly nodeHints: boolean;
}

/** `invalid`: the object is not a slice we can serve; nothing is patched, the message becomes a warning. */
export type HintsDecision =
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'patch'; readonly operations: readonly JsonPatchOperation[] }
  | { readonly kind: 'invalid'; readonly message: string };

/** One row of the table of strategies. */
export interface HintStrategy {
  readonly name: Strategy;
  /** Any of these labels on the new slice, with exactly this value, asks for the strategy. */
  readonly labels: readonly { readonly key: string; readonly value: string }[];
  /**
   * True where the flow controller writes the hints: its own writes pass untouched, admission keeps what the stored slice holds for the same
   * endpoint, the slice annotation `plan: spread` removes hints, and without a living flow controller there are none.
   */
  readonly planned: boolean;
}

/** What an endpoint should carry: these hints (replacing all others), none, or whatever it carries now. */
export type WantedHints = EndpointHints | 'none' | 'untouched';

const strategy = (name: Strategy, labels: HintStrategy['labels'] = []): HintStrategy => ({
  name,
  labels: [{ key: LABEL_STRATEGY, value: name }, ...labels],
  planned: isPlannedStrategy(name),
});

/** Every endpoint serves its own zone; also what Gardener's consider label asks for. */
export const sameZone = strategy('same-zone', [{ key: LABEL_CONSIDER, value: 'true' }]);

/**
 * Every strategy that admission knows: `same-node` also hints the zone, for proxies that know no Node hints, `proportional` is planned by
 * capacity, `load-aware` by measured load.
 */
export const HINT_STRATEGIES: readonly HintStrategy[] = STRATEGIES.map((name) =>
  name === sameZone.name ? sameZone : strategy(name),
);

/**
 * The label keys that can ask for a strategy, in order of precedence: where several ask, this project's is the more specific,
 * since Gardener's label can only say same-zone.
 */
export const SELECTING_LABELS: readonly string[] = [
  ...new Set([LABEL_STRATEGY, ...HINT_STRATEGIES.flatMap(({ labels }) => labels.map(({ key }) => key))]),
];

/** The strategy that the labels ask for. A value that names no strategy asks for nothing: the next label decides. */
export const strategyOf = (labels: Readonly<Record<string, unknown>>): HintStrategy | undefined => {
  for (const key of SELECTING_LABELS) {
    const isAsked = (label: { key: string; value: string }): boolean =>
      label.key === key && label.value === labels[key];
    const found = HINT_STRATEGIES.find((row) => row.labels.some(isAsked));
    if (found !== undefined) return found;
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
