// Reference tables of the documentation, from what the code itself declares.
import { ENDPOINTSLICE_WEBHOOK_CONFIGURATION } from '../../pkg/apis/config/endpointslice-webhook.ts';
import { FLOW_CONTROLLER_CONFIGURATION } from '../../pkg/apis/config/flow-controller.ts';
import { METRIC_SOURCE_SCHEMAS } from '../../pkg/apis/config/load-sources.ts';
import { renderConfigurationReference, renderFields } from '../lib/config-reference.ts';
import { SETTINGS_RECONCILER_CONFIGURATION } from '../../pkg/apis/config/settings-reconciler.ts';
import { ROUTING_CONFIG_SCHEMA } from '../../pkg/apis/routing-config-reader.ts';
import { flowPolicyDefinition, zoneEvacuationDefinition } from '../lib/crd.ts';
import { type AlertRule, alertFiles } from '../lib/alerts.ts';
import { EVENT_GROUPS, type EventGroup } from '../lib/events.ts';
import { type CommandMetrics, metricsCatalogue } from '../lib/metrics-catalogue.ts';
import type { Generator } from './types.ts';

const configuration: Generator = {
  path: 'docs/reference/configuration.md',
  render: () =>
    renderConfigurationReference([
      SETTINGS_RECONCILER_CONFIGURATION,
      ENDPOINTSLICE_WEBHOOK_CONFIGURATION,
      FLOW_CONTROLLER_CONFIGURATION,
    ]),
};

const routingConfig: Generator = {
  path: 'docs/usage/extension-resource.md',
  section: 'routing-config',
  render: () => renderFields(ROUTING_CONFIG_SCHEMA),
};

const customResources: Generator = {
  path: 'docs/reference/custom-resources.md',
  render: () =>
    [
      '# Custom resources',
      'Fields of [FlowPolicy](../usage/load-aware.md) and [ZoneEvacuation](../operations/evacuate.md), as `kubectl explain` shows them.',
      ...[flowPolicyDefinition(), zoneEvacuationDefinition()].flatMap(({ spec }) =>
        spec.versions.map(({ name, schema }) => {
          const { spec: wanted, status } = schema.openAPIV3Schema.properties;
          return `## ${spec.names.kind} (${spec.group}/${name})\n\n${renderFields({ properties: { spec: wanted, status } })}`;
        }),
      ),
    ].join('\n\n'),
};

const sources: Generator = {
  path: 'docs/reference/metric-sources.md',
  section: 'fields',
  render: () =>
    METRIC_SOURCE_SCHEMAS.map((schema) => `### Type ${schema.properties.type.const}\n\n${renderFields(schema)}`).join(
      '\n\n',
    ),
};

/** Templates stand for what is not known before it fires. */
const plain = (text: string): string =>
  text.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, '*$1*').replaceAll(/\{\{ \$value[^}]*\}\}/g, '*n*');

const alertRow = ({ alert, for: lasts, labels, annotations }: AlertRule): string =>
  `| [${alert}](${alert}.md) | ${labels['severity']} | ${lasts} | ${plain(annotations['summary'] ?? '')} |`;

const alerts: Generator = {
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
          ...rules.map(alertRow),
        ].join('\n'),
      )
      .join('\n\n'),
};

const EVENTS = [
  'Events are recorded on changes only: an unchanged decision records none, neither after a restart nor after a change of leader (except faults, which a new leader records once more). Repeats of one event raise its count; for one object, 25 may come in a burst, and one per five minutes in the long run. `topology_aware_routing_events_dropped_total` counts the dropped ones.',
  'Beside these, each [refusal](../operations/README.md#refusals) of the setting is an event of its reason: `Warning`, about the object whose setting it is, once when it begins.',
];

const eventTable = ({ about, rows }: EventGroup): string =>
  [
    `About ${about}:`,
    '',
    '| reason | type | when | what to do |',
    '|---|---|---|---|',
    ...rows.map(({ reason, type, when, todo }) => `| \`${reason}\` | ${type} | ${when} | ${todo} |`),
  ].join('\n');

const events: Generator = {
  path: 'docs/reference/events.md',
  render: () => {
    const byCommand = Map.groupBy(EVENT_GROUPS, ({ command }) => command);
    const sections = [...byCommand].map(([command, groups]) =>
      [`## ${command}`, ...groups.map(eventTable)].join('\n\n'),
    );
    return ['# Events', ...EVENTS, ...sections].join('\n\n');
  },
};

const metricTable = ({ metrics: all }: CommandMetrics): string => {
  const rows = all.map(({ name, type, labels, help, since }) => {
    const shown = labels.map((label) => `\`${label}\``).join(', ') || '–';
    return `| \`${name}\` | ${type} | ${shown} | ${help} | ${since} |`;
  });
  return ['| metric | type | labels | meaning | since |', '|---|---|---|---|---|', ...rows].join('\n');
};

const METRICS = [
  'Names and labels are stable: removing or renaming one is a breaking change, and a test fails on it.',
  'Besides these, all commands expose the usual `process_*` and `nodejs_*` metrics; `nodejs_eventloop_lag_p99_seconds` is the lag of the event loop since the scrape before.',
  'The series of a command are bounded, however many Services there are: metrics of single Services exist for 50 Services per namespace and 1,000 in total, and `topology_aware_routing_services_without_series` counts the others. No label holds what a user of the cluster wrote but the names of Services and namespaces.',
  'The metrics about NodeGroups are there with `nodeGroups.enabled`. Only the leading replica reports values; `topology_aware_routing_leader` is 1 there. Bytes come from the traffic-meter alone; shares of the other commands are of connections (predicted) or of load (the plans of the flow-controller).',
].join('\n\n');

const metrics: Generator = {
  path: 'docs/reference/metrics.md',
  render: () =>
    ['# Metrics', METRICS, ...metricsCatalogue().map((entry) => `## ${entry.command}\n\n${metricTable(entry)}`)].join(
      '\n\n',
    ),
};

export const references: readonly Generator[] = [
  alerts,
  configuration,
  customResources,
  events,
  metrics,
  routingConfig,
  sources,
];
