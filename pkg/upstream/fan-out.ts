// SPDX-License-Identifier: Apache-2.0
// What writes of EndpointSlices cost the control plane: what every proxy receives of them, and the answers of the EndpointSlice
// controller. The only estimate of it: evacuations show it, and the closed loop keeps to a budget of it.
import type { EndpointSlice } from '../apis/core.ts';
import { sumOf } from '../apis/sum.ts';
import { isControllerSlice } from './controller/sync.ts';

/** Of a slice as JSON without managed fields; proxies that read protobuf receive less. */
export const sliceBytes = ({ metadata, ...rest }: EndpointSlice): number =>
  JSON.stringify({ ...rest, metadata: { ...metadata, managedFields: undefined } }).length;

export interface FanOut {
  /** Slices that are written, once each. */
  readonly slices: number;
  /** Of these as JSON, as far as they are known here: about what they are in storage without managed fields. */
  readonly bytes: number;
  /** Proxies that watch slices: one on each ready Node. */
  readonly proxies: number;
  /** To all proxies together; kube-proxy reads protobuf, which is smaller. */
  readonly fanOutBytes: number;
}

/** `sizes`: of the slices that are written, each as `sliceBytes` counts it. */
export const fanOutOf = (sizes: readonly number[], proxies: number): FanOut => {
  const bytes = sumOf(sizes);
  return { slices: sizes.length, bytes, proxies, fanOutBytes: bytes * proxies };
};

export interface WritesEstimate extends FanOut {
  /**
   * The EndpointSlice controller answers each write of another author with one PUT a second later, which changes nothing and so
   * reaches no watch (pkg/controller/endpointslice of kubernetes/kubernetes; seen on 1.36.3).
   */
  readonly echo: {
    readonly puts: number;
    /** What kube-controller-manager allows its controllers together: --kube-api-qps. */
    readonly requestsPerSecond: number;
    /** For so long the controller's other work, new Pods among it, waits its turn. */
    readonly seconds: number;
  };
}

/** Default of --kube-api-qps of kube-controller-manager; Gardener sets 100 for Shoots. */
export const CONTROLLER_REQUESTS_PER_SECOND = 20;

/** `slices`: those that would be written, as they would be. */
export const estimateWrites = (
  slices: readonly EndpointSlice[],
  {
    proxies,
    requestsPerSecond = CONTROLLER_REQUESTS_PER_SECOND,
  }: { readonly proxies: number; readonly requestsPerSecond?: number },
): WritesEstimate => {
  const puts = slices.filter(isControllerSlice).length;
  return {
    ...fanOutOf(slices.map(sliceBytes), proxies),
    echo: { puts, requestsPerSecond, seconds: puts / requestsPerSecond },
  };
};

const KILO = 1000;

/** `820 B`, `12 kB`, `3.4 MB`: powers of ten. */
export const bytesText = (bytes: number): string => {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let [value, unit] = [bytes, 0];
  while (value >= KILO && unit < units.length - 1) [value, unit] = [value / KILO, unit + 1];
  return `${value < 10 && unit > 0 ? value.toFixed(1).replace(/\.0$/, '') : Math.round(value)} ${units[unit] ?? ''}`;
};
