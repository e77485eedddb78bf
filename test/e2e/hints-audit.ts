// SPDX-License-Identifier: Apache-2.0
// Reads from the API server's audit log who wrote what, and how long the server took.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

/** One write as the API server answered it; or a read, of users whose reads the bed logs. */
export interface Write {
  readonly user: string;
  readonly verb: string;
  /** Plural, e.g. `endpointslices`. */
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  /** HTTP status. */
  readonly status: number;
  /** When the request arrived, in milliseconds since 1970. */
  readonly at: number;
  /** From the arrival of the request to the end of the answer, admission included. */
  readonly milliseconds: number;
}

interface AuditEvent {
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly objectRef?: { readonly resource?: string; readonly namespace?: string; readonly name?: string };
  readonly responseStatus?: { readonly code?: number };
  readonly requestURI: string;
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
}

/** Microseconds of the log; Date alone keeps milliseconds. */
const millisecondsOf = (timestamp: string): number =>
  Date.parse(timestamp) + Number(`0.${/\.\d{3}(\d*)Z$/.exec(timestamp)?.[1] ?? ''}`);

const writeOf = (event: AuditEvent): Write => ({
  at: millisecondsOf(event.requestReceivedTimestamp),
  user: event.user.username,
  verb: event.verb,
  resource: event.objectRef?.resource ?? '',
  namespace: event.objectRef?.namespace ?? '',
  name: event.objectRef?.name ?? '',
  status: event.responseStatus?.code ?? 0,
  milliseconds: millisecondsOf(event.stageTimestamp) - millisecondsOf(event.requestReceivedTimestamp),
});

export interface AuditReader {
  /** The requests since the last call, dry runs left out. */
  next(): Write[];
}

/** Slices, the subject of most suites. */
const isSlice = ({ resource }: Write): boolean => resource === 'endpointslices';

/** Starts at the present end of the log; `wanted` chooses the requests, by default those of slices. */
export const readAudit = (file: string, wanted: (write: Write) => boolean = isSlice): AuditReader => {
  const sizeOf = (fd: number): number => fstatSync(fd).size;
  const withFile = <T>(use: (fd: number) => T): T => {
    const fd = openSync(file, 'r');
    try {
      return use(fd);
    } finally {
      closeSync(fd);
    }
  };
  let from = withFile(sizeOf);
  const newBytes = (fd: number): Buffer => {
    const bytes = Buffer.alloc(sizeOf(fd) - from);
    return bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, from));
  };
  return {
    next() {
      const bytes = withFile(newBytes);
      // What follows the last line's end is a line that is being written: read again the next time.
      const end = bytes.lastIndexOf('\n') + 1;
      from += end;
      return bytes
        .toString('utf8', 0, end)
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as AuditEvent)
        .filter(({ requestURI }) => !requestURI.includes('dryRun='))
        .map(writeOf)
        .filter(wanted);
    },
  };
};

/** Gathers writes until none came for `quietMs`; fails after `boundMs`, because then somebody writes in circles. */
export const untilQuiet = async (audit: AuditReader, quietMs: number, boundMs = 60_000): Promise<Write[]> => {
  const writes: Write[] = [];
  const start = performance.now();
  let last = start;
  for (;;) {
    const more = audit.next();
    // Judged by what was read, not by the clock alone: a machine that was busy for a while has not been quiet.
    if (more.length > 0) last = performance.now();
    else if (performance.now() - last >= quietMs) return writes;
    writes.push(...more);
    if (last - start > boundMs) {
      const [example] = more;
      throw new Error(`${writes.length} writes of slices in ${boundMs} ms and no end; ${JSON.stringify(example)}`);
    }
    await pause(50);
  }
};
