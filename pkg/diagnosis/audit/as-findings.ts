// SPDX-License-Identifier: Apache-2.0
// An audit as findings for continuous integration: what fails is an error, what costs a warning, the rest a note.
import type { Finding, Severity } from '../check/types.ts';
import type { AuditGroup, AuditReport } from './types.ts';

const SEVERITY: Readonly<Record<AuditGroup, Severity>> = {
  Fails: 'error',
  Costs: 'warning',
  NotSavable: 'note',
  NotKnown: 'note',
  Kept: 'note',
};

/** One for the first cause of each Service, and one for what is seen of the cluster as a whole; `file`: what was read. */
export const findingsOf = ({ services, findings }: AuditReport, file: string | undefined): Finding[] => {
  const place = file === undefined ? {} : { place: { file, line: 1 } };
  const ofServices = services.flatMap(({ group, namespace, name, cause }): Finding[] => {
    if (cause === null) return [];
    const { reason, evidence: message, remedy } = cause;
    return [{ severity: SEVERITY[group], reason, kind: 'Service', namespace, name, message, remedy, ...place }];
  });
  const ofCluster = findings.map(({ reason, certainty, evidence: message, remedy }): Finding => {
    const severity = certainty === 'seen' ? 'warning' : 'note';
    return { severity, reason, kind: 'Cluster', namespace: '', name: '', message, remedy, ...place };
  });
  return [...ofServices, ...ofCluster];
};
