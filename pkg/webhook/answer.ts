// Prints what the admission server answers: an AdmissionReview, or a Status where there was no review to answer.
import { REVIEW_API_VERSION, REVIEW_KIND } from './review.ts';

const OPENING = `{"apiVersion":"${REVIEW_API_VERSION}","kind":"${REVIEW_KIND}","response":{"uid":`;

/** API servers cut warnings at 256 bytes and advise 120. */
const MAX_WARNING_LENGTH = 120;

/** One printable line; kubectl shows it to the author of the write, and the API server drops anything else. */
const warningText = (warning: string): string => {
  const line = warning.replaceAll(/[^\x20-\x7e]+/g, ' ');
  return line.length <= MAX_WARNING_LENGTH ? line : `${line.slice(0, MAX_WARNING_LENGTH - 3)}...`;
};

const warningsField = (warning: string | undefined): string =>
  warning === undefined ? '' : `,"warnings":[${JSON.stringify(warningText(warning))}]`;

/** Allowed as it is. */
export const allowedText = (uid: string, warning?: string): string =>
  `${OPENING}${JSON.stringify(uid)},"allowed":true${warningsField(warning)}}}`;

/** Allowed, with the JSON Patch whose text is given. */
export const patchedText = (uid: string, patch: string, warning?: string): string => {
  const encoded = Buffer.from(patch, 'utf8').toString('base64');
  return `${OPENING}${JSON.stringify(uid)},"allowed":true,"patchType":"JSONPatch","patch":"${encoded}"${warningsField(warning)}}}`;
};

const REASONS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  408: 'Timeout',
  411: 'BadRequest',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  431: 'BadRequest',
  500: 'InternalError',
  503: 'ServiceUnavailable',
};

/** A meta/v1 Status that says why there is no review in the answer. */
export const statusText = (code: number, message: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Status',
    metadata: {},
    status: 'Failure',
    message,
    reason: REASONS[code] ?? 'Unknown',
    code,
  });
