// Rows, panels and queries of the dashboard as data, and the shapes of queries that repeat.

/** Units as Grafana calls them. */
export type Unit = 'short' | 'percentunit' | 's' | 'bytes' | 'ops' | 'd';

export interface Query {
  readonly expr: string;
  /** Grafana's template of labels, for example `{{command}}`. */
  readonly legend: string;
}

export interface Panel {
  readonly title: string;
  /** `stat`: the last value, large; `timeseries`: lines. Default `timeseries`. */
  readonly type?: 'stat' | 'timeseries';
  readonly unit: Unit;
  readonly queries: readonly Query[];
  /** Lines on top of each other: shares of a whole. Default false. */
  readonly stacked?: boolean;
}

export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

export const P = 'topology_aware_routing_';
/** Joins what every process has with the name of its command. */
export const NAMED = `* on (job, instance) group_left (command) ${P}build_info`;

export const one = (expr: string, legend: string): Query[] => [{ expr, legend }];
export const p99 = (histogram: string, by: string): string =>
  `histogram_quantile(0.99, sum by (${by}, le) (rate(${P}${histogram}_bucket[5m])))`;
export const rate = (counter: string, by: string): string => `sum by (${by}) (rate(${P}${counter}[5m]))`;
/** Of what happens rarely nothing may ever have been counted. */
export const rare = (counter: string, by: string): string =>
  `sum by (${by}) (increase(${P}${counter}[1h])) or vector(0)`;
