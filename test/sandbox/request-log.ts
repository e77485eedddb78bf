// The newest requests, oldest first, bounded.
import type { SandboxRequest } from './types.ts';

const LIMIT = 100_000;
/** Dropped at once when full, so that a full log costs nothing per request. */
const BLOCK = 10_000;

export interface RequestLog {
  readonly requests: readonly SandboxRequest[];
  add(request: SandboxRequest): void;
  clear(): void;
}

export const createRequestLog = (): RequestLog => {
  const requests: SandboxRequest[] = [];
  return {
    requests,
    add(request) {
      if (requests.length >= LIMIT) requests.splice(0, BLOCK);
      requests.push(request);
    },
    clear: () => void requests.splice(0),
  };
};
