// The contract between the admission server and its handlers.
import type { AdmissionRequest, GroupVersionKind } from '../apis/admission.ts';

/**
 * What a handler says to a request. There is no way to refuse one: `allowed: false` rejects the write even where the
 * webhook's failures are ignored.
 */
export type AdmissionDecision =
  | { readonly kind: 'unchanged'; readonly warning?: string }
  | {
      readonly kind: 'patch';
      /** JSON text of a JSON Patch (RFC 6902) that applies to the request's object. */
      readonly patch: string;
      /** Number of operations in it, for the log. */
      readonly operations: number;
      readonly warning?: string;
    }
  | {
      readonly kind: 'unserved';
      readonly reason: UnservedReason;
      /** One sentence for a person; the caller sees its first 120 characters as a warning. */
      readonly message: string;
    };

/** Why a review got no decision; a label of the metric that counts them, documented in docs/reference/errors.md. */
export type UnservedReason =
  'WrongReview' | 'WrongKind' | 'WrongOperation' | 'NoObject' | 'HostileFields' | 'InternalError';

/** A decision is a function of the request; anything it throws becomes an unserved review. */
export type AdmissionHandler = (request: AdmissionRequest) => AdmissionDecision;

/** A handler at its path. */
export interface AdmissionRoute {
  /** Name in logs, warnings and metrics. */
  readonly name: string;
  /** Where the API server posts its reviews. */
  readonly path: string;
  /** Kinds of objects that the handler understands; every other kind is unserved. */
  readonly kinds: readonly GroupVersionKind[];
  readonly handle: AdmissionHandler;
}
