// What the admission server counts and times.
import { LATENCY_BUCKETS_SECONDS, type Metrics } from '../telemetry/metrics.ts';
import type { Budget } from './body.ts';
import type { UnservedReason } from './review.ts';

/** How a request to a webhook path ended. */
export const REVIEW_OUTCOMES = ['patched', 'unchanged', 'unserved', 'rejected', 'busy', 'truncated'] as const;
export type Outcome = (typeof REVIEW_OUTCOMES)[number];

export const createAdmissionMetrics = (options: {
  metrics: Metrics;
  budget: Budget;
  /** End of the serving certificate's validity, milliseconds since the epoch. */
  certificateNotAfter: () => number;
  /** Paths whose series are there from the start: what begins with its first count has no rate before the second. Default none. */
  paths?: readonly string[];
}) => {
  const { metrics, budget, certificateNotAfter, paths = [] } = options;
  const latency = metrics.histogram({
    name: 'admission_duration_seconds',
    help: 'Time from the headers of an admission request to its answer, by path and outcome.',
    labels: ['path', 'outcome'],
    buckets: LATENCY_BUCKETS_SECONDS,
  });
  for (const path of paths) for (const outcome of REVIEW_OUTCOMES) latency.zero({ path, outcome });
  const unserved = metrics.counter({
    name: 'admission_unserved_total',
    help: 'Admission reviews that were allowed unchanged because they could not be served, by path and reason.',
    labels: ['path', 'reason'],
  });
  metrics.gauge({
    name: 'admission_in_flight_requests',
    help: 'Admission requests being read or answered.',
    samples: () => [[{}, budget.requests()]],
  });
  metrics.gauge({
    name: 'admission_in_flight_bytes',
    help: 'Bytes of admission request bodies held in memory.',
    samples: () => [[{}, budget.bytes()]],
  });
  metrics.gauge({
    name: 'serving_certificate_expiration_timestamp_seconds',
    help: 'When the serving certificate expires, seconds since the epoch.',
    samples: () => [[{}, certificateNotAfter() / 1000]],
  });
  return {
    /** `seconds` between the request's headers and its answer. */
    answered: (path: string, outcome: Outcome, seconds: number): void => latency.observe({ path, outcome }, seconds),
    unserved: (path: string, reason: UnservedReason): void => unserved.inc({ path, reason }),
  };
};
