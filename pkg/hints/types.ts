// What the hint decision takes and returns.
import type { JsonPatchOperation } from '../apis/admission.ts';
import type { EndpointHints } from '../apis/core.ts';
import type { Strategy } from '../apis/names.ts';

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

/** A label with the exact value that selects a strategy. */
export interface SelectingLabel {
  readonly key: string;
  readonly value: string;
}

/** One row of the table of strategies. */
export interface HintStrategy {
  readonly name: Strategy;
  /** Any of these labels on the new slice asks for the strategy. */
  readonly labels: readonly SelectingLabel[];
  /**
   * Where `forZones` comes from. `own`: the endpoint's own zone. `carried-over`: what the stored slice holds for the same
   * endpoint, its own zone where that holds nothing.
   */
  readonly zones: 'own' | 'carried-over';
  /** Whether `forNodes` names the endpoint's own node or is dropped. */
  readonly nodes: 'own' | 'none';
  /**
   * True where the flow controller writes the hints: its own writes pass untouched, the slice annotation `plan: spread`
   * removes hints, and without a living flow controller there are none.
   */
  readonly planned: boolean;
}

/** What an endpoint should carry: these hints (replacing all others), none, or whatever it carries now. */
export type WantedHints = EndpointHints | 'none' | 'untouched';
