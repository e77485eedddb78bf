// Valid answers of sources of load.
import type { Sample } from '../types.ts';

/** Seconds since 1970; what the clock of a target says. */
export const NOW = Date.UTC(2026, 10, 21) / 1_000;
export const NAMESPACE = 'shop';
export const PODS = ['web-0', 'web-1', 'web-2'];
const ZONES = ['eu-1a', 'eu-1b', 'eu-1c'];

const vector = (rows: readonly (readonly [Record<string, string>, string])[], more: object = {}): object => ({
  status: 'success',
  data: { resultType: 'vector', result: rows.map(([metric, value]) => ({ metric, value: [NOW - 1, value] })) },
  ...more,
});

export const PROMETHEUS_ANSWERS: readonly Sample[] = [
  {
    name: 'Pods',
    value: vector(
      PODS.map((pod, index) => [{ namespace: NAMESPACE, pod, node: 'n' }, String(0.25 * (index + 1))]),
      { warnings: ['some blocks are missing'], isPartial: true },
    ),
  },
  {
    name: 'pairs of zones',
    value: vector(
      ZONES.flatMap((from) =>
        ZONES.map((to) => [{ source_zone: from, destination_zone: to }, from === to ? '1.5' : '0.25'] as const),
      ),
    ),
  },
  { name: 'error', value: { status: 'error', errorType: 'bad_data', error: 'parse error at char 3', data: null } },
  { name: 'nothing', value: vector([]) },
];

export const POD_METRICS_ANSWERS: readonly Sample[] = [
  {
    name: 'PodMetricsList',
    value: {
      kind: 'PodMetricsList',
      apiVersion: 'metrics.k8s.io/v1beta1',
      metadata: { resourceVersion: '7' },
      items: PODS.map((name) => ({
        metadata: { name, namespace: NAMESPACE, labels: { app: 'web' } },
        timestamp: '2026-11-20T23:59:50Z',
        window: '15.5s',
        containers: [
          { name: 'web', usage: { cpu: '250m', memory: '64Mi' } },
          { name: 'proxy', usage: { cpu: '1500000n', memory: '8Mi' } },
        ],
      })),
    },
  },
  {
    name: 'Status',
    value: {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'pods.metrics.k8s.io is forbidden',
      reason: 'Forbidden',
      code: 403,
    },
  },
];
