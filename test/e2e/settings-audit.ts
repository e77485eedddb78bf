// Reads a bed's audit log: who asked for what, and which writes took effect.
import { readFileSync } from 'node:fs';

export interface AuditEvent {
  readonly stage: string;
  readonly verb: string;
  readonly requestURI: string;
  /** With microseconds. */
  readonly requestReceivedTimestamp: string;
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

/** What API servers say of a request whose client took it back or ended while it was sent. */
const BROKEN_OFF = /client disconnected|stream error|declared a Content-Length|context canceled/;

/** Whether the request failed because its own client broke it off. */
export const isBrokenOff = ({ responseStatus }: AuditEvent): boolean =>
  (responseStatus?.code ?? 0) >= 500 && BROKEN_OFF.test(responseStatus?.message ?? '');

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

/** Trial writes. */
export const dryRuns = (events: readonly AuditEvent[]): AuditEvent[] => events.filter(isDryRun);

export const receivedAt = ({ requestReceivedTimestamp }: AuditEvent): number => Date.parse(requestReceivedTimestamp);
