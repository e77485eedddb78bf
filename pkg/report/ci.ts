// SPDX-License-Identifier: Apache-2.0
// Findings as continuous integration reads them: JUnit's XML, and SARIF 2.1.0 as code scanning takes it.
import type { Finding, Severity } from '../diagnosis/check/types.ts';
import { renderJson } from './json.ts';
import { clean } from './table.ts';

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

const xml = (text: string): string => clean(text).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');

/** `Service shop/web`. */
export const objectText = ({ kind, namespace, name }: Pick<Finding, 'kind' | 'namespace' | 'name'>): string =>
  `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`;

const placeText = ({ place }: Finding): string => (place === undefined ? '' : `${place.file}:${place.line}`);

const testCase = (finding: Finding): string => {
  const { severity, reason, message, remedy, place } = finding;
  const where = place === undefined ? '' : ` file="${xml(place.file)}" line="${place.line}"`;
  const head = `    <testcase classname="${xml(objectText(finding))}" name="${xml(reason)}"${where}`;
  const text = xml(
    `${message}\n${remedy}${place === undefined ? '' : `\n${placeText(finding)}`}`.replace(/\n/g, ' — '),
  );
  // JUnit has no severities: a note is listed and fails nothing.
  return severity === 'note'
    ? `${head}>\n      <system-out>${text}</system-out>\n    </testcase>\n`
    : `${head}>\n      <failure type="${severity}" message="${xml(message)}">${text}</failure>\n    </testcase>\n`;
};

/** One test suite; a finding is a test case, and without findings there is one that passed. */
export const renderJunit = (name: string, findings: readonly Finding[]): string => {
  const failures = findings.filter(({ severity }) => severity !== 'note').length;
  const cases =
    findings.length === 0
      ? `    <testcase classname="${xml(name)}" name="nothing found"/>\n`
      : findings.map(testCase).join('');
  const counts = `tests="${Math.max(1, findings.length)}" failures="${failures}" errors="0"`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites ${counts}>\n  <testsuite name="${xml(name)}" ${counts}>\n${cases}  </testsuite>\n</testsuites>\n`;
};

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
