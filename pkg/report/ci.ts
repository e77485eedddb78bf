// Findings as SARIF 2.1.0, which code scanning takes.
import type { Finding, Severity } from '../diagnosis/check/types.ts';
import { renderJson } from './json.ts';
import { clean } from './table.ts';

/** `Service shop/web`. */
export const objectText = ({ kind, namespace, name }: Pick<Finding, 'kind' | 'namespace' | 'name'>): string =>
  `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`;

const LEVELS = { error: 'error', warning: 'warning', note: 'note' } as const satisfies Record<Severity, string>;

/** Paths in a URI: relative ones stay relative, as code scanning wants them. */
const uriOf = (file: string): string => file.replace(/^\.\//, '').split('/').map(encodeURIComponent).join('/');

const resultOf = (finding: Finding) => {
  const { severity, reason, message, remedy, place } = finding;
  const logical = { fullyQualifiedName: objectText(finding), kind: 'resource' };
  const physical =
    place === undefined
      ? {}
      : { physicalLocation: { artifactLocation: { uri: uriOf(place.file) }, region: { startLine: place.line } } };
  return {
    ruleId: reason,
    level: LEVELS[severity],
    message: { text: clean(`${objectText(finding)}: ${message}. ${remedy}`) },
    locations: [{ ...physical, logicalLocations: [logical] }],
    // Lines move; what is found about which object does not.
    partialFingerprints: { 'objectAndReason/v1': `${objectText(finding)} ${reason}` },
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
