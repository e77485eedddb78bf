// docs/reference/reasons.md: every reason, with what to do as the programs say it. What the reasons of the models mean comes from the table
// that the models use; what the others mean stands on the page only, and is kept.
import { AUDIT_REASONS } from '../../pkg/diagnosis/audit/audit.ts';
import { CHECK_REASONS, DIAGNOSIS_REASONS } from '../../pkg/diagnosis/explain/reasons.ts';
import { RECOMMENDATION_REASONS, VERDICT_REASONS } from '../../pkg/diagnosis/simulate/types.ts';
import { STATUS_REASONS } from '../../pkg/diagnosis/status/findings.ts';
import { ANSWERS } from '../../pkg/diagnosis/survival/survival.ts';
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

const row = (reason: string, meaning: string, remedy: string): string => `| \`${reason}\` | ${meaning} | ${remedy} |`;

const rowsOf = (component: string): string[] =>
  Object.entries(REASONS)
    .filter(([, rule]) => rule.component === component)
    .map(([reason, { sentence, remedy }]) => row(reason, cell(sentence), cell(remedy)));

const ROW = /^\| `(\w+)` \| (.+) \| (.+) \|$/gm;

/** `remedy` undefined: no program says what to do. */
type Codes = readonly (readonly [reason: string, remedy: string | undefined])[];

const said = (remedies: Readonly<Record<string, string>>): Codes => Object.entries(remedies);
const unsaid = (...reasons: readonly string[]): Codes => reasons.map((reason) => [reason, undefined]);

const kept = (page: string, codes: Codes): string[] => {
  const rows = new Map([...page.matchAll(ROW)].map(([, reason, ...cells]) => [reason, cells]));
  return codes.map(([reason, remedy]) => {
    const [meaning, own = ''] = rows.get(reason) ?? [];
    if (meaning === undefined)
      throw new Error(
        `docs/reference/reasons.md: write what ${reason} means, as | \`${reason}\` | meaning | what to do |`,
      );
    return row(reason, meaning, remedy === undefined ? own : cell(remedy));
  });
};

const TABLES: readonly (readonly [title: string, purpose: string, codes: Codes])[] = [
  [
    'Diagnosis',
    'Further causes that `kubectl topology explain` finds, from all objects together.',
    said(DIAGNOSIS_REASONS),
  ],
  [
    'Simulation',
    'Further verdicts of `kubectl topology simulate` on modes, and why it recommends one.',
    unsaid(...VERDICT_REASONS, ...RECOMMENDATION_REASONS),
  ],
  ['Audit', 'What only `kubectl topology audit` finds, from all Services together.', said(AUDIT_REASONS)],
  [
    'Check',
    'Findings of `kubectl topology check`, from manifests alone; it also reports reasons from the tables above.',
    said(CHECK_REASONS),
  ],
  ['Survival', 'Answers of `kubectl topology audit --without ZONE`.', unsaid(...ANSWERS)],
  ['Status', 'What `kubectl topology status` finds wrong with an installation.', said(STATUS_REASONS)],
];

const table = (title: string, purpose: string, rows: readonly string[]): string =>
  [`## ${title}`, '', purpose, '', '| reason | meaning | what to do |', '|---|---|---|', ...rows].join('\n');

export const reasonsReference: Generator = {
  path: 'docs/reference/reasons.md',
  rewrites: true,
  render: (before = '') =>
    [
      '<!-- `make generate` writes this page from the programs. What a reason of a table from "Diagnosis" on means is written here; of "Simulation" and "Survival" also what to do. -->',
      '# Reasons',
      'Why traffic stays in its zone or does not: each rule of the control plane and of the proxies has a stable code. Programs may rely on the codes but not on the sentences.',
      ...COMPONENTS.map(([component, purpose]) => table(component, purpose, rowsOf(component))),
      ...TABLES.map(([title, purpose, codes]) => table(title, purpose, kept(before, codes))),
    ].join('\n\n') + '\n',
};
