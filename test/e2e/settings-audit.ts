// Reads the audit log: who wrote what, what was refused, and in how many versions.
import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { waitFor } from './bed/machine.ts';

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
  /** What the server says against it; empty where it took it. */
  readonly message: string;
  /** When the request arrived, in milliseconds since 1970. */
  readonly at: number;
  /** From the arrival of the request to the end of the answer, admission included. */
  readonly milliseconds: number;
}

export interface AuditEvent {
  readonly stage: string;
  readonly verb: string;
  readonly requestURI: string;
  /** With microseconds. */
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  readonly user: { readonly username: string; readonly extra?: Readonly<Record<string, readonly string[]>> };
  readonly objectRef?: {
    readonly resource: string;
    readonly subresource?: string;
    readonly apiGroup?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code?: number; readonly message?: string };
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
  message: event.responseStatus?.message ?? '',
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

/** What API servers say of a webhook that did not answer in time; the address that they name contains `timeout` in any case. */
const LATE = /failed calling webhook .*(?:context deadline exceeded|i\/o timeout)/;

/** The machine stood still for as long as API servers wait: with `Fail`, nothing was stored, and the next try may do better. */
export const isLate = (message: string): boolean => LATE.test(message);

/** Writes that failed at a webhook although it had its time. */
export const refusals = (writes: readonly Write[]): string[] =>
  writes
    .filter(({ message }) => message.includes('failed calling webhook') && !isLate(message))
    .map((write) => JSON.stringify(write));

/** Longer than a turn of `untilQuiet` takes where nothing stands still, in milliseconds. */
const LONGEST_TURN_MS = 100;

/** Gathers writes until none came for `quietMs`; fails after `boundMs`, because then somebody writes in circles. */
export const untilQuiet = async (audit: AuditReader, quietMs: number, boundMs = 60_000): Promise<Write[]> => {
  const writes: Write[] = [];
  const start = performance.now();
  let turn = start;
  let quiet = 0;
  for (;;) {
    const more = audit.next();
    const now = performance.now();
    // Turns are counted, not the clock: while the machine stands still nobody writes, and it has not been quiet.
    quiet = more.length > 0 ? 0 : quiet + Math.min(now - turn, LONGEST_TURN_MS);
    turn = now;
    if (quiet >= quietMs) return writes;
    writes.push(...more);
    if (more.length > 0 && now - start > boundMs) {
      const [example] = more;
      throw new Error(`${writes.length} writes in ${boundMs} ms and no end; ${JSON.stringify(example)}`);
    }
    await pause(50);
  }
};

/** As `untilQuiet`, once the writes that have to come have `begun`: the quiet before the first of them is no end. */
export const untilQuietAfter = async (
  audit: AuditReader,
  begun: (writes: readonly Write[]) => boolean,
  quietMs: number,
  boundMs?: number,
): Promise<Write[]> => {
  const writes: Write[] = [];
  await waitFor(
    'the writes that have to come',
    () => writes.push(...audit.next()),
    () => begun(writes),
    boundMs === undefined ? {} : { timeoutSeconds: boundMs / 1_000 },
  );
  return [...writes, ...(await untilQuiet(audit, quietMs, boundMs))];
};

export interface Audit {
  /** How many events there are: what comes later is `since` this. */
  mark(): number;
  /** All requests of a user, oldest first. */
  of(user: string, since?: number): AuditEvent[];
}

export const openAudit = (file: string): Audit => {
  const read = (): AuditEvent[] =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line.endsWith('}'))
      .map((line) => JSON.parse(line) as AuditEvent);
  return {
    mark: () => read().length,
    of: (name, since = 0) =>
      read()
        .slice(since)
        .filter(({ user }) => user.username === name),
  };
};

/** `Service shoot--a/b`-like name of what a request was about. */
export const subjectOf = ({ objectRef }: AuditEvent): string =>
  [objectRef?.resource, [objectRef?.namespace, objectRef?.name].filter(Boolean).join('/')].join(' ');

const isDryRun = ({ requestURI }: AuditEvent): boolean => requestURI.includes('dryRun=All');

/** Whether the answer was a success. */
export const isAccepted = ({ responseStatus }: AuditEvent): boolean =>
  (responseStatus?.code ?? 0) >= 200 && (responseStatus?.code ?? 0) < 300;

const SETTINGS = new Set(['services', 'etcds', 'namespaces', 'endpointslices']);

/** Writes of settings and marks that took effect; dry runs, events and Leases left out. */
export const settingsWrites = (events: readonly AuditEvent[]): AuditEvent[] =>
  events.filter(
    (event) =>
      !['get', 'list', 'watch'].includes(event.verb) &&
      SETTINGS.has(event.objectRef?.resource ?? '') &&
      !isDryRun(event) &&
      isAccepted(event),
  );

export const receivedAt = ({ requestReceivedTimestamp }: AuditEvent): number => Date.parse(requestReceivedTimestamp);
