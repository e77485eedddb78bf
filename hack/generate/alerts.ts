// SPDX-License-Identifier: Apache-2.0
// The table of alerts in docs/operations/alerts/README.md, from the rules of the chart.
import { alertFiles } from '../lib/alerts.ts';
import type { AlertRule } from '../lib/alerts.ts';
import type { Generator } from './types.ts';

/** Templates stand for what is not known before it fires. */
const plain = (text: string): string =>
  text.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, '*$1*').replaceAll(/\{\{ \$value[^}]*\}\}/g, '*n*');

const rowOf = ({ alert, for: lasts, labels, annotations }: AlertRule): string =>
  `| [${alert}](${alert}.md) | ${labels['severity']} | ${lasts} | ${plain(annotations['summary'] ?? '')} |`;

export const alertsReference: Generator = {
  path: 'docs/operations/alerts/README.md',
  section: 'alerts',
  render: () =>
    alertFiles()
      .map(({ about, rules }) =>
        [
          `### ${about === 'commands' ? 'Every command' : about}`,
          '',
          '| alert | severity | after | summary |',
          '|---|---|---|---|',
          ...rules.map(rowOf),
        ].join('\n'),
      )
      .join('\n\n'),
};
