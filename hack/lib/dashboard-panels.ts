// What the dashboard shows: of every command, its controllers, and settings; tests run every query against a real Prometheus.
import { ADMISSION, CLOSED_LOOP, MEASURED } from './dashboard-traffic.ts';
import { NAMED, P, type Row, one, p99, rare, rate } from './dashboard-types.ts';

const commands: Row = {
  title: 'Commands',
  panels: [
    {
      title: 'Ready replicas',
      type: 'stat',
      unit: 'short',
      queries: one(`sum by (command) (${P}ready)`, '{{command}}'),
    },
    { title: 'Leaders', type: 'stat', unit: 'short', queries: one(`sum by (command) (${P}leader)`, '{{command}}') },
    {
      title: 'Releases',
      type: 'stat',
      unit: 'short',
      queries: one(`count by (command, version) (${P}build_info)`, '{{command}} {{version}}'),
    },
    {
      title: 'Event-loop lag (p99)',
      unit: 's',
      queries: one(`max by (command) (nodejs_eventloop_lag_p99_seconds ${NAMED})`, '{{command}}'),
    },
    {
      title: 'CPU',
      unit: 'short',
      queries: one(
        `sum by (command, instance) (rate(process_cpu_seconds_total[5m]) ${NAMED})`,
        '{{command}} {{instance}}',
      ),
    },
    {
      title: 'Memory',
      unit: 'bytes',
      queries: one(`sum by (command, instance) (process_resident_memory_bytes ${NAMED})`, '{{command}} {{instance}}'),
    },
  ],
};

const controllers: Row = {
  title: 'Controllers',
  panels: [
    {
      title: 'Age of caches',
      unit: 's',
      queries: one(`max by (command, resource) (${P}informer_staleness_seconds ${NAMED})`, '{{command}} {{resource}}'),
    },
    {
      title: 'Lists and watches that failed (1 h)',
      unit: 'short',
      queries: one(`sum by (command) (increase(${P}list_watch_failures_total[1h]) ${NAMED})`, '{{command}}'),
    },
    {
      title: 'Queue depth',
      unit: 'short',
      queries: one(`sum by (controller) (${P}workqueue_depth)`, '{{controller}}'),
    },
    {
      title: 'Wait in the queue (p99)',
      unit: 's',
      queries: one(p99('workqueue_wait_duration_seconds', 'controller'), '{{controller}}'),
    },
    {
      title: 'Keys added and retried',
      unit: 'ops',
      queries: [
        { expr: rate('workqueue_adds_total', 'controller'), legend: '{{controller}}' },
        { expr: `${rate('workqueue_retries_total', 'controller')} or vector(0)`, legend: '{{controller}} retried' },
      ],
    },
    {
      title: 'Reconciles by outcome',
      unit: 'ops',
      queries: one(rate('controller_reconcile_total', 'controller, outcome'), '{{controller}} {{outcome}}'),
    },
    {
      title: 'Duration of reconciles (p99)',
      unit: 's',
      queries: one(p99('controller_reconcile_duration_seconds', 'controller'), '{{controller}}'),
    },
    {
      title: 'Busy workers',
      unit: 'short',
      queries: one(`sum by (controller) (${P}controller_active_workers)`, '{{controller}}'),
    },
    {
      title: 'Events dropped (1 h)',
      unit: 'short',
      queries: one(rare('events_dropped_total', 'reason'), '{{reason}}'),
    },
  ],
};

const settings: Row = {
  title: 'Settings and their effect',
  panels: [
    {
      title: 'Effective Services',
      type: 'stat',
      unit: 'percentunit',
      queries: one(`sum(${P}services{state="Effective"}) / sum(${P}services)`, 'effective'),
    },
    {
      title: 'Hint coverage of ready endpoints',
      type: 'stat',
      unit: 'percentunit',
      queries: one(`sum(${P}ready_endpoints{hint="present"}) / sum(${P}ready_endpoints)`, 'hinted'),
    },
    {
      title: 'Predicted to stay in their zone (mean of Services)',
      type: 'stat',
      unit: 'percentunit',
      queries: one(`max(${P}predicted_in_zone_ratio)`, 'in zone'),
    },
    {
      title: 'Services by state',
      unit: 'short',
      stacked: true,
      queries: one(`sum by (state) (${P}services)`, '{{state}}'),
    },
    {
      title: 'Decisions by reason',
      unit: 'short',
      stacked: true,
      queries: one(`sum by (owner, reason) (${P}settings_objects)`, '{{owner}} {{reason}}'),
    },
    {
      title: 'Ready endpoints by hint',
      unit: 'short',
      stacked: true,
      queries: one(`sum by (hint) (${P}ready_endpoints)`, '{{hint}}'),
    },
    {
      title: 'Nodes whose data plane is unsafe with hints',
      unit: 'short',
      queries: one(`max by (data_plane, version) (${P}data_plane_unsafe_nodes)`, '{{data_plane}} {{version}}'),
    },
    {
      title: 'Predicted to stay in their zone: the lowest',
      unit: 'percentunit',
      queries: one(
        `bottomk(10, max by (service_namespace, service_name) (${P}service_predicted_in_zone_ratio))`,
        '{{service_namespace}}/{{service_name}}',
      ),
    },
    { title: 'Writes by cause', unit: 'ops', queries: one(rate('settings_writes_total', 'cause'), '{{cause}}') },
    {
      title: 'Fights and foreign values',
      unit: 'short',
      queries: [
        { expr: `max(${P}settings_fights)`, legend: 'namespaces with fights' },
        { expr: `max(${P}settings_foreign_values)`, legend: 'foreign values' },
      ],
    },
    {
      title: 'Slices touched (1 h)',
      unit: 'short',
      queries: one(rare('slice_touches_total', 'outcome'), '{{outcome}}'),
    },
    {
      title: 'Services of evacuated zones',
      unit: 'short',
      queries: [
        { expr: `max by (zone, state) (${P}evacuation_services)`, legend: '{{zone}} {{state}}' },
        { expr: `max by (zone) (${P}evacuation_slices_overdue)`, legend: '{{zone}} slices that are overdue' },
      ],
    },
    {
      title: 'Slices written by evacuations (1 h)',
      unit: 'short',
      queries: one(`sum(increase(${P}evacuation_slice_writes_total[1h]))`, 'slices'),
    },
    {
      title: 'Services without series of their own',
      unit: 'short',
      queries: one(`sum by (command) (${P}services_without_series ${NAMED})`, '{{command}}'),
    },
  ],
};

export const ROWS: readonly Row[] = [commands, controllers, settings, ADMISSION, CLOSED_LOOP, MEASURED];
