// What the dashboard shows of admission and of the closed loop.
import { P, type Query, type Row, one, p99, rare, rate } from './dashboard-types.ts';

export const ADMISSION: Row = {
  title: 'Admission',
  panels: [
    {
      title: 'Whether hints are kept',
      unit: 'short',
      queries: [
        { expr: `max(${P}webhook_unavailable)`, legend: 'hints do not come back' },
        { expr: `max(${P}switched_off)`, legend: 'hints are switched off' },
        { expr: `max(${P}planner_alive)`, legend: 'planner alive' },
      ],
    },
    {
      title: 'Days until the certificate expires',
      type: 'stat',
      unit: 'd',
      queries: one(`(min(${P}serving_certificate_expiration_timestamp_seconds) - time()) / 86400`, 'days'),
    },
    {
      title: 'Reviews by outcome',
      unit: 'ops',
      stacked: true,
      queries: one(rate('admission_duration_seconds_count', 'path, outcome'), '{{path}} {{outcome}}'),
    },
    {
      title: 'Latency by outcome (p99)',
      unit: 's',
      queries: one(p99('admission_duration_seconds', 'path, outcome'), '{{path}} {{outcome}}'),
    },
    {
      title: 'In flight',
      unit: 'short',
      queries: one(`sum by (instance) (${P}admission_in_flight_requests)`, '{{instance}}'),
    },
    {
      title: 'Bodies in memory',
      unit: 'bytes',
      queries: one(`sum by (instance) (${P}admission_in_flight_bytes)`, '{{instance}}'),
    },
    {
      title: 'Reviews not served, by reason (1 h)',
      unit: 'short',
      queries: one(rare('admission_unserved_total', 'path, reason'), '{{path}} {{reason}}'),
    },
  ],
};

const ofService = (metric: string): Query[] =>
  one(`topk(10, max by (service_namespace, service_name) (${P}${metric}))`, '{{service_namespace}}/{{service_name}}');
const ofZone = (metric: string): Query[] =>
  one(
    `topk(10, max by (service_namespace, service_name, zone) (${P}${metric}))`,
    '{{service_namespace}}/{{service_name}} {{zone}}',
  );

export const CLOSED_LOOP: Row = {
  title: 'Closed loop',
  panels: [
    {
      title: 'Services by condition',
      unit: 'short',
      queries: one(`sum by (condition, reason) (${P}flow_services)`, '{{condition}} {{reason}}'),
    },
    {
      title: 'Load that stays in its zone: the lowest',
      unit: 'percentunit',
      queries: one(
        `bottomk(10, max by (service_namespace, service_name) (${P}flow_in_zone_ratio))`,
        '{{service_namespace}}/{{service_name}}',
      ),
    },
    { title: 'Busiest endpoints', unit: 'percentunit', queries: ofService('flow_busiest_endpoint_ratio') },
    { title: 'Busiest zones', unit: 'percentunit', queries: ofZone('flow_utilization_ratio') },
    {
      title: 'Demand by zone (cores)',
      unit: 'short',
      stacked: true,
      queries: one(`sum by (zone) (${P}flow_demand)`, '{{zone}}'),
    },
    { title: 'Demand that other zones serve: the highest', unit: 'percentunit', queries: ofZone('flow_spill_ratio') },
    {
      title: 'Plans changed, and hints with them (1 h)',
      unit: 'short',
      queries: [
        { expr: rare('flow_plan_changes_total', 'reason'), legend: 'plans: {{reason}}' },
        { expr: `sum(increase(${P}flow_hint_changes_total[1h]))`, legend: 'hints of endpoints' },
      ],
    },
    {
      title: 'Slices written (1 h)',
      unit: 'short',
      queries: one(rare('flow_slice_writes_total', 'cause'), '{{cause}}'),
    },
    {
      title: 'Readings of load by outcome',
      unit: 'ops',
      queries: one(rate('flow_load_reads_total', 'source, outcome'), '{{source}} {{outcome}}'),
    },
    {
      title: 'Duration of readings (p99)',
      unit: 's',
      queries: one(p99('flow_load_read_duration_seconds', 'source'), '{{source}}'),
    },
    {
      title: 'Duration of planning (p99)',
      unit: 's',
      queries: one(p99('flow_planning_duration_seconds', 'outcome'), '{{outcome}}'),
    },
    { title: 'Age of samples: the oldest', unit: 's', queries: ofService('flow_sample_age_seconds') },
    {
      title: 'NodeGroups',
      unit: 'short',
      queries: [
        { expr: `sum by (group, state) (${P}node_group_nodes) or vector(0)`, legend: 'Nodes {{group}} {{state}}' },
        { expr: rare('node_group_touches_total', 'outcome'), legend: 'touches (1 h) {{outcome}}' },
      ],
    },
  ],
};

const M = 'topology_traffic_';

/** Of nodes with a traffic-meter. */
export const MEASURED: Row = {
  title: 'Measured traffic',
  panels: [
    {
      title: 'Bytes a second between zones',
      unit: 'bytes',
      stacked: true,
      queries: one(
        `sum by (source_zone, destination_zone) (rate(${M}bytes_total[5m]))`,
        '{{source_zone}} to {{destination_zone}}',
      ),
    },
    {
      title: 'Bytes a second by Service and zones: the most',
      unit: 'bytes',
      queries: one(
        `topk(10, sum by (service_namespace, service_name, source_zone, destination_zone) (rate(${M}bytes_total[5m])))`,
        '{{service_namespace}}/{{service_name}} {{source_zone}} to {{destination_zone}}',
      ),
    },
    {
      title: 'Connections a second between zones',
      unit: 'ops',
      stacked: true,
      queries: one(
        `sum by (source_zone, destination_zone) (rate(${M}connections_total[5m]))`,
        '{{source_zone}} to {{destination_zone}}',
      ),
    },
    {
      title: 'New connections against hints',
      unit: 'ops',
      stacked: true,
      queries: one(`sum by (outcome) (rate(${M}judged_connections_total[5m]))`, '{{outcome}}'),
    },
    {
      title: 'Connections that cross zones: measured and predicted',
      unit: 'ops',
      queries: one(`sum by (kind) (rate(${M}crossing_connections_total[5m]))`, '{{kind}}'),
    },
    { title: 'Nodes by state of their meter', unit: 'short', queries: one(`sum by (state) (${M}state)`, '{{state}}') },
    {
      title: 'Not counted, by reason (1 h)',
      unit: 'short',
      queries: one(`sum by (reason) (increase(${M}lost_total[1h]))`, '{{reason}}'),
    },
    {
      title: 'Services that a node does not measure: nodes of each',
      unit: 'short',
      queries: one(
        `sum by (service_namespace, service_name) (${M}unsupported_services)`,
        '{{service_namespace}}/{{service_name}}',
      ),
    },
    {
      title: 'Conntrack tables: flows, and their limit',
      unit: 'short',
      queries: [
        { expr: `max(${M}flows)`, legend: 'flows of the fullest' },
        { expr: `min(${M}conntrack_max)`, legend: 'the lowest limit' },
      ],
    },
    {
      title: 'Age of the bytes of living flows, and of the youngest meter',
      unit: 's',
      queries: [
        { expr: `max(${M}list_age_seconds)`, legend: 'since the last list' },
        { expr: `min(${M}counting_seconds)`, legend: 'the youngest meter' },
      ],
    },
    {
      title: 'Connections past Services (1 h), and nodes that can count them',
      unit: 'short',
      queries: [
        {
          expr: `sum by (source_zone, destination_zone) (increase(${M}direct_connections_total[1h])) or vector(0)`,
          legend: '{{source_zone}} to {{destination_zone}}',
        },
        { expr: `sum(${M}direct_visible)`, legend: 'nodes' },
      ],
    },
  ],
};
