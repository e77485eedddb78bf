// A check of manifests as text: a paragraph a finding, worst first, as compilers print them.
import { SEVERITIES } from '../diagnosis/check/types.ts';
import type { CheckReport, Finding, Severity } from '../diagnosis/check/types.ts';
import { objectText } from './ci.ts';
import { countText } from './figures.ts';
import { paintFor, wrapText } from './paint.ts';
import type { Paint } from './paint.ts';
import { clean } from './table.ts';

const severityText = (severity: Severity, paint: Paint): string =>
  severity === 'error' ? paint.bad(severity) : severity === 'warning' ? paint.strong(severity) : paint.faint(severity);

const findingText = (finding: Finding, columns: number, paint: Paint): string => {
  const { severity, reason, message, remedy, place } = finding;
  const where = place === undefined ? '' : `${clean(place.file)}:${place.line}: `;
  return [
    `${where}${severityText(severity, paint)} ${paint.strong(reason)} ${clean(objectText(finding))}\n`,
    wrapText(clean(message), columns, '    '),
    wrapText(clean(remedy), columns, '    ').replace(/^ {4}/, '  → '),
  ].join('');
};

export const renderFindings = (
  report: CheckReport,
  { color, columns }: { color: boolean; columns: number },
): string => {
  const { findings, services, workloads, kubernetesVersion } = report;
  const paint = paintFor(color);
  const counts = SEVERITIES.flatMap((severity) => {
    const count = findings.filter((finding) => finding.severity === severity).length;
    return count === 0 ? [] : [countText(count, severity)];
  });
  const sum = `${countText(services, 'Service')}, ${countText(workloads, 'workload')}, for Kubernetes ${kubernetesVersion}: ${counts.length === 0 ? 'nothing found' : counts.join(', ')}.`;
  const width = Math.max(columns, 60);
  const text = findings.map((finding) => findingText(finding, width, paint)).join('');
  return `${text}${text === '' ? '' : '\n'}${paint.strong(sum)}\n`;
};
