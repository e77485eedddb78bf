// SPDX-License-Identifier: Apache-2.0
// Why an answer did not come that can be done without.
import { ApiError, ConnectionError, isForbidden } from '../../../pkg/kubernetes/errors.ts';

/** In a few words. Throws what is neither the server's nor the connection's, and everything once the signal has aborted. */
export const whyNoAnswer = (error: unknown, signal: AbortSignal): string => {
  if (signal.aborted) throw error;
  if (isForbidden(error)) return 'not allowed';
  if (error instanceof ApiError) return `${error.status} ${error.reason}`;
  if (error instanceof ConnectionError || (error instanceof Error && error.name === 'TimeoutError')) return 'no answer';
  throw error;
};
