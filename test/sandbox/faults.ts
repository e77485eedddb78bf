// Faults on demand: which one a request meets, and how often it still strikes.
import { statusError, type StatusError } from './errors.ts';
import type { Fault, FaultMatch } from './types.ts';

/** What a fault can be matched against. */
export type FaultSubject = Required<FaultMatch>;

/** True when every given property is equal. */
export const matchesFault = (match: FaultMatch | undefined, subject: FaultSubject): boolean =>
  match === undefined ||
  ((match.verb === undefined || match.verb === subject.verb) &&
    (match.resource === undefined || match.resource === subject.resource) &&
    (match.user === undefined || match.user === subject.user) &&
    (match.name === undefined || match.name === subject.name));

const REASONS: Readonly<Record<number, { reason: string; message: string }>> = {
  400: { reason: 'BadRequest', message: 'the request was refused on demand' },
  401: { reason: 'Unauthorized', message: 'Unauthorized' },
  403: { reason: 'Forbidden', message: 'forbidden on demand' },
  404: { reason: 'NotFound', message: 'the server could not find the requested resource' },
  409: {
    reason: 'Conflict',
    message:
      'Operation cannot be fulfilled: the object has been modified; please apply your changes to the latest version and try again',
  },
  410: { reason: 'Expired', message: 'The resourceVersion for the provided watch is too old.' },
  429: {
    reason: 'TooManyRequests',
    message: 'The server has received too many requests and has asked us to try again later',
  },
  500: { reason: 'InternalError', message: 'Internal error occurred: on demand' },
  503: { reason: 'ServiceUnavailable', message: 'the server is currently unable to handle the request' },
  504: { reason: 'Timeout', message: 'Timeout: request did not complete within the allotted timeout' },
};

/** The answer that a status fault gives. */
export const faultStatus = ({ code, reason, retryAfterSeconds }: Fault & { kind: 'status' }): StatusError => {
  const usual = REASONS[code] ?? { reason: '', message: `an error on the server with status ${code} on demand` };
  return statusError(code, reason ?? usual.reason, usual.message, retryAfterSeconds);
};

export interface FaultTable {
  add(fault: Fault): { remove(): void };
  clear(): void;
  /** The first fault, of those that were added, that strikes this request; its count goes down. */
  take(subject: FaultSubject): Fault | undefined;
}

export const createFaultTable = (): FaultTable => {
  const entries = new Set<{ fault: Fault; left: number }>();
  return {
    add(fault) {
      const entry = { fault, left: fault.times ?? Number.POSITIVE_INFINITY };
      entries.add(entry);
      return { remove: () => void entries.delete(entry) };
    },
    clear: () => entries.clear(),
    take(subject) {
      const entry = [...entries].find(({ fault }) => matchesFault(fault.match, subject));
      if (entry !== undefined && (entry.left -= 1) <= 0) entries.delete(entry);
      return entry?.fault;
    },
  };
};
