// Counts writes in an audit log whose API server is killed now and then: a torn line is no event.
import { readFileSync, statSync } from 'node:fs';
import type { AuditEvent } from './settings-audit.ts';

const parse = (line: string): AuditEvent[] => {
  try {
    return [JSON.parse(line) as AuditEvent];
  } catch {
    return [];
  }
};

/** Size of the log: what is written later is `since` this. */
export const auditSize = (file: string): number => statSync(file).size;

/** All events after `since`, dry runs left out. */
export const auditSince = (file: string, since = 0): AuditEvent[] =>
  readFileSync(file)
    .subarray(since)
    .toString('utf8')
    .split('\n')
    .flatMap(parse)
    .filter(({ requestURI }) => !requestURI.includes('dryRun='));

const READS = new Set(['get', 'list', 'watch']);

/** Writes that the server took, Leases left out: they are how processes say that they live. */
export const lastingWrites = (events: readonly AuditEvent[]): AuditEvent[] =>
  events.filter(
    ({ verb, objectRef, responseStatus }) =>
      !READS.has(verb) && objectRef?.resource !== 'leases' && (responseStatus?.code ?? 500) < 300,
  );

/** Counts by `user verb resource`, the short name of the user. */
export const countByKind = (events: readonly AuditEvent[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { user, verb, objectRef } of events) {
    const key = `${user.username.split(':').at(-1)} ${verb} ${objectRef?.resource}`;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
};
