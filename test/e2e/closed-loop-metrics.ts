// What the flow-controller is told of the suite's Pods: cores for a metrics API, counters for Prometheus.
import type { FlowPolicySpec } from '../../pkg/apis/flow-policy.ts';
import { POD } from './closed-loop-scenarios.ts';
import { LOAD_AWARE, SHOP } from './closed-loop-world.ts';
import type { World } from './closed-loop-world.ts';
import type { PodReading } from './metrics-api/index.ts';
import type { MetricsPath } from './closed-loop-types.ts';
import type { Series } from './prometheus.ts';

/** Metrics-server's: a sample every fifteen seconds, over as many, and known when kubelet and metrics-server have passed it on. */
const SAMPLE_SECONDS = 15;
const LATE_SECONDS = 15;

/** Prometheus scrapes every second here; what lies between the last two scrapes is at most two seconds old. */
export const RATE_SECONDS = 2;

/** Name of the source in the flow-controller's configuration. */
export const PROMETHEUS_SOURCE = 'prometheus';

const SERVED = 'shop_requests_served_total';

/** As metrics-server has it: what each Pod served, one core being all that it can. `now`: seconds since 1970. */
export const readingsOf = (
  { pods, recorder }: Pick<World, 'pods' | 'recorder'>,
  now = Date.now() / 1_000,
): PodReading[] => {
  const until = SAMPLE_SECONDS * Math.floor((now - LATE_SECONDS) / SAMPLE_SECONDS);
  return pods.flatMap(({ name, zone }) => {
    const rate = recorder.served(zone, name, SAMPLE_SECONDS, until);
    if (rate === undefined) return [];
    return {
      namespace: SHOP,
      pod: name,
      labels: { app: LOAD_AWARE },
      cores: rate.requestsPerSecond / POD.requestsPerSecond,
      sampledAt: rate.endsAt,
      window: SAMPLE_SECONDS,
    };
  });
};

/** Every Pod's counter of served requests. */
export const countersOf = ({ pods, recorder }: Pick<World, 'pods' | 'recorder'>): Series[] =>
  pods.flatMap(({ name }) => {
    const value = recorder.total(name);
    return value === undefined ? [] : { name: SERVED, labels: { namespace: SHOP, pod: name }, value };
  });

/** How a FlowPolicy asks for its metrics. */
export const METRICS: Readonly<Record<MetricsPath, NonNullable<FlowPolicySpec['metrics']>>> = {
  'metrics.k8s.io': { source: 'metrics.k8s.io' },
  Prometheus: {
    source: PROMETHEUS_SOURCE,
    query: `sum by (namespace, pod) (irate(${SERVED}[5s])) / ${POD.requestsPerSecond}`,
    // As often as it scrapes.
    interval: '1s',
  },
};
