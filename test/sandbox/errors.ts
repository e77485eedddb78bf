// How the sandbox says no: the Status bodies that a real API server writes.
import type { Status } from '../../pkg/apis/meta.ts';

/** Names a resource in an error; `kind` is used where the real server names the kind instead of the plural. */
export interface ErrorSubject {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
}

/** One field error of a 422. */
export interface FieldError {
  readonly field: string;
  readonly reason:
    | 'FieldValueInvalid'
    | 'FieldValueNotSupported'
    | 'FieldValueRequired'
    | 'FieldValueTooMany'
    | 'FieldValueDuplicate'
    | 'FieldValueForbidden';
  /** Without the field's name, for example `Invalid value: "x": must be …`. */
  readonly message: string;
}

/** An answer that is not a success; thrown anywhere below the router. */
export class StatusError extends Error {
  readonly status: Status;
  constructor(status: Status) {
    super(status.message ?? 'unknown error');
    this.name = 'StatusError';
    this.status = status;
  }
  get code(): number {
    return this.status.code ?? 500;
  }
}

const failure = (code: number, reason: string, message: string, details?: Status['details']): StatusError =>
  new StatusError({
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    message,
    ...(reason === '' ? {} : { reason }),
    ...(details === undefined ? {} : { details }),
    code,
  });

const qualified = ({ group, plural }: ErrorSubject): string => (group === '' ? plural : `${plural}.${group}`);

const detailsOf = ({ group, plural }: ErrorSubject, name: string) => ({
  ...(name === '' ? {} : { name }),
  ...(group === '' ? {} : { group }),
  kind: plural,
});

export const notFound = (subject: ErrorSubject, name: string): StatusError =>
  failure(404, 'NotFound', `${qualified(subject)} "${name}" not found`, detailsOf(subject, name));

export const alreadyExists = (subject: ErrorSubject, name: string): StatusError =>
  failure(409, 'AlreadyExists', `${qualified(subject)} "${name}" already exists`, detailsOf(subject, name));

export const MODIFIED_MESSAGE =
  'the object has been modified; please apply your changes to the latest version and try again';

export const conflict = (subject: ErrorSubject, name: string, message: string = MODIFIED_MESSAGE): StatusError =>
  failure(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${qualified(subject)} "${name}": ${message}`,
    detailsOf(subject, name),
  );

export const forbidden = (subject: ErrorSubject, name: string, message: string, causes?: unknown[]): StatusError =>
  failure(403, 'Forbidden', `${qualified(subject)}${name === '' ? '' : ` "${name}"`} is forbidden: ${message}`, {
    ...detailsOf(subject, name),
    ...(causes === undefined ? {} : { causes }),
  });

export const invalid = (subject: ErrorSubject, name: string, errors: readonly FieldError[]): StatusError => {
  const texts = errors.map(({ field, message }) => `${field}: ${message}`);
  const text = texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(', ')}]`;
  const qualifiedKind = subject.group === '' ? subject.kind : `${subject.kind}.${subject.group}`;
  return failure(422, 'Invalid', `${qualifiedKind} "${name}" is invalid: ${text}`, {
    ...(name === '' ? {} : { name }),
    ...(subject.group === '' ? {} : { group: subject.group }),
    kind: subject.kind,
    causes: errors.map(({ field, reason, message }) => ({ reason, message, field })),
  });
};

export const badRequest = (message: string): StatusError => failure(400, 'BadRequest', message);

export const unauthorized = (): StatusError => failure(401, 'Unauthorized', 'Unauthorized');

export const methodNotAllowed = (): StatusError =>
  failure(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});

/** A JSON Patch that does not apply. */
export const unprocessable = (): StatusError =>
  failure(422, 'Invalid', 'the server rejected our request due to an error in our request', {});

/** 422 for options of a request. */
export const invalidOptions = (kind: string, error: FieldError): StatusError =>
  invalid({ group: 'meta.k8s.io', plural: kind, kind }, '', [error]);

/** Unknown resource of a group version that exists. */
export const unknownResource = (): StatusError =>
  failure(404, 'NotFound', 'the server could not find the requested resource', {});

export const unsupportedMediaType = (accepted: readonly string[]): StatusError =>
  failure(
    415,
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  );

export const tooLarge = (limitBytes: number): StatusError =>
  failure(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${limitBytes}`);

/** 410: the version is gone from history. */
export const expired = (message: string): StatusError => failure(410, 'Expired', message);

export const internal = (message: string): StatusError =>
  failure(500, 'InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] });

/** 500 without a reason, as errors that the real server does not classify. */
export const unclassified = (message: string): StatusError => failure(500, '', message);

/** 504 for a resourceVersion that the server has not reached yet. */
export const versionTooLarge = (wanted: string, current: number): StatusError =>
  failure(504, 'Timeout', `Timeout: Too large resource version: ${wanted}, current: ${current}`, {
    retryAfterSeconds: 1,
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
  });

/** Any status, for faults and for webhooks' own denials. */
export const statusError = (code: number, reason: string, message: string, retryAfterSeconds?: number): StatusError =>
  failure(code, reason, message, retryAfterSeconds === undefined ? undefined : { retryAfterSeconds });
