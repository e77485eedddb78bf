// SPDX-License-Identifier: Apache-2.0
// What a failed request to the metrics API means for whoever wants to know the load.
import { ApiError, ConnectionError } from '../kubernetes/errors.ts';
import type { ConnectionErrorReason } from '../kubernetes/errors.ts';
import { LoadError } from './types.ts';
import type { LoadFailure } from './types.ts';

const BY_STATUS: Readonly<Record<number, LoadFailure>> = {
  400: 'BadQuery',
  401: 'Forbidden',
  403: 'Forbidden',
  // The API server does not know the group; or knows it, and nobody stands behind it.
  404: 'NotInstalled',
  503: 'NotInstalled',
  408: 'Timeout',
  504: 'Timeout',
};

const BY_REASON: Readonly<Record<ConnectionErrorReason, LoadFailure>> = {
  Unreachable: 'Unreachable',
  Cut: 'Unreachable',
  Timeout: 'Timeout',
  InvalidResponse: 'BadAnswer',
  Credentials: 'Forbidden',
};

const ADVICE: Partial<Record<LoadFailure, string>> = {
  NotInstalled: ' (is metrics-server installed, and its APIService available?)',
  Forbidden: ' (needed: get and list of pods in metrics.k8s.io)',
};

const MAX_LENGTH = 500;

const reasonOf = (error: unknown): LoadFailure => {
  if (error instanceof ApiError) return BY_STATUS[error.status] ?? 'Unreachable';
  if (error instanceof ConnectionError) return BY_REASON[error.reason];
  // Nothing else than reading the answer throws here.
  return 'BadAnswer';
};

/** The LoadError of a list that failed. */
export const apiFailure = (error: unknown): LoadError => {
  if (error instanceof LoadError) return error;
  const reason = reasonOf(error);
  const known = error instanceof ApiError || error instanceof ConnectionError;
  const message = known ? error.message.slice(0, MAX_LENGTH) : 'the answer is not a list of PodMetrics';
  return new LoadError(reason, `${message}${ADVICE[reason] ?? ''}`, { cause: error });
};
