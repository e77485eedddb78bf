// Reads one PodMetrics of metrics.k8s.io/v1beta1, whatever it really is.
import { parseDuration } from '../apis/duration.ts';
import { isFields } from '../apis/fields.ts';
import { nanoOf } from '../apis/quantity.ts';

/** Cores that a Pod used, and when, by the clock of who measured. */
export interface PodUsage {
  readonly pod: string;
  readonly cores: number;
  /** End of the window, seconds since 1970. */
  readonly stamp: number;
  /** Seconds, above 0. */
  readonly window: number;
}

/** What is wrong, and of which Pod where that is known. */
export interface Unusable {
  readonly problem: string;
  readonly pod?: string;
}

const RFC_3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)$/;

/** Seconds since 1970 of an RFC 3339 time with or without a fraction; undefined for anything else, and up to 1970. */
export const parseTimestamp = (value: unknown): number | undefined => {
  if (typeof value !== 'string' || !RFC_3339.test(value)) return undefined;
  const seconds = Date.parse(value) / 1_000;
  return seconds > 0 ? seconds : undefined;
};

/** Nothing of a Pod comes near it; beyond, numbers would lose their nano units. */
const MAX_NANO_CORES = 10n ** 15n;

const nanoCoresOf = (container: unknown): bigint | undefined => {
  const usage = isFields(container) ? container['usage'] : undefined;
  const cpu = isFields(usage) ? usage['cpu'] : undefined;
  const nano = typeof cpu === 'string' ? nanoOf(cpu) : undefined;
  return nano !== undefined && nano <= MAX_NANO_CORES ? nano : undefined;
};

/**
 * Sum of all containers, as the HorizontalPodAutoscaler adds them up (pkg/controller/podautoscaler/metrics, getPodMetrics):
 * sidecars are among them, init containers that have ended are not reported, and a Pod of which one container has no CPU
 * has none.
 */
const coresOfContainers = (containers: unknown): number | undefined => {
  if (!Array.isArray(containers) || containers.length === 0) return undefined;
  let sum = 0n;
  for (const container of containers) {
    const nano = nanoCoresOf(container);
    if (nano === undefined) return undefined;
    sum += nano;
  }
  return Number(sum) / 1e9;
};

/** metrics-server's is a minute at most; a plan by the longest window of all Pods must not be misled by one. */
const MAX_WINDOW_SECONDS = 3_600;

export const readPodMetrics = (item: unknown): PodUsage | Unusable => {
  const metadata = isFields(item) ? item['metadata'] : undefined;
  const pod = isFields(metadata) ? metadata['name'] : undefined;
  if (!isFields(item) || typeof pod !== 'string' || pod === '') return { problem: 'no name' };
  const cores = coresOfContainers(item['containers']);
  if (cores === undefined) return { pod, problem: 'a container without CPU usage' };
  const stamp = parseTimestamp(item['timestamp']);
  if (stamp === undefined) return { pod, problem: 'no timestamp' };
  const { window: text } = item;
  const window = typeof text === 'string' ? parseDuration(text) : undefined;
  if (window === undefined || window === 0) return { pod, problem: 'no window' };
  if (window > MAX_WINDOW_SECONDS) return { pod, problem: 'a window of more than an hour' };
  return { pod, cores, stamp, window };
};
