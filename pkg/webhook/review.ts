// Reads an AdmissionReview out of a body: what is no review at all, what cannot be served, and what a handler may see.
import { isFields } from '../apis/fields.ts';
import type { Fields } from '../apis/fields.ts';
import type { AdmissionRequest, GroupVersionKind } from '../apis/admission.ts';
import type { UnservedReason } from './types.ts';

export const REVIEW_API_VERSION = 'admission.k8s.io/v1';
export const REVIEW_KIND = 'AdmissionReview';

export type Review =
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
  value === undefined || value === null || (typeof value === 'string' && value.length <= maxLength);

const namesOf = (kinds: readonly GroupVersionKind[]): string => kinds.map(({ kind }) => kind).join(' or ');

/** What keeps the request from being served, judged by the fields that handlers rely on and no others. */
const problemOf = (
  review: Fields,
  request: Fields,
  kinds: readonly GroupVersionKind[],
): [UnservedReason, string] | undefined => {
  if (review['apiVersion'] !== REVIEW_API_VERSION || review['kind'] !== REVIEW_KIND) {
    return ['WrongReview', `not an ${REVIEW_KIND} of ${REVIEW_API_VERSION}`];
  }
  if (typeof request['uid'] !== 'string' || request['uid'] === '')
    return ['HostileFields', 'request.uid is not a string'];
  if (!isKindOf(request['kind'], kinds)) return ['WrongKind', `request.kind is not ${namesOf(kinds)}`];
  if (request['operation'] !== 'CREATE' && request['operation'] !== 'UPDATE') {
    return ['WrongOperation', 'request.operation is neither CREATE nor UPDATE'];
  }
  if (!isFields(request['object'])) return ['NoObject', 'request.object is not an object'];
  const userInfo = request['userInfo'] ?? {};
  if (!isFields(userInfo)) return ['HostileFields', 'request.userInfo is not an object'];
  if (!isAbsentOrString(userInfo['username'])) return ['HostileFields', 'request.userInfo.username is not a string'];
  const named = [request['namespace'], request['name']].every((value) => isAbsentOrString(value, MAX_NAME_LENGTH));
  return named ? undefined : ['HostileFields', 'request.namespace or request.name is not a name'];
};

/** One JSON.parse, then the few fields that matter; the object inside is left to the handler. */
export const readReview = (body: string, kinds: readonly GroupVersionKind[]): Review => {
  let review: unknown;
  try {
    review = JSON.parse(body);
  } catch {
    return { kind: 'notAReview', message: 'the body is not JSON' };
  }
  if (!isFields(review)) return { kind: 'notAReview', message: 'the body is not a JSON object' };
  const { request } = review;
  if (!isFields(request)) return { kind: 'notAReview', message: 'the body has no request' };
  const problem = problemOf(review, request, kinds);
  if (problem === undefined) return { kind: 'request', request: request as unknown as AdmissionRequest };
  const [reason, message] = problem;
  return { kind: 'unserved', uid: typeof request['uid'] === 'string' ? request['uid'] : '', reason, message };
};
