// A check of manifests as text, a paragraph a finding, as compilers print them; and as SARIF 2.1.0, which code scanning takes.
import { objectTitle } from '../apis/values.ts';
import { type CheckReport, type Finding, SEVERITIES, type Severity } from '../diagnosis/check/check.ts';
import { countText } from './figures.ts';
import { type Screen, type Style, clean, renderJson, screenFor } from './text.ts';

/** Paths in a URI: relative ones stay relative, as code scanning wants them. */
const uriOf = (file: string): string => file.replace(/^\.\//, '').split('/').map(encodeURIComponent).join('/');

const resultOf = (finding: Finding) => {
  const { severity, reason, message, remedy, place } = finding;
  const logical = { fullyQualifiedName: objectTitle(finding), kind: 'resource' };
  const physical =
    place === undefined
      ? {}
      : { physicalLocation: { artifactLocation: { uri: uriOf(place.file) }, region: { startLine: place.line } } };
  return {
    ruleId: reason,
    level: severity,
    message: { text: clean(`${objectTitle(finding)}: ${message}. ${remedy}`) },
    locations: [{ ...physical, logicalLocations: [logical] }],
    // Lines move; what is found about which object does not.
    partialFingerprints: { 'objectAndReason/v1': `${objectTitle(finding)} ${reason}` },
  };
};

/** @see https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html */
export const renderSarif = (findings: readonly Finding[]): string => {
  const rules = [...Map.groupBy(findings, ({ reason }) => reason)].map(([id, [first]]) => ({
    id,
    shortDescription: { text: id },
    help: { text: first?.remedy ?? '' },
  }));
  return renderJson({
    version: '2.1.0',
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    runs: [{ tool: { driver: { name: 'kubectl-topology', rules } }, results: findings.map(resultOf) }],
  });
};

const PAINTS = { error: 'bad', warning: 'strong', note: 'faint' } as const satisfies Record<Severity, keyof Screen>;

const findingText = (finding: Finding, screen: Screen): string => {
  const { severity, reason, message, remedy, place } = finding;
  const where = place === undefined ? '' : `${clean(place.file)}:${place.line}: `;
  return `${where}${screen[PAINTS[severity]](severity)} ${screen.strong(reason)} ${clean(objectTitle(finding))}\n${screen.evidence(message, remedy)}`;
};

export const renderFindings = (report: CheckReport, style: Style): string => {
  const { findings, services, workloads, kubernetesVersion } = report;
  const screen = screenFor(style);
  const counts = SEVERITIES.flatMap((severity) => {
    const count = findings.filter((finding) => finding.severity === severity).length;
    return count === 0 ? [] : [countText(count, severity)];
  });
  const sum = `${countText(services, 'Service')}, ${countText(workloads, 'workload')}, for Kubernetes ${kubernetesVersion}: ${counts.join(', ') || (services === 0 ? 'no Service to check' : 'nothing found')}.`;
  const text = findings.map((finding) => findingText(finding, screen)).join('');
  return `${text}${text === '' ? '' : '\n'}${screen.strong(sum)}\n`;
};
