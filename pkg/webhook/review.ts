// Reads an AdmissionReview out of a body, prints the answer to it, and the contract between the admission server and its handlers.
import type { AdmissionRequest, GroupVersionKind } from '../apis/admission.ts';
import { type Fields, isAbsent, isFields, parseJson } from '../apis/values.ts';
import { HTTP_STATUS_REASONS } from '../kubernetes/errors.ts';
import type { KubernetesVersion } from '../routing/types.ts';
import type { createEvacuationWatch } from './evacuation-watch.ts';

/**
 * What a handler says to a request. There is no way to refuse one: `allowed: false` rejects the write even where the webhook's failures are ignored.
 */
export type AdmissionDecision =
  | { readonly kind: 'unchanged' }
  | {
      readonly kind: 'patch';
      /** JSON text of a JSON Patch (RFC 6902) that applies to the request's object. */
      readonly patch: string;
      readonly operations: number;
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

/** What decisions read beside the object under review; each is asked at every review. */
export interface AdmissionInputs {
  readonly version: () => KubernetesVersion;
  /** False while the flow controller is known to be gone. */
  readonly plannerAlive: () => boolean;
  /** Users whose planned hints pass untouched. */
  readonly plannerUsers: Pick<ReadonlySet<string>, 'has'>;
  /** The user whose writes of settings are never changed: it takes settings back with one write of its own. */
  readonly settingsReconcilerUser: string;
  readonly evacuations: Pick<ReturnType<typeof createEvacuationWatch>, 'isEvacuating' | 'joiningOf'>;
  /** Hints are switched off in the whole cluster: an API server that has not heard of it yet may still ask. Default: never. */
  readonly off?: () => boolean;
}

/** A decision is a function of the request; anything it throws becomes an unserved review. */
export type AdmissionHandler = (request: AdmissionRequest) => AdmissionDecision;

export interface AdmissionRoute {
  /** Name in logs, warnings and metrics. */
  readonly name: string;
  /** Where the API server posts its reviews. */
  readonly path: string;
  /** Kinds of objects that the handler understands; every other kind is unserved. */
  readonly kinds: readonly GroupVersionKind[];
  readonly handle: AdmissionHandler;
}

const REVIEW_API_VERSION = 'admission.k8s.io/v1';
const REVIEW_KIND = 'AdmissionReview';

type Review =
  | { readonly kind: 'request'; readonly request: AdmissionRequest }
  /** Answered with 4xx: there is nothing that an AdmissionResponse could refer to. */
  | { readonly kind: 'notAReview'; readonly message: string }
  /** Answered with 200, allowed and unchanged. */
  | { readonly kind: 'unserved'; readonly uid: string; readonly reason: UnservedReason; readonly message: string };

const isKindOf = (kind: unknown, accepted: readonly GroupVersionKind[]): boolean => {
  if (!isFields(kind)) return false;
  return accepted.some(
    (one) => one.kind === kind['kind'] && one.group === kind['group'] && one.version === kind['version'],
  );
};

/** Longest name of an object; names go into the log. */
const MAX_NAME_LENGTH = 253;

const isAbsentOrString = (value: unknown, maxLength = Number.POSITIVE_INFINITY): boolean =>
  isAbsent(value) || (typeof value === 'string' && value.length <= maxLength);

const namesOf = (kinds: readonly GroupVersionKind[]): string => kinds.map(({ kind }) => kind).join(' or ');

/** What keeps the request from being served, judged by the fields that handlers rely on and no others. */
const problemOf = (
  review: Fields,
  request: Fields,
  kinds: readonly GroupVersionKind[],
): [UnservedReason, string] | undefined => {
  if (review['apiVersion'] !== REVIEW_API_VERSION || review['kind'] !== REVIEW_KIND)
    return ['WrongReview', `not an ${REVIEW_KIND} of ${REVIEW_API_VERSION}`];
  if (typeof request['uid'] !== 'string' || request['uid'] === '')
    return ['HostileFields', 'request.uid is not a string'];
  if (!isKindOf(request['kind'], kinds)) return ['WrongKind', `request.kind is not ${namesOf(kinds)}`];
  if (request['operation'] !== 'CREATE' && request['operation'] !== 'UPDATE')
    return ['WrongOperation', 'request.operation is neither CREATE nor UPDATE'];
  if (!isFields(request['object'])) return ['NoObject', 'request.object is not an object'];
  const userInfo = request['userInfo'] ?? {};
  if (!isFields(userInfo)) return ['HostileFields', 'request.userInfo is not an object'];
  if (!isAbsentOrString(userInfo['username'])) return ['HostileFields', 'request.userInfo.username is not a string'];
  const named = [request['namespace'], request['name']].every((value) => isAbsentOrString(value, MAX_NAME_LENGTH));
  return named ? undefined : ['HostileFields', 'request.namespace or request.name is not a name'];
};

/** One JSON.parse, then the few fields that matter; the object inside is left to the handler. */
export const readReview = (body: string, kinds: readonly GroupVersionKind[]): Review => {
  const review = parseJson(body);
  if (review === undefined) return { kind: 'notAReview', message: 'the body is not JSON' };
  if (!isFields(review)) return { kind: 'notAReview', message: 'the body is not a JSON object' };
  const { request } = review;
  if (!isFields(request)) return { kind: 'notAReview', message: 'the body has no request' };
  const problem = problemOf(review, request, kinds);
  if (problem === undefined) return { kind: 'request', request: request as unknown as AdmissionRequest };
  const [reason, message] = problem;
  return { kind: 'unserved', uid: typeof request['uid'] === 'string' ? request['uid'] : '', reason, message };
};

const OPENING = `{"apiVersion":"${REVIEW_API_VERSION}","kind":"${REVIEW_KIND}","response":{"uid":`;

/** API servers cut warnings at 256 bytes and advise 120. */
const MAX_WARNING_LENGTH = 120;

/** One printable line; kubectl shows it to the author of the write, and the API server drops anything else. */
const warningText = (warning: string): string => {
  const line = warning.replaceAll(/[^\x20-\x7e]+/g, ' ');
  return line.length <= MAX_WARNING_LENGTH ? line : `${line.slice(0, MAX_WARNING_LENGTH - 3)}...`;
};

export const allowedText = (uid: string, warning?: string): string => {
  const warnings = warning === undefined ? '' : `,"warnings":[${JSON.stringify(warningText(warning))}]`;
  return `${OPENING}${JSON.stringify(uid)},"allowed":true${warnings}}}`;
};

/** Allowed, with the JSON Patch whose text is given. */
export const patchedText = (uid: string, patch: string): string => {
  const encoded = Buffer.from(patch, 'utf8').toString('base64');
  return `${OPENING}${JSON.stringify(uid)},"allowed":true,"patchType":"JSONPatch","patch":"${encoded}"}}`;
};

/** A meta/v1 Status that says why there is no review in the answer. */
export const statusText = (code: number, message: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Status',
    metadata: {},
    status: 'Failure',
    message,
    // Of the rest there are 411 and 431, which the API has no word for.
    reason: HTTP_STATUS_REASONS[code] ?? 'BadRequest',
    code,
  });
