// SPDX-License-Identifier: Apache-2.0
// docs/reference/metrics.md: every metric of every command.
import type { CommandMetrics } from '../lib/metrics-catalogue.ts';
import { metricsCatalogue } from '../lib/metrics-catalogue.ts';
import type { Generator } from './types.ts';

const tableOf = ({ metrics }: CommandMetrics): string => {
  const rows = metrics.map(({ name, type, labels, help, since }) => {
    const shown = labels.map((label) => `\`${label}\``).join(', ') || '–';
    return `| \`${name}\` | ${type} | ${shown} | ${help} | ${since} |`;
  });
  return ['| metric | type | labels | meaning | since |', '|---|---|---|---|---|', ...rows].join('\n');
};

const INTRODUCTION = [
  'Names and labels are stable: removing or renaming one is a breaking change, and a test fails on it.',
  'Besides these, all commands expose the usual `process_*` and `nodejs_*` metrics; `nodejs_eventloop_lag_p99_seconds` is the lag of the event loop since the scrape before.',
  'The series of a command are bounded, however many Services there are: metrics of single Services exist for 50 Services per namespace and 1,000 in total, and `topology_aware_routing_services_without_series` counts the others. No label holds what a user of the cluster wrote but the names of Services and namespaces.',
  'The metrics about NodeGroups are there with `nodeGroups.enabled`. Only the leading replica reports values; `topology_aware_routing_leader` is 1 there. Bytes come from the traffic-meter alone; shares of the other commands are of connections (predicted) or of load (the plans of the flow-controller).',
].join('\n\n');

export const metricsReference: Generator = {
  path: 'docs/reference/metrics.md',
  render: () =>
    ['# Metrics', INTRODUCTION, ...metricsCatalogue().map((entry) => `## ${entry.command}\n\n${tableOf(entry)}`)].join(
      '\n\n',
    ),
};
