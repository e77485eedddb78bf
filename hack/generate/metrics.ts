// SPDX-License-Identifier: Apache-2.0
// docs/reference/metrics.md: every metric of every command, from the definitions that the commands register.
import { createFlowMetrics } from '../../pkg/controllers/flow/metrics.ts';
import { createNodeGroupMetrics } from '../../pkg/controllers/node-groups/metrics.ts';
import { createSettingsMetrics } from '../../pkg/controllers/settings/metrics.ts';
import { createControllerMetrics } from '../../pkg/telemetry/controller-metrics.ts';
import { createMetrics } from '../../pkg/telemetry/metrics.ts';
import type { Metrics } from '../../pkg/telemetry/metrics.ts';
import { createBudget } from '../../pkg/webhook/budget.ts';
import { createAdmissionMetrics } from '../../pkg/webhook/metrics.ts';
import type { Generator } from './types.ts';

const COMMANDS: readonly (readonly [string, (metrics: Metrics) => unknown])[] = [
  [
    'settings-reconciler',
    (metrics) => {
      createControllerMetrics(metrics);
      createSettingsMetrics(metrics, {
        decisions: () => [],
        foreignValues: () => 0,
        effectiveness: () => [],
        webhookUnavailable: () => false,
        carrier: () => undefined,
        staleness: () => [],
      });
    },
  ],
  [
    'flow-controller',
    (metrics) => {
      createControllerMetrics(metrics);
      createFlowMetrics(metrics, { services: () => [], staleness: () => [] });
      createNodeGroupMetrics(metrics, { zones: () => [], services: () => [] });
    },
  ],
  [
    'endpointslice-webhook',
    (metrics) => createAdmissionMetrics({ metrics, budget: createBudget(), certificateNotAfter: () => 0 }),
  ],
];

const tableOf = (register: (metrics: Metrics) => unknown): string => {
  const metrics = createMetrics({ defaultMetrics: false });
  register(metrics);
  const rows = metrics
    .definitions()
    .map(
      ({ name, type, labels, help }) =>
        `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ') || '–'} | ${help} |`,
    );
  return ['| metric | type | labels | what it says |', '|---|---|---|---|', ...rows].join('\n');
};

export const metricsReference: Generator = {
  path: 'docs/reference/metrics.md',
  render: () =>
    [
      '# Metrics',
      'Besides these, all commands expose the usual `process_*` and `nodejs_*` metrics, event-loop lag among them.',
      ...COMMANDS.map(([command, register]) => `## ${command}\n\n${tableOf(register)}`),
    ].join('\n\n'),
};
