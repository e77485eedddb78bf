// docs/reference/reasons.md: every reason of the models, with what to do, from the table that the models use.
import { AUDIT_REASONS } from '../../pkg/diagnosis/audit/audit.ts';
import { CHECK_REASONS, DIAGNOSIS_REASONS } from '../../pkg/diagnosis/explain/reasons.ts';
import { RECOMMENDATION_REASONS, VERDICT_REASONS } from '../../pkg/diagnosis/simulate/types.ts';
import { STATUS_REASONS } from '../../pkg/diagnosis/status/findings.ts';
import { ANSWERS } from '../../pkg/diagnosis/survival/service.ts';
import { REASONS } from '../../pkg/upstream/index.ts';
import type { Generator } from './types.ts';

const COMPONENTS = [
  ['EndpointSlice controller', 'Which hints the control plane gives to a Service, and why none.'],
  ['any proxy', 'What every proxy on a node does with hints.'],
  ['kube-proxy', 'Rules that only kube-proxy has.'],
  ['Cilium', 'Rules that only Cilium has.'],
  ['Linkerd', 'Rules that only Linkerd has.'],
] as const;

// Placeholders read as the things that they stand for; a bar would end the table's cell.
const cell = (text: string): string => text.replace(/\{(\w+)\}/g, '‹$1›').replaceAll('|', '\\|');

const rowsOf = (component: string): string[] =>
  Object.entries(REASONS)
    .filter(([, rule]) => rule.component === component)
    .map(([reason, { sentence, remedy }]) => `| \`${reason}\` | ${cell(sentence)} | ${cell(remedy)} |`);

const rowsOfTable = (
  reasons: Readonly<Record<string, { readonly sentence: string; readonly remedy: string }>>,
): string[] =>
  Object.entries(reasons).map(
    ([reason, { sentence, remedy }]) => `| \`${reason}\` | ${cell(sentence)} | ${cell(remedy)} |`,
  );

const table = (title: string, purpose: string, rows: readonly string[]): string =>
  [`## ${title}`, '', purpose, '', '| reason | meaning | what to do |', '|---|---|---|', ...rows].join('\n');

export const reasonsReference: Generator = {
  path: 'docs/reference/reasons.md',
  render: () =>
    [
      '# Reasons',
      'Why traffic stays in its zone or does not: each rule of the control plane and of the proxies has a stable code. Programs may rely on the codes but not on the sentences.',
      ...COMPONENTS.map(([component, purpose]) => table(component, purpose, rowsOf(component))),
      table(
        'Diagnosis',
        'Further causes that `kubectl topology explain` finds, from all objects together.',
        rowsOfTable(DIAGNOSIS_REASONS),
      ),
      table(
        'Simulation',
        'Further verdicts of `kubectl topology simulate` on modes, and why it recommends one.',
        rowsOfTable({ ...VERDICT_REASONS, ...RECOMMENDATION_REASONS }),
      ),
      table(
        'Audit',
        'What only `kubectl topology audit` finds, from all Services together.',
        rowsOfTable(AUDIT_REASONS),
      ),
      table(
        'Check',
        'Findings of `kubectl topology check`, from manifests alone; it also reports reasons from the tables above.',
        rowsOfTable(CHECK_REASONS),
      ),
      table('Survival', 'Answers of `kubectl topology audit --without ZONE`.', rowsOfTable(ANSWERS)),
      table('Status', 'What `kubectl topology status` finds wrong with an installation.', rowsOfTable(STATUS_REASONS)),
    ].join('\n\n'),
};
